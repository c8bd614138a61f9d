//! Checks that statements of cards look up each part by a key.

use anyhow::{Result, ensure};
use tidefeed::{domain::account::external::ExternalId, store::sql::HotStatement};

use super::{line, nothing_sorted, plan};
use crate::{
    servers::Backend,
    store::conformance::{World, content_id, user},
};

/// A key finds each part of a card.
pub(super) async fn cards_are_probes(world: &World, backend: Backend) -> Result<()> {
    let contents = HotStatement::ContentCards(user(1), [7, 8, 9, 10].map(content_id).to_vec());
    let users = HotStatement::UserCards(user(1), [2, 3, 4, 5].map(user).to_vec());
    for (statement, tables) in [(contents, vec![" c ", " o ", " k ", " u ", " n "]), (users, vec![" u ", " n "])] {
        let cards = plan(world, backend, statement).await?;
        nothing_sorted(&cards)?;
        match backend {
            Backend::Sqlite => ensure!(!cards.iter().any(|line| line.starts_with("scan")), "{cards:#?}"),
            Backend::MariaDb | Backend::Mysql => {
                for table in tables {
                    line(&cards, &[table, " primary "])?;
                }
                // Read for rows alone whose counts are spread.
                line(&cards, &["dependent subquery", " d ", " ref ", " primary "])?;
                for probe in [" x ", " f "] {
                    line(&cards, &["dependent subquery", probe, " eq_ref ", " primary "])?;
                }
                ensure!(!cards.iter().any(|line| line.contains(" all ")), "{cards:#?}");
            }
        }
    }
    external_ids_are_keys(world, backend).await
}

async fn external_ids_are_keys(world: &World, backend: Backend) -> Result<()> {
    let ids = ["object-7", "object-9", "object-11"].map(ExternalId::try_new).into_iter().collect::<Result<_, _>>()?;
    let found = plan(world, backend, HotStatement::ExternalIds(ids)).await?;
    match backend {
        Backend::Sqlite => {
            line(&found, &["search content_objects using covering index content_external_ids (external_id=?)"])?
        }
        Backend::MariaDb | Backend::Mysql => line(&found, &[" range ", " content_external_ids ", "using index"])?,
    };
    Ok(())
}
