//! Makes records of tables: users, posts and follows, with a column for each field.

use chrono::NaiveDateTime;
use serde_json::{Map, Value as Json, json};

use crate::{
    convert::{ConvertError, Maker, rows::Rows},
    fault::{Code, Fault},
    input::Input,
    record::Kind,
    time::rfc3339,
};

/// A kind of table.
pub struct Table {
    kind: Kind,
    needed: &'static [&'static str],
    optional: &'static [&'static str],
}

/// A user in each row.
pub const USERS: Table =
    Table { kind: Kind::User, needed: &["externalId"], optional: &["handle", "name", "bio", "avatarUrl", "createdAt"] };
/// A content in each row. `pictures` and `videos`: addresses with spaces between.
pub const POSTS: Table = Table {
    kind: Kind::Content,
    needed: &["externalId", "author", "createdAt"],
    optional: &["text", "pictures", "videos", "url", "type", "attributes", "replyTo", "repostOf", "editedAt"],
};
/// A follow in each row.
pub const FOLLOWS: Table = Table { kind: Kind::Follow, needed: &["follower", "author"], optional: &["createdAt"] };

/// The file's own name of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnName {
    /// A field of the format.
    pub field: String,
    /// What the table calls it.
    pub column: String,
}

/// Makes a record of each row. The first row names the columns, by the fields' names or those in `names`; case does not
/// matter. Columns of other names are not read. An empty cell is left out.
pub fn convert(table: &Table, input: Input, names: &[ColumnName], maker: &mut Maker<'_>) -> Result<(), ConvertError> {
    let mut rows = Rows::of(input)?;
    let Some(first) = rows.read_next()? else {
        return Err(ConvertError::Form("the table is empty; its first row names its columns".to_owned()));
    };
    let header = first.cells.map_err(|fault| ConvertError::Form(format!("the first row: {}", fault.message)))?;
    let place = |field: &str| {
        let column = names.iter().find(|name| name.field == field).map_or(field, |name| name.column.as_str());
        header.iter().position(|cell| cell.trim().eq_ignore_ascii_case(column))
    };
    if let Some(missing) = table.needed.iter().find(|field| place(field).is_none()) {
        let columns = header.join(", ");
        let what = format!("the table has no column {missing} (it has: {columns}); name it with --column {missing}=..");
        return Err(ConvertError::Form(what));
    }
    let fields = table.needed.iter().chain(table.optional);
    let columns: Vec<(&str, usize)> = fields.filter_map(|field| Some((*field, place(field)?))).collect();
    while let Some(row) = rows.read_next()? {
        let fields = row.cells.and_then(|cells| {
            if cells.len() == header.len() {
                return fields_of(&cells, &columns);
            }
            let what = format!("the row has {} cells, and the first one has {}", cells.len(), header.len());
            Err(Fault::of_line(Code::Invalid, &what))
        });
        match fields {
            Ok(fields) => maker.make(row.line, table.kind, &fields)?,
            Err(fault) => maker.refuse(row.line, table.kind, None, fault)?,
        }
    }
    rows.finish()
}

fn fields_of(cells: &[String], columns: &[(&str, usize)]) -> Result<Map<String, Json>, Fault> {
    let mut fields = Map::new();
    let mut media = Vec::new();
    for (field, place) in columns {
        let Some(cell) = cells.get(*place).filter(|cell| !cell.trim().is_empty()) else { continue };
        let value = match *field {
            "pictures" | "videos" => {
                let kind = if *field == "pictures" { "PICTURE" } else { "VIDEO" };
                media.extend(cell.split_whitespace().map(|url| json!({ "kind": kind, "url": url })));
                continue;
            }
            "attributes" => serde_json::from_str(cell)
                .map_err(|_| Fault::at(&["attributes"], Code::Invalid, "this must be a JSON object"))?,
            "createdAt" | "editedAt" => Json::from(with_offset(cell.trim())),
            "text" | "bio" | "name" => Json::from(cell.as_str()),
            _ => Json::from(cell.trim()),
        };
        fields.insert((*field).to_owned(), value);
    }
    if !media.is_empty() {
        fields.insert("media".to_owned(), Json::Array(media));
    }
    Ok(fields)
}

/// A time as databases print it, such as `2019-05-01 08:00:00`, with the offset of UTC; any other text as it is.
fn with_offset(text: &str) -> String {
    let read = ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f"];
    let read = read.into_iter().find_map(|form| NaiveDateTime::parse_from_str(text, form).ok());
    read.map_or_else(|| text.to_owned(), |time| rfc3339(time.and_utc().timestamp_millis()))
}
