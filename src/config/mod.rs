//! Typed settings from the compiled-in defaults, a file and the environment, checked as a whole.
//!
//! Only this module reads environment variables.

mod address;
mod checks;
mod environment;
mod origins;
mod problem;
mod reader;
mod reference;
mod secret;
mod sections;
mod settings;
mod show;
mod signing_secret;
mod source;
mod sources;
mod store_parameters;
mod stores;
mod values;
mod warnings;

pub use address::{Address, SqlEngine};
pub use environment::Environment;
pub use problem::{ConfigError, Problem};
pub use reference::reference;
pub use secret::Secret;
pub use settings::{
    AdmissionSettings, AuditSettings, AuthSettings, CassandraSettings, Config, ContentSettings, DeliverySettings,
    GraphqlSettings, InboxPlace, InboxSettings, IssuerSettings, LiveSettings, LogFormat, LogSettings, MetricsSettings,
    OutboxCacheSettings, PagesSettings, PersistedSettings, PolicyName, RateLimitSettings, RedisSettings,
    ServerSettings, ServiceSettings, SseSettings, StoreSettings, UpkeepSettings, WebsocketSettings,
};
pub use signing_secret::{SecretError, signing_secret};
pub use sources::{DEFAULTS, Sources};
pub use values::Millis;
pub use warnings::Warning;

impl Config {
    /// Reads and checks all sources. The error has every problem, not only the first.
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

    /// Variables that nothing reads although they name a key, and the names that are read instead.
    pub fn misspelt_variables(sources: &Sources) -> Vec<(&str, String)> {
        let known = reader::keys(&sources::defaults());
        let aliases = [reader::URL_ALIAS.to_owned()];
        sources.environment().misspelt(&[known.as_slice(), &aliases].concat())
    }

    /// The defaults alone; for tests.
    pub fn defaults() -> Result<Self, ConfigError> {
        Self::load(&Sources::default())
    }

    /// The values in force as a configuration file: each with its origin, secrets hidden. Shows an invalid value as it
    /// was given.
    pub fn show(sources: &Sources) -> String {
        show::show(&sources.figment().0)
    }
}

#[cfg(test)]
mod tests;
