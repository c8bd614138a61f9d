//! Read markers in SQL.

use async_trait::async_trait;
use sql_driver::Dialect;

use super::SqlStore;
use crate::{
    domain::{Position, UserId},
    store::{ReadMarkers, StoreError},
};

#[async_trait]
impl ReadMarkers for SqlStore {
    async fn advance(&self, reader: UserId, position: Position) -> Result<(), StoreError> {
        let sql = format!(
            "INSERT INTO read_markers (user_id, publish_time, content_id) VALUES (?, ?, ?) {}",
            keep_newest(self.dialect)
        );
        let values = [reader.get(), position.publish_time(), position.content_number()];
        self.write(&sql, values.map(Into::into)).await.map(|_| ())
    }

    async fn marker(&self, reader: UserId) -> Result<Option<Position>, StoreError> {
        let sql = "SELECT publish_time, content_id FROM read_markers WHERE user_id = ?";
        let rows = self.read_few_anywhere(sql, [reader.get().into()]).await?;
        rows.first().map(|row| Ok(Position::bound(row.get(0)?, row.get(1)?))).transpose()
    }
}

/// Follows the values of an insert of (user, time, content): a marker that is there never moves back.
pub(super) fn keep_newest(dialect: Dialect) -> String {
    let (time, content) = (dialect.incoming("publish_time"), dialect.incoming("content_id"));
    // MySQL assigns from left to right: the id is compared before the time has changed.
    format!(
        "{conflict} content_id = CASE WHEN {time} > read_markers.publish_time THEN {content} \
         WHEN {time} = read_markers.publish_time THEN {greatest}(read_markers.content_id, {content}) \
         ELSE read_markers.content_id END, publish_time = {greatest}(read_markers.publish_time, {time})",
        conflict = dialect.on_conflict_update("user_id"),
        greatest = dialect.greatest(),
    )
}
