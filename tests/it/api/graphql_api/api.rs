//! The schema over a new SQLite file, and how these tests use it.

use std::{sync::Arc, time::Duration};

use async_graphql::{Executor as _, Request, Variables};
use futures_util::{Stream, StreamExt as _};
use serde_json::{Value, json};
use tidefeed::{
    accounts::{
        AccountsService, ExternalUsers, PasswordSettings, Passwords, SessionSettings, SessionsService, TokenKey,
        Tokens, Viewer,
        export::{ExportStores, Exports},
    },
    ambient::Ambient,
    api::graphql::{FeedShare, RememberedJson, Services, TidefeedSchema, attach, build_schema},
    app::{Ports, UseCases},
    clock::ManualClock,
    live::Hub,
    rng::SharedRng,
    store::{
        Announcements as _,
        memory::{MemoryAnnouncements, MemoryQueue},
        sql::SqlStore,
    },
};
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};

use super::stores::FailingContents;
use crate::{
    harness::settings,
    servers::{Backend, MigratedDatabase, open_store},
};

pub const NOW: i64 = 1_795_253_400_000;

/// A user whose token came with the connection.
#[derive(Clone)]
pub struct Person {
    pub id: String,
    pub viewer: Viewer,
}

/// The API over its own database.
pub struct Api {
    pub schema: TidefeedSchema,
    pub tokens: Arc<Tokens>,
    pub clock: Arc<ManualClock>,
    pub store: Arc<SqlStore>,
    pub contents: Arc<FailingContents>,
    pub hub: Arc<Hub<FeedShare>>,
    _database: MigratedDatabase,
    _running: TaskTrackerToken,
}

impl Api {
    pub async fn new() -> Self {
        Self::with_registration(true).await
    }

    pub async fn with_registration(open: bool) -> Self {
        let database = Backend::Sqlite.migrated_database().await.unwrap();
        let store = open_store(&database.url).await.unwrap();
        let contents = Arc::new(FailingContents::over(store.clone()));
        let store = Arc::new(store);
        let clock = Arc::new(ManualClock::at(NOW));
        let ambient = Ambient { clock: clock.clone(), rng: SharedRng::from_seed(1) };
        let queue = Arc::new(MemoryQueue::new(1024, Duration::from_mins(1)));
        let announcements = Arc::new(MemoryAnnouncements::new(64));
        let ports = Ports::with_primary_store(store.clone(), queue, None, announcements.clone());
        let ports = Ports { contents: contents.clone(), ..ports };
        let use_cases = Arc::new(UseCases::build(&ports, settings(), &ambient));
        let key = TokenKey::try_new(&[7; 32]).unwrap();
        let tokens = Arc::new(Tokens::new(key, Duration::from_hours(1), clock.clone()));
        let cheap = PasswordSettings { memory_kib: 64, iterations: 1, ..PasswordSettings::default() };
        let passwords = Arc::new(Passwords::try_new(cheap, ambient.rng.clone()).unwrap());
        let (readers, settings) = (use_cases.readers.clone(), SessionSettings::default());
        let sessions = Arc::new(SessionsService::new(&ports, tokens.clone(), readers, settings, ambient.clone()));
        let external_users =
            Arc::new(ExternalUsers::new(store.clone(), "product".to_owned(), Duration::from_secs(10), ambient.clone()));
        let accounts = AccountsService::new(store.clone(), passwords, sessions.clone(), ambient).open_to(open, true);
        let (tasks, hub) = (TaskTracker::new(), use_cases.hub.clone());
        let (listening, received) = (hub.clone(), announcements.listen());
        tasks.spawn(async move { listening.run(received).await });
        let running = tasks.token();
        let stores = ExportStores { accounts: store.clone(), contents: store.clone(), lists: use_cases.lists.clone() };
        let exports = Arc::new(Exports::try_new(stores, &[7; 32], &[], clock.clone()).unwrap());
        let services = Services {
            use_cases,
            ports,
            accounts: Arc::new(accounts),
            sessions,
            exports,
            external_users,
            shows_external_ids: true,
            content_schemas: Arc::default(),
            tokens: tokens.clone(),
            base_url: "https://feed.example".to_owned(),
            json: RememberedJson::default(),
            clock: clock.clone(),
            tasks,
        };
        let schema = build_schema(Arc::new(services));
        Self { schema, tokens, clock, store, contents, hub, _database: database, _running: running }
    }

    /// The whole response, as a client reads it.
    pub async fn ask(&self, viewer: Option<&Person>, query: &str, variables: Value) -> Value {
        let response = self.schema.execute(request(viewer, query, variables)).await;
        // Announcements are routed now, and not to the next test step's subscribers.
        tokio::task::yield_now().await;
        serde_json::to_value(response).unwrap()
    }

    /// The data of a response that must have no errors.
    pub async fn data(&self, viewer: Option<&Person>, query: &str, variables: Value) -> Value {
        let mut response = self.ask(viewer, query, variables).await;
        assert_eq!(response.get("errors"), None, "{query}");
        response["data"].take()
    }

    /// Events of a subscription.
    pub fn watch(&self, viewer: Option<&Person>, query: &str) -> impl Stream<Item = Value> + Unpin + use<> {
        self.watch_with(viewer, query, json!({}))
    }

    /// Events of a subscription with variables.
    pub fn watch_with(
        &self,
        viewer: Option<&Person>,
        query: &str,
        variables: Value,
    ) -> impl Stream<Item = Value> + Unpin + use<> {
        let stream = self.schema.execute_stream(request(viewer, query, variables), None);
        Box::pin(stream.map(|response| serde_json::to_value(response).unwrap()))
    }

    /// Registers a user.
    pub async fn person(&self, handle: &str) -> Person {
        let query = "mutation($input: RegisterUserInput!) { registerUser(input: $input) { token user { id } } }";
        let input = json!({"input": {"handle": handle, "name": handle, "password": "long enough"}});
        let registered = self.data(None, query, input).await;
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let payload = &registered["registerUser"];
        let viewer = self.tokens.verify(&text(&payload["token"])).unwrap();
        Person { id: text(&payload["user"]["id"]), viewer }
    }

    /// Publishes a content, a millisecond after the previous one. Returns its id.
    pub async fn publish(&self, author: &Person, text: &str) -> String {
        self.clock.advance(1);
        let query =
            "mutation($text: String!) { publishContent(input: {text: $text}) { timelineEdge { node { id } } } }";
        let published = self.data(Some(author), query, json!({ "text": text })).await;
        published["publishContent"]["timelineEdge"]["node"]["id"].as_str().unwrap().to_owned()
    }

    /// Publishes a reply, a millisecond later. Returns its id.
    pub async fn reply(&self, author: &Person, to: &str, text: &str) -> String {
        self.clock.advance(1);
        let query = "mutation($to: ID!, $text: String!) { publishContent(input: {text: $text, replyTo: $to}) { timelineEdge { node { id } } } }";
        let published = self.data(Some(author), query, json!({ "to": to, "text": text })).await;
        published["publishContent"]["timelineEdge"]["node"]["id"].as_str().unwrap().to_owned()
    }

    /// Reposts a content, a millisecond later. Returns the payload.
    pub async fn repost(&self, author: &Person, content: &str) -> Value {
        self.clock.advance(1);
        let query = "mutation($id: ID!) { repostContent(input: {contentId: $id, clientMutationId: \"c\"}) {
            timelineEdge { cursor node { id kind repostOf { id } author { handle } } }
            content { id repostCount viewerHasReposted } userErrors { code field } clientMutationId } }";
        self.data(Some(author), query, json!({ "id": content })).await["repostContent"].take()
    }

    /// Blocks a user.
    pub async fn block(&self, user: &Person, other: &Person) {
        let query = "mutation($id: ID!) { blockUser(input: {userId: $id}) { userErrors { code } } }";
        let blocked = self.data(Some(user), query, json!({ "id": other.id })).await;
        assert_eq!(blocked["blockUser"]["userErrors"], json!([]));
    }

    /// Deletes a content. Returns the payload.
    pub async fn delete(&self, viewer: &Person, content: &str) -> Value {
        let query = "mutation($id: ID!) { deleteContent(input: {contentId: $id}) {
            deletedContentId userErrors { code field } } }";
        self.data(Some(viewer), query, json!({ "id": content })).await["deleteContent"].take()
    }

    /// Unfollows a user.
    pub async fn unfollow(&self, reader: &Person, author: &Person) {
        let query = "mutation($id: ID!) { unfollowUser(input: {userId: $id}) { userErrors { code } } }";
        let unfollowed = self.data(Some(reader), query, json!({ "id": author.id })).await;
        assert_eq!(unfollowed["unfollowUser"]["userErrors"], json!([]));
    }

    /// Follows a user.
    pub async fn follow(&self, reader: &Person, author: &Person) {
        let query = "mutation($id: ID!) { followUser(input: {userId: $id}) { userErrors { code } } }";
        let followed = self.data(Some(reader), query, json!({ "id": author.id })).await;
        assert_eq!(followed["followUser"]["userErrors"], json!([]));
    }
}

pub fn request(viewer: Option<&Person>, query: &str, variables: Value) -> Request {
    let request = Request::new(query).variables(Variables::from_json(variables));
    attach(request, viewer.map(|person| person.viewer))
}

/// `code` and `path` of each error.
pub fn faults(response: &Value) -> Vec<(String, Value)> {
    let errors = response["errors"].as_array().cloned().unwrap_or_default();
    errors
        .iter()
        .map(|error| (error["extensions"]["code"].as_str().unwrap_or("none").to_owned(), error["path"].clone()))
        .collect()
}
