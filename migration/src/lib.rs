//! Creates Tidefeed's tables on SQLite, MySQL and MariaDB from one source.
//!
//! Migrations use no domain types: the adapter (`store::sql`) gives the numbers their meaning. A released migration is
//! never edited; a later one changes its tables.

mod journal;
mod m20261121_000001_tables;
mod m20261121_000002_exclusions;
mod m20261121_000003_policy;
mod m20261121_000004_accounts;
mod m20261121_000005_social;
mod m20261121_000006_search;
mod m20261122_000007_deletions;
mod m20261123_000008_people;
mod m20261123_000010_media;
mod m20261124_000011_versions;
mod m20261124_000012_counters;
mod m20261124_000013_targets;
mod m20261124_000014_outside;
mod m20261124_000015_reactions;
mod m20261126_000016_search_tasks;
mod m20261127_000017_services;
mod m20261127_000018_external_ids;
mod m20261127_000019_spread_counts;
mod m20261127_000020_deactivations;
mod m20261128_000021_content_objects;
mod m20261128_000023_imports;
mod m20261128_000025_unseen;
mod schema;
mod table;

pub use journal::{apply, pending};
pub use schema::{Migrate, Schema};
/// For migrations that lie elsewhere, and for those who run them.
pub use sea_orm;

/// All migrations of this crate, oldest first.
pub fn all() -> Vec<Box<dyn Migrate>> {
    vec![
        Box::new(m20261121_000001_tables::Migration),
        Box::new(m20261121_000002_exclusions::Migration),
        Box::new(m20261121_000003_policy::Migration),
        Box::new(m20261121_000004_accounts::Migration),
        Box::new(m20261121_000005_social::Migration),
        Box::new(m20261121_000006_search::Migration),
        Box::new(m20261122_000007_deletions::Migration),
        Box::new(m20261123_000008_people::Migration),
        Box::new(m20261123_000010_media::Migration),
        Box::new(m20261124_000011_versions::Migration),
        Box::new(m20261124_000012_counters::Migration),
        Box::new(m20261124_000013_targets::Migration),
        Box::new(m20261124_000014_outside::Migration),
        Box::new(m20261124_000015_reactions::Migration),
        Box::new(m20261126_000016_search_tasks::Migration),
        Box::new(m20261127_000017_services::Migration),
        Box::new(m20261127_000018_external_ids::Migration),
        Box::new(m20261127_000019_spread_counts::Migration),
        Box::new(m20261127_000020_deactivations::Migration),
        Box::new(m20261128_000021_content_objects::Migration),
        Box::new(m20261128_000023_imports::Migration),
        Box::new(m20261128_000025_unseen::Migration),
    ]
}
