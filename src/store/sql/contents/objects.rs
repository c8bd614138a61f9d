//! What a product says of its contents, in SQL: writes it, and finds contents by the product's ids. A row stays when
//! its content is removed, so no other content ever gets its external id.

use sql_driver::{Fragment, Tx, Value, value_list};

use super::{
    super::{
        SqlStore,
        rows::{DomainColumns as _, MAX_LIST},
    },
    rows::{COLUMNS, WIDTH, content},
};
use crate::{
    domain::{ContentId, ContentObject, account::external::ExternalId},
    store::{
        StoreError,
        contents::{NewContent, Published},
    },
};

/// The table with its columns, as [`values`] gives them.
pub(in super::super) const INTO: &str = "content_objects (content_id, external_id, type, url, attributes)";

/// A row of [`INTO`].
pub(in super::super) fn values(content: ContentId, object: &ContentObject) -> [Value; 5] {
    [
        content.get().into(),
        object.external_id.as_ref().map(|id| id.as_str().to_owned()).into(),
        object.content_type.as_str().into(),
        object.url.clone().into(),
        object.attributes.as_ref().map(|attributes| attributes.as_str().to_owned()).into(),
    ]
}

/// Writes what the product says of a new content, if it says anything.
pub(super) fn insert(new: &NewContent) -> Option<Fragment> {
    let object = new.draft.object.as_ref()?;
    Some(Fragment::with(format!("INSERT INTO {INTO} VALUES (?, ?, ?, ?, ?)"), values(new.id, object)))
}

/// What was published under the new content's external id. The row may be all that is left of it.
pub(super) async fn with_external_id(tx: &Tx, new: &NewContent) -> Result<Option<Published>, StoreError> {
    let Some(external_id) = new.draft.external_id() else { return Ok(None) };
    let sql = format!(
        "SELECT {COLUMNS}, c.removed_at FROM content_objects o LEFT JOIN contents c ON c.id = o.content_id \
         WHERE o.external_id = ?"
    );
    let Some(row) = tx.query_one(&sql, [external_id.as_str().into()]).await? else { return Ok(None) };
    let is_gone = row.get::<Option<i64>>(0)?.is_none() || row.get::<Option<i64>>(WIDTH)?.is_some();
    Ok(Some(if is_gone { Published::Duplicate(None) } else { new.repeats(content(&row)?) }))
}

impl SqlStore {
    /// See [`crate::store::Contents::by_external_ids`].
    pub(super) async fn ids_of_external(&self, ids: &[ExternalId]) -> Result<Vec<(ExternalId, ContentId)>, StoreError> {
        let mut found = Vec::with_capacity(ids.len());
        for ids in ids.chunks(MAX_LIST) {
            let Fragment { text, values } = by_external_ids(ids);
            for row in self.read_few(&text, values).await? {
                let id = ExternalId::try_new(&row.get::<String>(0)?);
                found.push((id.map_err(|error| StoreError::Unreadable(error.to_string()))?, row.content(1)?));
            }
        }
        Ok(found)
    }
}

/// `(external_id, content_id)` of each id that was given.
pub(in super::super) fn by_external_ids(ids: &[ExternalId]) -> Fragment {
    let (list, values) = value_list(ids.iter().map(|id| id.as_str().into()));
    Fragment {
        text: format!("SELECT external_id, content_id FROM content_objects WHERE external_id IN {list}"),
        values,
    }
}
