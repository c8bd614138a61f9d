//! What an operator decides: the compiled-in defaults, then a file, then the environment; checked as a whole and told as
//! typed settings.
//!
//! The one reader of environment variables. It refuses to know what the settings are used for.

mod address;
mod checks;
mod environment;
mod problem;
mod reader;
mod reference;
mod secret;
mod sections;
mod settings;
mod show;
mod sources;
mod values;

pub use address::{Address, SqlEngine};
pub use environment::Environment;
pub use problem::{ConfigError, Problem};
pub use reference::reference;
pub use secret::{Secret, SecretError, signing_secret};
pub use settings::{
    AuditSettings, AuthSettings, DeliverySettings, GraphqlSettings, InboxSettings, IssuerSettings, LiveSettings,
    LogFormat, LogSettings, MetricsSettings, OutboxCacheSettings, PersistedSettings, PolicyName, RateLimitSettings,
    RedisSettings, ServerSettings, SseSettings, StoreSettings, UpkeepSettings, WebsocketSettings,
};
pub use sources::Sources;
pub use values::Millis;

/// The defaults, as a file that a person can read: every key with its meaning.
pub const DEFAULTS: &str = include_str!("../../config/default.toml");

/// Everything that is configured, checked. Fields are named as the sections and keys of config/default.toml.
#[derive(Debug, Clone)]
pub struct Config {
    /// How clients reach this node.
    pub server: ServerSettings,
    /// The truth: SQL.
    pub store: StoreSettings,
    /// Queue, outbox cache and announcements between nodes.
    pub redis: RedisSettings,
    /// Recent entries of pulled authors.
    pub outbox_cache: OutboxCacheSettings,
    /// Accounts and tokens.
    pub auth: AuthSettings,
    /// An outside issuer of tokens.
    pub issuer: IssuerSettings,
    /// How contents reach inboxes.
    pub delivery: DeliverySettings,
    /// What an inbox holds.
    pub inbox: InboxSettings,
    /// Work in the background.
    pub upkeep: UpkeepSettings,
    /// `[audit]`
    pub audit: AuditSettings,
    /// Bounds of a GraphQL document.
    pub graphql: GraphqlSettings,
    /// Documents that are named instead of sent.
    pub persisted: PersistedSettings,
    /// Points that may be spent.
    pub rate_limit: RateLimitSettings,
    /// The sockets of subscriptions.
    pub websocket: WebsocketSettings,
    /// Streams of server-sent events.
    pub sse: SseSettings,
    /// What live subscriptions promise, and its bounds.
    pub live: LiveSettings,
    /// Log lines.
    pub log: LogSettings,
    /// Measurements.
    pub metrics: MetricsSettings,
}

impl Config {
    /// Reads and checks all of `sources`; the error tells every problem there is, not the first.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        let (figment, unreadable) = sources.figment();
        let mut reader = reader::Reader::new(figment, unreadable);
        reader.check_keys();
        let config = sections::read(&mut reader);
        if reader.is_clean() {
            checks::check(&config, &mut reader);
        }
        reader.finish(config)
    }

    /// The defaults alone; for tests.
    pub fn defaults() -> Result<Self, ConfigError> {
        Self::load(&Sources::default())
    }

    /// What is in force, as a file that could be given back: each value with where it is from, secrets hidden.
    /// A value that cannot be read is shown as it was given.
    pub fn show(sources: &Sources) -> String {
        show::show(&sources.figment().0)
    }
}

#[cfg(test)]
mod tests;
