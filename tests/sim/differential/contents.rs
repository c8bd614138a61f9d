//! Calls about contents: publishing and removing them, and reading them by id or by author.

use tidefeed::{
    app::Ports,
    domain::{
        ContentId, ContentObject, PageRequest, Reference, UserId, account::external::ExternalId, content::Draft,
        object::ObjectInput,
    },
    store::contents::NewContent,
};

use super::acts::{Drawer, in_any_order, outcome};

#[derive(Debug, Clone)]
pub enum Act {
    Publish(NewContent),
    Remove(UserId, ContentId, i64),
    ByIds(Option<UserId>, Vec<ContentId>),
    ByExternalIds(Vec<ExternalId>),
    Counters(Vec<ContentId>),
    Outbox(Option<UserId>, Vec<UserId>, PageRequest),
    Subjects(Vec<ContentId>),
    RepostedAmong(UserId, Vec<ContentId>),
    Replies(Option<UserId>, Vec<ContentId>, PageRequest),
    Ancestors(Vec<ContentId>, usize),
    Heads(Vec<UserId>, usize),
}

impl Act {
    pub fn draw(from: &mut Drawer<'_>) -> Self {
        match from.rng.below(21) {
            0..=8 => Self::Publish(new_content(from)),
            9..=11 => {
                let content = from.content();
                let author = from.author_of(content);
                Self::Remove(author, content, from.fresh())
            }
            12 => Self::ByIds(from.viewer(), from.contents()),
            13 => Self::Counters(from.contents()),
            14 => Self::Outbox(from.viewer(), from.users(), from.request()),
            15 => Self::Subjects(from.contents()),
            16 => Self::RepostedAmong(from.user(), from.contents()),
            17 => Self::Replies(from.viewer(), from.contents(), from.request()),
            18 => Self::ByExternalIds(external_ids()),
            19 => Self::Ancestors(from.contents(), from.rng.index(4) + 1),
            _ => Self::Heads(from.users(), from.rng.index(5) + 1),
        }
    }

    pub async fn answer(&self, ports: &Ports, now: i64) -> String {
        let contents = &ports.contents;
        match self {
            Self::Publish(new) => outcome(contents.publish(new.clone()).await),
            Self::Remove(author, content, version) => outcome(contents.remove(*author, *content, *version, now).await),
            Self::ByIds(viewer, ids) => in_any_order(contents.by_ids(*viewer, ids).await),
            Self::ByExternalIds(ids) => in_any_order(contents.by_external_ids(ids).await),
            Self::Counters(ids) => in_any_order(contents.counters(ids).await),
            Self::Outbox(viewer, authors, request) => outcome(contents.outbox(*viewer, authors, request).await),
            Self::Subjects(ids) => in_any_order(contents.subjects(ids).await),
            Self::RepostedAmong(author, ids) => in_any_order(contents.reposted_among(*author, ids).await),
            Self::Replies(viewer, ids, request) => outcome(contents.replies(*viewer, ids, request).await),
            Self::Ancestors(ids, limit) => outcome(contents.ancestors(ids, *limit).await),
            Self::Heads(authors, limit) => outcome(contents.outbox_heads(authors, *limit).await),
        }
    }
}

fn external_ids() -> Vec<ExternalId> {
    let id = |number: u8| ExternalId::try_new(&format!("object{number}")).expect("a plain id will do");
    (0..4).map(id).collect()
}

/// Few times and few keys, so that both meet; now and then an id that is taken.
fn new_content(from: &mut Drawer<'_>) -> NewContent {
    let reference = match from.rng.below(10) {
        0..=1 => Reference::ReplyTo(from.content()),
        2..=4 => Reference::RepostOf(from.content()),
        _ => Reference::Nothing,
    };
    let id = if from.rng.chance(30_000) { from.content() } else { from.fresh_content() };
    let idempotency_key = from.rng.chance(200_000).then(|| format!("key{}", from.rng.below(3)));
    let external_id = from.rng.chance(100_000).then(|| format!("object{}", from.rng.below(3)));
    let input = ObjectInput { external_id: external_id.as_deref(), ..ObjectInput::default() };
    let object = ContentObject::try_new(&input).expect("a plain id will do").map(Box::new);
    // Of one text now and then, because only the same data is answered again.
    let text = if from.rng.chance(300_000) { String::new() } else { id.to_string() };
    let draft = Draft { text, media: Vec::new(), idempotency_key, reference, object };
    let publish_time = from.now / 1_000 * 1_000 + from.rng.within(-2, 2) * 1_000;
    NewContent { id, author: from.user(), draft, publish_time, version: from.fresh() }
}
