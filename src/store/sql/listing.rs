//! Pages of lists in SQL: one statement reads the page and whether anything lies behind it, each a range of an index.

use super::{SqlStore, keyset::Columns, part::Part, rows::Row};
use crate::{
    domain::{Direction, Listed, Listing, PageRequest, Position},
    store::StoreError,
};

/// A list: what is selected, first of all the two columns that order it.
#[derive(Clone, Debug)]
pub(super) struct List {
    /// `SELECT time, id, .. FROM .. WHERE ..`, with a condition at its end that another ` AND ..` can follow.
    pub(super) rows: Part,
    /// Which columns order it.
    pub(super) columns: Columns,
}

impl List {
    /// Rows of a side (0 ahead, 1 behind) and what the list selects.
    pub(super) fn page(&self, request: &PageRequest) -> Part {
        let (direction, back) = (request.direction, request.direction.reversed());
        let need = i64::try_from(request.need()).unwrap_or(i64::MAX);
        let ahead = self.side(0, self.columns.beyond(direction, request.bound), direction, need);
        if request.bound.is_none() {
            return ahead;
        }
        ahead.add(" UNION ALL ", []).then(self.side(1, self.columns.from(back, request.bound), back, 1))
    }

    fn side(&self, number: u8, window: (String, Vec<sea_orm::Value>), direction: Direction, limit: i64) -> Part {
        let rows = self.rows.clone().then(Part::keyset(window)).add(&self.columns.order(direction), []);
        let table = rows.add(" LIMIT ?", [limit]).into_table("x");
        Part::new(format!("SELECT {number} AS side, x.* FROM "), []).then(table)
    }
}

impl SqlStore {
    /// A page of `list`; `item` reads a row whose columns begin at place 1, as the list selects them.
    pub(super) async fn listing<T>(
        &self,
        list: &List,
        request: &PageRequest,
        item: fn(&Row) -> Result<T, StoreError>,
    ) -> Result<Listing<T>, StoreError> {
        let Part { text, values } = list.page(request);
        let (mut ahead, mut behind) = (Vec::new(), false);
        for row in self.read(&text, values).await? {
            if row.get::<i64>(0)? == 0 {
                let since: i64 = row.get(1)?;
                ahead.push((Position::bound(since, row.get(2)?), Listed { since, item: item(&row)? }));
            } else {
                behind = true;
            }
        }
        // A union promises no order.
        ahead.sort_by_key(|(place, _)| *place);
        if request.direction == Direction::Older {
            ahead.reverse();
        }
        Ok(Listing::of(request, ahead.into_iter().map(|(_, listed)| listed).collect(), behind))
    }
}
