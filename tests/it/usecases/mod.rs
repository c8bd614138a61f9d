//! Tests the use cases over real stores, step by step.

mod account_deletions;
mod audit;
mod cached_outboxes;
mod cassandra;
mod deep_paging;
pub mod delivery;
mod fixture;
mod invariant;
mod outside_away;
mod outside_keeper;
mod outside_stampede;
mod outside_tiers;
mod page_costs;
mod presence;
mod targets;
mod upkeep;
mod worked_example;
