//! Makes records of what other systems export: tables (CSV) and archives of Mastodon.

pub mod html;
pub mod mastodon;
pub mod rows;
pub mod tables;
#[cfg(test)]
mod tests;

use std::{collections::HashSet, io};

use domain::account::external::ExternalId;
use serde_json::{Map, Value as Json, json};
use xxhash_rust::xxh3::xxh3_128;

use crate::{
    fault::{Code, Fault},
    input::InputError,
    parse::{Said, Unreadable, parse},
    record::{Kind, Patch, Record, User},
    report::{Outcome, Refusal, Remark},
};

/// Why a conversion cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// A file cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// What was made cannot be kept, or the conversion was interrupted.
    #[error("the records cannot be written")]
    Output(#[source] io::Error),
    /// A file is something else.
    #[error("{0}")]
    Form(String),
}

/// Takes what a conversion makes.
pub trait Sink {
    /// A record, in any order.
    fn record(&mut self, record: &Record) -> io::Result<()>;

    /// Something that no record was made of.
    fn remark(&mut self, remark: Remark) -> io::Result<()>;
}

/// Checks what was made of the entries of one export, and hands it on.
pub struct Maker<'s> {
    sink: &'s mut dyn Sink,
    latest: i64,
    /// The file that is read.
    pub file: String,
    users: HashSet<u128>,
    contents: HashSet<u128>,
}

impl<'s> Maker<'s> {
    /// `latest`: no time may be later, ms UTC.
    pub fn new(sink: &'s mut dyn Sink, latest: i64) -> Self {
        Self { sink, latest, file: String::new(), users: HashSet::new(), contents: HashSet::new() }
    }

    /// Whether a content of this id was made.
    pub fn has_content(&self, id: &str) -> bool {
        self.contents.contains(&xxh3_128(id.as_bytes()))
    }

    /// Makes a record of entry `line`. Users that it refers to, and that were not made yet, are made of their id alone.
    pub fn make(&mut self, line: u64, kind: Kind, fields: &Map<String, Json>) -> Result<(), ConvertError> {
        let text = json!({ "type": kind.as_str(), "data": fields }).to_string();
        match parse(&text, self.latest) {
            Ok(Said::Record(record)) => self.take(&record),
            Ok(Said::Header) => Ok(()),
            Err(Unreadable { external_id, mut fault, .. }) => {
                // The envelope is not in the file.
                fault.field = fault.field.split_off(fault.field.len().min(1));
                self.refuse(line, kind, external_id.as_ref().map(ExternalId::as_str), fault)
            }
        }
    }

    fn take(&mut self, record: &Record) -> Result<(), ConvertError> {
        let mentioned = match record {
            Record::User(user) => {
                self.users.insert(xxh3_128(user.external_id.as_str().as_bytes()));
                [None, None]
            }
            Record::Content(content) => {
                self.contents.insert(xxh3_128(content.external_id.as_str().as_bytes()));
                [Some(&content.author), None]
            }
            Record::Follow(follow) => [Some(&follow.follower), Some(&follow.author)],
            Record::Mute(pair) | Record::Block(pair) | Record::Hide(pair) => [Some(&pair.user), Some(&pair.other)],
            Record::Reaction(reaction) => [Some(&reaction.user), None],
            Record::ReadMarker(marker) => [Some(&marker.user), None],
            Record::Tombstone(_) => [None, None],
        };
        for id in mentioned.into_iter().flatten() {
            if self.users.insert(xxh3_128(id.as_str().as_bytes())) {
                let user = User {
                    external_id: id.clone(),
                    handle: None,
                    name: None,
                    bio: Patch::LeftOut,
                    avatar_url: Patch::LeftOut,
                    attributes: Patch::LeftOut,
                    state: None,
                    created_at: None,
                };
                self.sink.record(&Record::User(user)).map_err(ConvertError::Output)?;
            }
        }
        self.sink.record(record).map_err(ConvertError::Output)
    }

    /// Says that no record, or not all of it, was made of entry `line`.
    pub fn refuse(&mut self, line: u64, kind: Kind, id: Option<&str>, fault: Fault) -> Result<(), ConvertError> {
        let refusal = Refusal { line, kind: Some(kind), external_id: id.map(str::to_owned), fault };
        let remark = Remark { file: Some(self.file.clone()), outcome: Outcome::Refused, ..refusal.into() };
        self.sink.remark(remark).map_err(ConvertError::Output)
    }

    /// As [`Self::refuse`], for what has no place in the format.
    pub fn leave_out(&mut self, line: u64, kind: Kind, id: Option<&str>, message: &str) -> Result<(), ConvertError> {
        self.refuse(line, kind, id, Fault::of_line(Code::NotAllowed, message))
    }
}
