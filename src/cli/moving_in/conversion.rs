//! `tidefeed import convert`: makes a sorted file of what other systems export.

use std::{
    io,
    path::{Path, PathBuf},
};

use ::import::{
    convert::{
        ConvertError, Maker, Sink,
        mastodon::{self, Owner},
        tables::{self, ColumnName, FOLLOWS, POSTS, Table, USERS},
    },
    input::Input,
    record::{Kind, Record},
    report::{Remark, Report},
    sort::{RUN_BYTES, Sorter},
};
use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};

use super::{
    target::{self, Target, is_standard},
    work::{self, Work},
};
use crate::cli::completion::Completion;

#[derive(Debug, Args)]
pub struct ConvertArguments {
    /// What it is made of.
    #[arg(long, value_enum)]
    from: Form,
    /// mastodon: the folder into which the archive was unpacked, with actor.json and outbox.json.
    #[arg(long, value_name = "FOLDER", required_if_eq("from", "mastodon"))]
    archive: Option<PathBuf>,
    /// mastodon: the address below which you have put the archive's pictures and videos.
    #[arg(long, value_name = "URL")]
    media_base: Option<String>,
    /// mastodon: the list of muted accounts.
    #[arg(long, value_name = "CSV")]
    mutes: Option<PathBuf>,
    /// mastodon: the list of blocked accounts.
    #[arg(long, value_name = "CSV")]
    blocks: Option<PathBuf>,
    /// The list of followed accounts, or the table of follows.
    #[arg(long, value_name = "CSV")]
    follows: Option<PathBuf>,
    /// csv: the table of users.
    #[arg(long, value_name = "CSV")]
    users: Option<PathBuf>,
    /// csv: the table of posts.
    #[arg(long, value_name = "CSV")]
    posts: Option<PathBuf>,
    /// csv: what the tables call a field, as in externalId=id; can be repeated.
    #[arg(long = "column", value_name = "FIELD=COLUMN", value_parser = column)]
    columns: Vec<ColumnName>,
    /// The new file, which must not exist; - is standard output, and the report then goes to standard error.
    #[arg(long, value_name = "PATH")]
    to: PathBuf,
    /// Where the report goes instead.
    #[arg(long, value_name = "PATH")]
    report: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// An archive that Mastodon made for one of its users.
    Mastodon,
    /// Tables with a column for each field.
    Csv,
}

fn column(text: &str) -> Result<ColumnName, String> {
    let (field, column) = text.split_once('=').ok_or("expected a field and a column, as in externalId=id")?;
    Ok(ColumnName { field: field.trim().to_owned(), column: column.trim().to_owned() })
}

/// Sorts what is made, and reports what is not.
struct Made<'w> {
    sorter: Sorter,
    report: Report<Box<dyn io::Write + Send>>,
    work: &'w mut Work,
}

impl Sink for Made<'_> {
    fn record(&mut self, record: &Record) -> io::Result<()> {
        self.report.summary.count(record.kind());
        self.report.summary.lines += 1;
        self.work.reached("Made", self.report.summary.lines, (0, None))?;
        self.sorter.push(record)
    }

    fn remark(&mut self, remark: Remark) -> io::Result<()> {
        self.report.remark(&remark)
    }
}

/// Reads all files, then writes the new one.
pub fn run(arguments: &ConvertArguments, mut work: Work) -> anyhow::Result<Completion> {
    let target = Target::of(&arguments.to)?;
    let report = Report::new(target::report(arguments.report.as_deref(), is_standard(&arguments.to))?);
    let latest = work.latest;
    let mut made = Made { sorter: Sorter::new(target.folder(), RUN_BYTES), report, work: &mut work };
    let mut maker = Maker::new(&mut made, latest);
    match arguments.from {
        Form::Mastodon => archive(arguments, &mut maker)?,
        Form::Csv => tables_of(arguments, &mut maker)?,
    }
    let Made { sorter, report, .. } = made;
    work::write(sorter, target, &mut work)?;
    work::end("Made", report)
}

fn archive(arguments: &ConvertArguments, maker: &mut Maker<'_>) -> anyhow::Result<()> {
    refuse_other(&[("--users", &arguments.users), ("--posts", &arguments.posts)], "mastodon")?;
    let folder = arguments.archive.as_deref().unwrap_or(Path::new("."));
    let owner = each(&folder.join("actor.json"), maker, |input, maker| {
        mastodon::actor(input, arguments.media_base.as_deref(), maker)
    })?;
    each(&folder.join("outbox.json"), maker, |input, maker| mastodon::outbox(input, &owner, maker))?;
    let lists = [(&arguments.follows, Kind::Follow), (&arguments.mutes, Kind::Mute), (&arguments.blocks, Kind::Block)];
    for (path, kind) in lists {
        if let Some(path) = path {
            accounts(path, kind, &owner, maker)?;
        }
    }
    Ok(())
}

fn accounts(path: &Path, kind: Kind, owner: &Owner, maker: &mut Maker<'_>) -> anyhow::Result<()> {
    each(path, maker, |input, maker| mastodon::accounts(input, kind, owner, maker))
}

fn tables_of(arguments: &ConvertArguments, maker: &mut Maker<'_>) -> anyhow::Result<()> {
    let others = [("--archive", &arguments.archive), ("--mutes", &arguments.mutes), ("--blocks", &arguments.blocks)];
    refuse_other(&others, "csv")?;
    let tables: [(&Option<PathBuf>, &Table); 3] =
        [(&arguments.users, &USERS), (&arguments.posts, &POSTS), (&arguments.follows, &FOLLOWS)];
    if tables.iter().all(|(path, _)| path.is_none()) {
        bail!("--from csv needs a table: --users, --posts or --follows");
    }
    for (path, table) in tables {
        if let Some(path) = path {
            each(path, maker, |input, maker| tables::convert(table, input, &arguments.columns, maker))?;
        }
    }
    Ok(())
}

fn refuse_other(others: &[(&str, &Option<PathBuf>)], form: &str) -> anyhow::Result<()> {
    match others.iter().find(|(_, path)| path.is_some()) {
        Some((flag, _)) => bail!("{flag} does not go with --from {form}"),
        None => Ok(()),
    }
}

/// Opens a file for `convert`, whose remarks then name it.
fn each<'s, T>(
    path: &Path,
    maker: &mut Maker<'s>,
    convert: impl FnOnce(Input, &mut Maker<'s>) -> Result<T, ConvertError>,
) -> anyhow::Result<T> {
    let input = work::open(path)?;
    maker.file = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    convert(input, maker).with_context(|| format!("`{}`", path.display()))
}
