//! What a service may do, and its line in the log.
//!
//! Decided for the whole operation before anything of it runs, by the fields of its root.

use std::sync::Arc;

use async_graphql::{
    Context, Error, Name, Pos, Response, Value, Variables,
    parser::types::{Field, OperationType},
};
use futures_util::{FutureExt as _, StreamExt as _, future::ready, stream, stream::BoxStream};
use graphql_transport::guard::Prepared;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use super::{
    errors::{Failure, Forbidden},
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
        account::service::Scope,
        limits::{MAX_EXTERNAL_ID_BYTES, MAX_LOGGED_CHARS},
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
    ambient: Ambient,
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
        let what = described(operation, variables);
        if let Some(refused) = self.refusal(operation) {
            self.note_read(what, code(&refused)).await;
            return refused;
        }
        if operation.operation_type() == OperationType::Query {
            let response = work.await;
            self.note_read(what, outcome(&response)).await;
            return response;
        }
        let tasks = self.tasks.clone();
        let noted = async move {
            let response = work.await;
            self.log.note(self.line(what, outcome(&response))).await;
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
        let what = described(operation, variables);
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
}

/// Fails unless a service asks.
pub fn service_alone(ctx: &Context<'_>, field: &'static str) -> Result<(), Failure> {
    if ctx.data_opt::<ServiceCall>().is_some() {
        return Ok(());
    }
    hydration(ctx)?.viewer()?;
    Err(Forbidden::ServicesAlone(field).into())
}

/// The key of the service that asks; fails unless one does.
pub fn issuing_key(ctx: &Context<'_>, field: &'static str) -> Result<IssuingKey, Failure> {
    service_alone(ctx, field)?;
    let key = ctx.data_opt::<ServiceCall>().and_then(|call| call.key.id);
    Ok(key.map_or(IssuingKey::Configured, IssuingKey::Stored))
}

/// Fails unless the service that asks may act as users; `field` needs that.
pub fn may_act(ctx: &Context<'_>, field: &'static str) -> Result<ServiceCall, Failure> {
    service_alone(ctx, field)?;
    let call = ctx.data_opt::<ServiceCall>().ok_or(Forbidden::ServicesAlone(field))?;
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
/// Bytes of the longest id: that of a product, after `ext:`.
const ID_BYTES: usize = MAX_EXTERNAL_ID_BYTES + 4;

/// The root's fields, each with the ids in its arguments. Never a text, which is nobody's business later.
fn described(operation: &Prepared, variables: &Variables) -> String {
    let fields = operation.root_fields();
    let mut words: Vec<String> = fields.into_iter().map(|field| described_field(field, variables)).collect();
    words.dedup();
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
        && id.len() <= ID_BYTES
    {
        text.push(' ');
        text.push_str(id);
    }
}

/// `OK`, or the code of the first error: of the answer, or among the user errors that the client has asked for.
fn outcome(response: &Response) -> String {
    if !response.errors.is_empty() {
        return code(response);
    }
    let Value::Object(roots) = &response.data else { return DONE.to_owned() };
    let user_error = |root: &Value| {
        let Value::Object(payload) = root else { return None };
        let Value::List(errors) = payload.get("userErrors")? else { return None };
        let Value::Object(first) = errors.first()? else { return None };
        match first.get("code")? {
            Value::Enum(code) => Some(code.to_string()),
            Value::String(code) => Some(code.clone()),
            _ => None,
        }
    };
    roots.values().find_map(user_error).unwrap_or_else(|| DONE.to_owned())
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
        assert_eq!(described(&operation, &variables), "likeContent C_1, publishContent C_2");
        let batch = "mutation { publishContents(input: {contents: [{text: \"secret\", authorId: \"ext:1\"}, \
                     {text: \"secret\", externalId: \"run-7\", attributes: {realId: \"secret\"}}]}) { id } }";
        let (operation, variables) = prepared(batch, json!({}));
        assert_eq!(described(&operation, &variables), "publishContents ext:1 run-7");
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
