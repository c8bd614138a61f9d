//! The schema over a new SQLite file, and how these tests use it.

use std::{sync::Arc, time::Duration};

use async_graphql::{Executor as _, Request, Variables};
use futures_util::{Stream, StreamExt as _};
use serde_json::{Value, json};
use tidefeed::{
    accounts::{
        AccountStores, AccountsService, PasswordSettings, Passwords, ProfilesService, SessionSettings, SessionsService,
        TokenKey, Tokens, Viewer,
        export::{ExportStores, Exports},
    },
    api::graphql::{FeedShare, RememberedJson, Services, TidefeedSchema, attach, build_schema},
    clock::{ManualClock, SharedClock},
    follow::{Excluding, Following},
    live::{Hub, LiveFeed, LiveSettings},
    publish::{Publisher, Reacting},
    read::{
        ReadMarker, Searcher, TimelineReader, Visits,
        lists::{ListReader, ListStores},
    },
    rng::SharedRng,
    store::{
        Announcements as _,
        memory::{MemoryAnnouncements, MemoryQueue},
        sql::SqlStore,
    },
};
use tokio_util::task::{TaskTracker, task_tracker::TaskTrackerToken};

use super::stores::FailingContents;
use crate::servers::{Backend, MigratedDatabase, open_store};

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
        let manual = Arc::new(ManualClock::at(NOW));
        let (clock, rng, tasks): (SharedClock, _, _) = (manual.clone(), SharedRng::from_seed(1), TaskTracker::new());
        let key = TokenKey::try_new(&[7; 32]).unwrap();
        let tokens = Arc::new(Tokens::new(key, Duration::from_hours(1), clock.clone()));
        let cheap = PasswordSettings { memory_kib: 64, iterations: 1, ..PasswordSettings::default() };
        let passwords = Arc::new(Passwords::try_new(cheap, rng.clone()).unwrap());
        let stores = AccountStores { accounts: store.clone(), attempts: store.clone(), deletions: store.clone() };
        let (announcements, queue) =
            (Arc::new(MemoryAnnouncements::new(64)), Arc::new(MemoryQueue::new(1024, Duration::from_mins(1))));
        let (settings, ambient) = (SessionSettings::default(), (clock.clone(), rng.clone()));
        let visits = Arc::new(Visits::new(queue.clone(), clock.clone(), 600_000));
        let (kept, announcer) = (store.clone(), announcements.clone());
        let sessions =
            Arc::new(SessionsService::new(kept, announcer, tokens.clone(), visits.clone(), settings, ambient.clone()));
        let accounts = AccountsService::new(stores, passwords, sessions.clone(), ambient.clone()).open_to(open, true);
        let live = LiveSettings::default();
        let hub = Arc::new(Hub::new(store.clone(), live.buffer));
        let (listening, received) = (hub.clone(), announcements.listen());
        tasks.spawn(async move { listening.run(received).await });
        let running = tasks.token();
        let timelines = Arc::new(TimelineReader::new(store.clone(), contents.clone(), None, visits, None));
        let lists = Arc::new(lists(&store, &contents));
        let services = Services {
            accounts_service: Arc::new(accounts),
            sessions,
            exports: exports(&store, lists.clone(), clock.clone()),
            profiles_service: Arc::new(ProfilesService::new(store.clone(), rng.clone())),
            profiles: store.clone(),
            reacting: Arc::new(Reacting::new(contents.clone(), store.clone(), clock.clone(), rng.clone())),
            timelines: timelines.clone(),
            publisher: publisher(&contents, &queue, &announcements, &ambient),
            lists: lists.clone(),
            searcher: Arc::new(Searcher::new(store.clone())),
            read_marker: Arc::new(ReadMarker::new(store.clone(), announcements.clone(), timelines.clone())),
            excluding: Arc::new(Excluding::new(store.clone(), queue.clone(), announcements.clone(), ambient.clone())),
            following: Arc::new(Following::new(store.clone(), queue, announcements, clock.clone(), rng)),
            exclusions: store.clone(),
            live: Arc::new(LiveFeed::new(hub.clone(), store.clone(), timelines, live)),
            accounts: store.clone(),
            cards: contents.clone(),
            contents: contents.clone(),
            follows: store.clone(),
            reactions: store.clone(),
            json: RememberedJson::default(),
            clock,
            tasks,
        };
        let schema = build_schema(Arc::new(services));
        Self { schema, tokens, clock: manual, store, contents, hub, _database: database, _running: running }
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

fn publisher(
    contents: &Arc<FailingContents>,
    queue: &Arc<MemoryQueue>,
    announcements: &Arc<MemoryAnnouncements>,
    (clock, rng): &(SharedClock, SharedRng),
) -> Arc<Publisher> {
    Arc::new(Publisher::new(contents.clone(), queue.clone(), announcements.clone(), clock.clone(), rng.clone()))
}

fn lists(store: &Arc<SqlStore>, contents: &Arc<FailingContents>) -> ListReader {
    ListReader::new(ListStores {
        contents: contents.clone(),
        follow_lists: store.clone(),
        reactions: store.clone(),
        exclusions: store.clone(),
        people: store.clone(),
    })
}

fn exports(store: &Arc<SqlStore>, lists: Arc<ListReader>, clock: SharedClock) -> Arc<Exports> {
    let stores = ExportStores {
        accounts: store.clone(),
        profiles: store.clone(),
        read_markers: store.clone(),
        sessions: store.clone(),
        contents: store.clone(),
        lists,
    };
    Arc::new(Exports::try_new(stores, &[7; 32], &[], clock).unwrap())
}

/// `code` and `path` of each error.
pub fn faults(response: &Value) -> Vec<(String, Value)> {
    let errors = response["errors"].as_array().cloned().unwrap_or_default();
    errors
        .iter()
        .map(|error| (error["extensions"]["code"].as_str().unwrap_or("none").to_owned(), error["path"].clone()))
        .collect()
}
