//! Pages of lists in SQL: one statement reads the pages of many lists and whether anything lies behind each. Each list
//! is a range of an index.

use std::iter;

use sql_driver::Fragment;

use super::{SqlStore, keyset::Columns, rows::Row};
use crate::{
    domain::{Direction, Listed, Listing, PageRequest, Position},
    store::StoreError,
};

/// Most members of a union in one statement: SQLite allows 500.
pub(super) const MEMBERS_PER_STATEMENT: usize = 128;

/// A list: the selected columns begin with the two that order it.
#[derive(Clone, Debug)]
pub(super) struct List {
    /// `SELECT time, id, .. FROM .. WHERE ..`, with a condition at its end that another ` AND ..` can follow.
    pub(super) rows: Fragment,
    /// The columns that order it.
    pub(super) columns: Columns,
}

/// The rows of a list's page, in any order. The list's columns are at their places from 1.
#[derive(Debug, Default)]
pub(super) struct ListRows {
    /// Beyond the bound, to the page's need.
    pub(super) ahead: Vec<Row>,
    /// On the near side of the bound (inclusive), to one; none without a bound.
    pub(super) behind: Vec<Row>,
}

/// Rows of a side and the columns that its list selects. For the list at place k, side 2k is ahead and side 2k+1
/// behind. Empty sides fill the statement up to a power of two, because each connection prepares each distinct text
/// once.
pub(super) fn pages(lists: &[List], request: &PageRequest) -> Fragment {
    let need = i64::try_from(request.need()).unwrap_or(i64::MAX);
    let idle = lists.len().next_power_of_two().saturating_sub(lists.len());
    let idle = lists.last().into_iter().flat_map(|list| iter::repeat_n((list, 0, 0), idle));
    let sides = lists.iter().map(|list| (list, need, 1)).chain(idle).enumerate();
    let members = sides.map(|(index, (list, ahead, behind))| list.sides(2 * index, request, ahead, behind));
    members.reduce(|all, next| all.add(" UNION ALL ", []).then(next)).unwrap_or_default()
}

impl List {
    fn sides(&self, number: usize, request: &PageRequest, ahead: i64, behind: i64) -> Fragment {
        let (direction, back) = (request.direction, request.direction.reversed());
        let ahead = self.side(number, self.columns.beyond(direction, request.bound), direction, ahead);
        if request.bound.is_none() {
            return ahead;
        }
        let behind = self.side(number + 1, self.columns.from(back, request.bound), back, behind);
        ahead.add(" UNION ALL ", []).then(behind)
    }

    fn side(
        &self,
        number: usize,
        window: (String, Vec<sql_driver::Value>),
        direction: Direction,
        limit: i64,
    ) -> Fragment {
        let rows = self.rows.clone().then(Fragment::keyset(window)).add(&self.columns.order(direction), []);
        let table = rows.add(" LIMIT ?", [limit]).into_table("x");
        Fragment::new(format!("SELECT {number} AS side, x.* FROM "), []).then(table)
    }
}

impl SqlStore {
    /// The page of each list, in their order: one statement for each [`MEMBERS_PER_STATEMENT`] sides.
    pub(super) async fn sides(&self, lists: &[List], request: &PageRequest) -> Result<Vec<ListRows>, StoreError> {
        let sides_each = if request.bound.is_some() { 2 } else { 1 };
        let mut all = Vec::with_capacity(lists.len());
        for lists in lists.chunks(MEMBERS_PER_STATEMENT / sides_each) {
            let Fragment { text, values } = pages(lists, request);
            let mut read: Vec<ListRows> = lists.iter().map(|_| ListRows::default()).collect();
            for row in self.read_anywhere(&text, values).await? {
                let side = row.count(0)?;
                let list = usize::try_from(side / 2).ok().and_then(|index| read.get_mut(index));
                let list = list.ok_or_else(|| StoreError::Unreadable(format!("side {side} of {}", lists.len())))?;
                (if side % 2 == 0 { &mut list.ahead } else { &mut list.behind }).push(row);
            }
            all.append(&mut read);
        }
        Ok(all)
    }

    /// As [`SqlStore::sides`], as pages; `item` reads a row whose columns begin at place 1, as the list selects them.
    pub(super) async fn listings<T>(
        &self,
        lists: &[List],
        request: &PageRequest,
        item: fn(&Row) -> Result<T, StoreError>,
    ) -> Result<Vec<Listing<T>>, StoreError> {
        let all = self.sides(lists, request).await?;
        all.iter().map(|sides| listing(sides, request, item)).collect()
    }
}

fn listing<T>(
    sides: &ListRows,
    request: &PageRequest,
    item: fn(&Row) -> Result<T, StoreError>,
) -> Result<Listing<T>, StoreError> {
    let mut ahead = Vec::with_capacity(sides.ahead.len());
    for row in &sides.ahead {
        let since: i64 = row.get(1)?;
        ahead.push((Position::bound(since, row.get(2)?), Listed { since, item: item(row)? }));
    }
    // A union has no guaranteed order.
    ahead.sort_by_key(|(index, _)| *index);
    if request.direction == Direction::Older {
        ahead.reverse();
    }
    Ok(Listing::of(request, ahead.into_iter().map(|(_, listed)| listed).collect(), !sides.behind.is_empty()))
}
