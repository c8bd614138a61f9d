//! What a service may do, and its line in the log.
//!
//! Decided for the whole operation before anything of it runs, by the fields of its root.

use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_graphql::{
    Context, Error, Name, Pos, Response, Value, Variables,
    parser::types::{Field, OperationType},
    resolver_utils::enum_value,
};
use futures_util::{FutureExt as _, StreamExt as _, future::ready, stream, stream::BoxStream};
use graphql_transport::guard::Prepared;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use super::{
    errors::{Failure, Forbidden},
    mutation::UserErrorCode,
    scope::hydration,
};
use crate::{
    accounts::{
        IssuingKey, Principal, Viewer,
        services::{CallLog, ServiceAccess, ServiceRefusal},
    },
    ambient::Ambient,
    domain::{
        UserId,
        account::{external::ExternalId, service::Scope},
        limits::MAX_LOGGED_CHARS,
    },
    store::{service_keys::ServiceKey, service_log::LoggedCall},
};

/// What a root field asks of a service's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Nothing,
    Scope(Scope),
    /// No scope allows it.
    User,
}

fn need(kind: OperationType, field: &str) -> Need {
    if kind != OperationType::Mutation || field.starts_with("__") {
        return if field.starts_with("__") { Need::Nothing } else { Need::Scope(Scope::Read) };
    }
    match field {
        // They ask for the password or the token itself.
        "registerUser" | "signIn" | "refreshToken" => Need::Nothing,
        "publishContent" | "publishContents" | "deleteContent" | "repostContent" | "unrepostContent" => {
            Need::Scope(Scope::Contents)
        }
        "followUser" | "unfollowUser" | "muteUser" | "unmuteUser" | "hideFromFollower" | "unhideFromFollower"
        | "blockUser" | "unblockUser" => Need::Scope(Scope::Follows),
        "likeContent" | "unlikeContent" | "bookmarkContent" | "unbookmarkContent" => Need::Scope(Scope::Reactions),
        "updateProfile" | "changeHandle" | "upsertUsers" | "deactivateUser" | "reactivateUser" | "rebindExternalId" => {
            Need::Scope(Scope::Users)
        }
        "issueToken" => Need::Scope(Scope::Tokens),
        "markTimelineRead" => Need::Scope(Scope::Read),
        "deleteViewer" | "deleteUser" => Need::Scope(Scope::DeleteUsers),
        // Passwords, sessions, and links that outlive a key.
        _ => Need::User,
    }
}

/// The scope that a service needs for a mutation; `None` if no scope decides.
pub fn service_scope(mutation: &str) -> Option<Scope> {
    match need(OperationType::Mutation, mutation) {
        Need::Scope(scope) => Some(scope),
        Need::Nothing | Need::User => None,
    }
}

/// Data of a request of a service.
#[derive(Clone)]
pub struct ServiceCall {
    key: Arc<ServiceKey>,
    user: Option<UserId>,
    access: Arc<ServiceAccess>,
    log: Arc<CallLog>,
    /// Runs changes to their ends, so that each is in the log even if its client leaves.
    tasks: TaskTracker,
    /// What mutations have said of how they ended.
    ended: Arc<Mutex<Ended>>,
    ambient: Ambient,
}

/// How the mutations of a call ended.
#[derive(Default)]
struct Ended {
    /// The code of the first one that was refused.
    refusal: Option<UserErrorCode>,
    parts: Vec<Part>,
}

/// One of the many things that a mutation of a batch does.
struct Part {
    field: &'static str,
    user: Option<UserId>,
    id: String,
    refusal: Option<UserErrorCode>,
}

impl ServiceCall {
    /// The call of `principal`; `None` if that is a user.
    pub fn of(
        principal: &Principal,
        (access, log): (&Arc<ServiceAccess>, &Arc<CallLog>),
        tasks: &TaskTracker,
        ambient: &Ambient,
    ) -> Option<Self> {
        let Principal::Service(key, viewer) = principal else { return None };
        Some(Self {
            key: Arc::clone(key),
            user: viewer.map(|viewer| viewer.id),
            access: Arc::clone(access),
            log: Arc::clone(log),
            tasks: tasks.clone(),
            ended: Arc::default(),
            ambient: ambient.clone(),
        })
    }

    /// Runs a query or a mutation, if the service may, and writes it down.
    pub async fn run(
        self,
        operation: &Prepared,
        variables: &Variables,
        work: impl Future<Output = Response> + Send + 'static,
    ) -> Response {
        let fields = described(operation, variables);
        if let Some(refused) = self.refusal(operation) {
            self.note_read(text(&fields), code(&refused)).await;
            return refused;
        }
        if operation.operation_type() == OperationType::Query {
            let response = work.await;
            self.note_read(text(&fields), outcome(&response)).await;
            return response;
        }
        let tasks = self.tasks.clone();
        let noted = async move {
            let response = work.await;
            self.log.note(self.lines(fields, &response)).await;
            response
        };
        let ended = tasks.spawn(noted.in_current_span()).await;
        ended
            .unwrap_or_else(|_| Response::from_errors(vec![Error::new("A change broke off.").into_server_error(START)]))
    }

    /// Begins a subscription, if the service may, and writes it down.
    pub fn watch(
        self,
        operation: &Prepared,
        variables: &Variables,
        events: impl FnOnce() -> BoxStream<'static, Response>,
    ) -> BoxStream<'static, Response> {
        let what = text(&described(operation, variables));
        let (outcome, events) = match self.refusal(operation) {
            None => (DONE.to_owned(), events()),
            Some(refused) => (code(&refused), stream::once(ready(refused)).boxed()),
        };
        async move {
            self.note_read(what, outcome).await;
            events
        }
        .flatten_stream()
        .boxed()
    }

    /// The answer to an operation that the service may not do.
    fn refusal(&self, operation: &Prepared) -> Option<Response> {
        for field in operation.root_fields() {
            let field = field.name.node.as_str();
            let forbidden = match need(operation.operation_type(), field) {
                Need::Nothing => continue,
                Need::Scope(scope) if self.key.scopes.contain(scope) => continue,
                Need::Scope(scope) => {
                    Forbidden::Lacks { service: self.key.service.clone(), scope, field: field.to_owned() }
                }
                Need::User => Forbidden::UsersAlone(field.to_owned()),
            };
            let error = Error::from(Failure::from(forbidden).into_api_error());
            return Some(Response::from_errors(vec![error.into_server_error(START)]));
        }
        None
    }

    async fn note_read(&self, what: String, outcome: String) {
        self.log.note_read(self.line(what, outcome)).await;
    }

    fn line(&self, operation: String, outcome: String) -> LoggedCall {
        LoggedCall {
            at_ms: self.ambient.now_ms(),
            service: self.key.service.clone(),
            user: self.user,
            operation,
            outcome,
        }
    }

    /// Notes that a mutation was refused.
    pub fn note_refusal(&self, code: UserErrorCode) {
        self.ended().refusal.get_or_insert(code);
    }

    /// Notes one of the many things that the mutation `field` does: about what, as whom if not as the call's user, and
    /// why it was refused.
    pub fn note_part(&self, field: &'static str, user: Option<UserId>, id: String, refusal: Option<UserErrorCode>) {
        let id = if ExternalId::try_new(&id).is_ok() { id } else { String::new() };
        self.ended().parts.push(Part { field, user: user.or(self.user), id, refusal });
    }

    fn ended(&self) -> MutexGuard<'_, Ended> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lines of a change: one for all its fields; of batches instead one for each user and outcome, or several if
    /// the ids are too long for one.
    fn lines(&self, mut fields: Vec<(String, String)>, response: &Response) -> Vec<LoggedCall> {
        let Ended { refusal, parts } = mem::take(&mut *self.ended());
        let has_failed = !response.errors.is_empty();
        fields.retain(|(name, _)| has_failed || refusal.is_some() || parts.iter().all(|part| part.field != name));
        let mut lines = Vec::new();
        if !fields.is_empty() {
            let outcome = if has_failed { code(response) } else { name_of(refusal) };
            lines.push(self.line(text(&fields), outcome));
        }
        let mut alike: Vec<(Part, Vec<String>)> = Vec::new();
        for mut part in parts {
            let id = mem::take(&mut part.id);
            let same = |(it, _): &&mut (Part, Vec<String>)| {
                (it.field, it.user, it.refusal) == (part.field, part.user, part.refusal)
            };
            match alike.iter_mut().find(same) {
                Some((_, ids)) => ids.push(id),
                None => alike.push((part, vec![id])),
            }
        }
        for (Part { field, user, refusal, .. }, ids) in alike {
            for text in texts(field, &ids) {
                lines.push(LoggedCall { user, ..self.line(text, name_of(refusal)) });
            }
        }
        lines
    }
}

/// The ids after the name of their field, in texts that are no longer than a line's.
fn texts(field: &str, ids: &[String]) -> Vec<String> {
    let mut texts = vec![field.to_owned()];
    for id in ids.iter().filter(|id| !id.is_empty()) {
        let length = texts.last().map_or(0, |text| text.chars().count());
        if length > field.len() && length + 1 + id.chars().count() > MAX_LOGGED_CHARS {
            texts.push(field.to_owned());
        }
        if let Some(text) = texts.last_mut() {
            let room = MAX_LOGGED_CHARS.saturating_sub(text.chars().count() + 1);
            text.push(' ');
            text.extend(id.chars().take(room));
        }
    }
    texts
}

/// `OK` if there is no refusal.
fn name_of(refusal: Option<UserErrorCode>) -> String {
    match refusal.map(enum_value) {
        Some(Value::Enum(name)) => name.to_string(),
        _ => DONE.to_owned(),
    }
}

/// The call of the service that asks; fails unless one does.
pub fn service_alone<'a>(ctx: &Context<'a>, field: &'static str) -> Result<&'a ServiceCall, Failure> {
    if let Some(call) = ctx.data_opt::<ServiceCall>() {
        return Ok(call);
    }
    hydration(ctx)?.viewer()?;
    Err(Forbidden::ServicesAlone(field).into())
}

/// The key of the service that asks; fails unless one does.
pub fn issuing_key(ctx: &Context<'_>, field: &'static str) -> Result<IssuingKey, Failure> {
    let key = service_alone(ctx, field)?.key.id;
    Ok(key.map_or(IssuingKey::Configured, IssuingKey::Stored))
}

/// Fails unless the service that asks may act as users; `field` needs that.
pub fn may_act(ctx: &Context<'_>, field: &'static str) -> Result<ServiceCall, Failure> {
    let call = service_alone(ctx, field)?;
    if call.key.scopes.contain(Scope::ActAs) {
        return Ok(call.clone());
    }
    let service = call.key.service.clone();
    Err(Forbidden::Lacks { service, scope: Scope::ActAs, field: field.to_owned() }.into())
}

impl ServiceCall {
    /// The viewer whom the service is as `user`; `None` if there is no such user, or a deactivated one.
    pub async fn acting_as(&self, user: UserId) -> Result<Option<Viewer>, Failure> {
        match self.access.act_as(&self.key, user).await {
            Ok(viewer) => Ok(Some(viewer)),
            Err(ServiceRefusal::Store(error)) => Err(error.into()),
            Err(_) => Ok(None),
        }
    }
}

const START: Pos = Pos { line: 1, column: 1 };
const DONE: &str = "OK";

/// The names of the root's fields, each with the ids in its arguments. Never a text, which is nobody's business later.
fn described(operation: &Prepared, variables: &Variables) -> Vec<(String, String)> {
    let fields = operation.root_fields();
    let mut described: Vec<(String, String)> =
        fields.into_iter().map(|field| (field.name.node.to_string(), described_field(field, variables))).collect();
    described.dedup();
    described
}

/// The text of a line.
fn text(fields: &[(String, String)]) -> String {
    let words: Vec<&str> = fields.iter().map(|(_, text)| text.as_str()).collect();
    words.join(", ").chars().take(MAX_LOGGED_CHARS).collect()
}

fn described_field(field: &Field, variables: &Variables) -> String {
    let known = |name: Name| variables.get(&name).cloned().ok_or(());
    let given = field.arguments.iter().filter_map(|(name, value)| {
        let value = value.node.clone().into_const_with(known).ok()?;
        Some((name.node.clone(), value))
    });
    let mut text = field.name.node.to_string();
    for (name, value) in given {
        let Value::Object(fields) = value else {
            add_id(&mut text, &name, &value);
            continue;
        };
        for (name, value) in &fields {
            let Value::List(entries) = value else {
                add_id(&mut text, name, value);
                continue;
            };
            for entry in entries {
                let Value::Object(fields) = entry else { continue };
                fields.iter().for_each(|(name, value)| add_id(&mut text, name, value));
            }
        }
    }
    text
}

fn add_id(text: &mut String, name: &Name, value: &Value) {
    let names_an_id = name.as_str() == "id" || name.ends_with("Id") && name.as_str() != "clientMutationId";
    if let Value::String(id) = value
        && names_an_id
        && ExternalId::try_new(id.strip_prefix("ext:").unwrap_or(id)).is_ok()
    {
        text.push(' ');
        text.push_str(id);
    }
}

/// `OK`, or the code of the answer's first error.
fn outcome(response: &Response) -> String {
    if response.errors.is_empty() { DONE.to_owned() } else { code(response) }
}

fn code(response: &Response) -> String {
    let code = response.errors.first().and_then(|error| error.extensions.as_ref()?.get("code"));
    if let Some(Value::String(code)) = code { code.clone() } else { "INTERNAL_SERVER_ERROR".to_owned() }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use async_graphql::Variables;
    use graphql_transport::guard::Guard;
    use serde_json::json;

    use super::*;

    fn prepared(query: &str, variables: serde_json::Value) -> (Arc<Prepared>, Variables) {
        let (guard, mut variables) = (Guard::default(), Variables::from_json(variables));
        let document = guard.open(query).unwrap();
        (guard.admit(&document, None, &mut variables).unwrap().operation, variables)
    }

    #[test]
    fn a_line_names_fields_and_ids_but_no_texts() {
        let query = "mutation($c: ID!) { a: likeContent(input: {contentId: $c, clientMutationId: \"x\"}) { id } \
                     ... on Mutation { publishContent(input: {text: \"secret\", replyToId: \"C_2\"}) { id } } }";
        let (operation, variables) = prepared(query, json!({ "c": "C_1" }));
        assert_eq!(text(&described(&operation, &variables)), "likeContent C_1, publishContent C_2");
        let batch = "mutation { publishContents(input: {contents: [{text: \"secret\", authorId: \"ext:1\"}, \
                     {text: \"secret\", externalId: \"run-7\", attributes: {realId: \"secret\"}}]}) { id } }";
        let (operation, variables) = prepared(batch, json!({}));
        assert_eq!(text(&described(&operation, &variables)), "publishContents ext:1 run-7");
    }

    #[test]
    fn many_ids_go_into_several_lines() {
        let ids: Vec<String> = (100..200).map(|id| format!("user-{id}")).collect();
        let texts = texts("upsertUsers", &ids);
        assert!(texts.len() == 5 && texts.iter().all(|text| text.len() <= MAX_LOGGED_CHARS), "{texts:#?}");
        let named: Vec<&str> = texts.iter().flat_map(|text| text.split(' ').skip(1)).collect();
        assert_eq!(named, ids);
        assert_eq!(super::texts("upsertUsers", &["x".repeat(300)])[0].len(), MAX_LOGGED_CHARS);
    }

    #[test]
    fn only_listed_mutations_are_open_to_services() {
        assert_eq!(need(OperationType::Mutation, "inventedYesterday"), Need::User);
        assert_eq!(need(OperationType::Mutation, "changePassword"), Need::User);
        assert_eq!(need(OperationType::Query, "anything"), Need::Scope(Scope::Read));
        assert_eq!(need(OperationType::Subscription, "newFeed"), Need::Scope(Scope::Read));
        assert_eq!(need(OperationType::Query, "__schema"), Need::Nothing);
    }
}
