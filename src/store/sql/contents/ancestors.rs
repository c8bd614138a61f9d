//! The contents above a reply, by what each replies to.

use std::collections::HashMap;

use sql_driver::{Dialect, Fragment};

use super::super::{
    SqlStore,
    rows::{DomainColumns as _, MAX_LIST, Row, id_list},
};
use crate::{domain::ContentId, store::StoreError};

/// Contents that one statement climbs from each reply, where no statement recurs.
const STEPS: usize = 8;

impl SqlStore {
    /// See [`crate::store::Contents::ancestors`]. TiDB keeps plans of recursive statements that answer for another
    /// content (as of 8.5).
    pub(super) async fn upward_from(
        &self,
        contents: &[ContentId],
        limit: usize,
    ) -> Result<Vec<Vec<ContentId>>, StoreError> {
        match self.dialect {
            Dialect::Sqlite | Dialect::Mysql => self.by_recursion(contents, limit).await,
            Dialect::Tidb => self.step_by_step(contents, limit).await,
        }
    }

    async fn by_recursion(&self, contents: &[ContentId], limit: usize) -> Result<Vec<Vec<ContentId>>, StoreError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut upward: HashMap<ContentId, Vec<ContentId>> = HashMap::new();
        for contents in contents.chunks(MAX_LIST) {
            let Fragment { text, values } = upward_statement(contents, limit);
            for row in self.read_anywhere(&text, values).await? {
                upward.entry(row.content(0)?).or_default().push(row.content(1)?);
            }
        }
        Ok(contents.iter().map(|content| upward.get(content).cloned().unwrap_or_default()).collect())
    }

    /// What a content replies to never changes, so the statements need no common snapshot.
    async fn step_by_step(&self, contents: &[ContentId], limit: usize) -> Result<Vec<Vec<ContentId>>, StoreError> {
        let mut above: HashMap<ContentId, Vec<ContentId>> = HashMap::new();
        let mut lowest = contents.to_vec();
        for _ in 0..limit.div_ceil(STEPS) {
            let mut tops = Vec::new();
            for some in lowest.chunks(MAX_LIST) {
                let Fragment { text, values } = steps_statement(some);
                for row in self.read_anywhere(&text, values).await? {
                    let steps = steps(&row)?;
                    tops.extend(steps.get(STEPS - 1));
                    above.insert(row.content(0)?, steps);
                }
            }
            lowest = tops;
        }
        Ok(contents.iter().map(|content| chain(*content, &above, limit)).collect())
    }
}

/// The farthest first.
fn chain(content: ContentId, above: &HashMap<ContentId, Vec<ContentId>>, limit: usize) -> Vec<ContentId> {
    let (mut chain, mut top) = (Vec::new(), Some(content));
    while let Some(steps) = top.and_then(|top| above.get(&top)).filter(|_| chain.len() < limit) {
        chain.extend_from_slice(steps);
        top = steps.last().copied();
    }
    chain.truncate(limit);
    chain.reverse();
    chain
}

/// Rows of `(root, id)`: what lies above each root, the farthest first.
fn upward_statement(roots: &[ContentId], limit: i64) -> Fragment {
    let (list, values) = id_list(roots);
    let text = format!(
        "WITH RECURSIVE upward (root, id, above, level) AS (\
         SELECT id, id, reply_to, 0 FROM contents WHERE id IN {list} \
         UNION ALL SELECT u.root, c.id, c.reply_to, u.level + 1 \
         FROM upward u JOIN contents c ON c.id = u.above WHERE u.level < ?) \
         SELECT root, id FROM upward WHERE level > 0 ORDER BY level DESC"
    );
    Fragment { text, values }.add("", [limit])
}

/// Rows of a content and the contents above it, the nearest first, then nulls.
fn steps_statement(contents: &[ContentId]) -> Fragment {
    let (list, values) = id_list(contents);
    let columns: Vec<String> = (0..=STEPS).map(|step| format!("c{step}.id")).collect();
    let joins: Vec<String> = (1..=STEPS)
        .map(|step| format!("LEFT JOIN contents c{step} ON c{step}.id = c{below}.reply_to", below = step - 1))
        .collect();
    let (columns, joins) = (columns.join(", "), joins.join(" "));
    Fragment::with(format!("SELECT {columns} FROM contents c0 {joins} WHERE c0.id IN {list}"), values)
}

fn steps(row: &Row) -> Result<Vec<ContentId>, StoreError> {
    let mut steps = Vec::with_capacity(STEPS);
    for step in 1..=STEPS {
        if row.get::<Option<i64>>(step)?.is_none() {
            break;
        }
        steps.push(row.content(step)?);
    }
    Ok(steps)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;
    use crate::store::sql::tests::{migrated, plan};

    #[tokio::test]
    async fn a_thread_is_the_same_by_steps_as_by_recursion() {
        let folder = tempfile::tempdir().unwrap();
        let store = migrated(&folder).await;
        let insert = "INSERT INTO contents (id, author_id, kind, text, media, publish_time, reply_to) \
                      VALUES (?, 1, 0, '', '[]', ?, ?)";
        for id in 1..=40_i64 {
            // Some reply to a content that is not there.
            let other = (id > 10).then(|| if id % 11 == 0 { 1_000 } else { id - 3 });
            store.write(insert, [id.into(), id.into(), other.into()]).await.unwrap();
        }
        let all: Vec<ContentId> = (1..=40).rev().map(|id| ContentId::try_new(id).unwrap()).collect();
        for limit in [0, 1, 2, STEPS, STEPS + 1, 50] {
            let steps = store.step_by_step(&all, limit).await.unwrap();
            assert_eq!(steps, store.by_recursion(&all, limit).await.unwrap(), "{limit}");
            assert!(steps.iter().all(|it| it.len() <= limit) && (limit < 9 || steps.iter().any(|it| it.len() > STEPS)));
        }
    }

    #[tokio::test]
    async fn the_threads_above_replies_are_found_by_key() {
        let folder = tempfile::tempdir().unwrap();
        let store = migrated(&folder).await;
        let roots = [1, 2, 3].map(|id| ContentId::try_new(id).unwrap());
        let plan = plan(&store, upward_statement(&roots, 50)).await;
        assert!(!plan.contains("SCAN contents") && !plan.contains("SCAN c\n"), "{plan}");
        assert_eq!(plan.matches("USING INTEGER PRIMARY KEY (rowid=?)").count(), 2, "{plan}");
    }
}
