//! Look-ahead: which fields of contents and authors the client selects, so that a page loads them at once.
//!
//! Fields are named here by strings, which tests compare with the schema. A field that is missing here costs one more
//! statement. The lists of fields that a card answers must name only fields without arguments whose value the card
//! holds, because JSON is remembered under the values of the card.

use async_graphql::{Lookahead, SelectionField};

use crate::store::cards::{ContentParts, UserParts};

/// The selected parts of a content that it does not hold itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one for each thing that a selection may name")]
pub struct ContentSelection {
    /// Its counters.
    pub counters: bool,
    /// The viewer's own reactions.
    pub reactions: bool,
    /// Its author, with the selected parts.
    pub author: Option<UserParts>,
    /// Whether the viewer has reposted it.
    pub reposted: bool,
    /// The content that it refers to, with the same parts.
    pub linked: bool,
    /// Nothing but what a card answers, apart from the content that it refers to.
    pub of_card: bool,
}

/// The parts of a user in a selection of its fields.
pub fn user_parts(user: &Lookahead<'_>) -> UserParts {
    let any = |names: &[&str]| names.iter().any(|name| user.field(name).exists());
    UserParts {
        counts: any(&["followerCount", "followingCount", "contentCount"]),
        following: any(&["viewerIsFollowing"]),
        exclusions: any(&["viewerHasMuted", "viewerHasBlocked", "viewerIsHiding"]),
    }
}

/// The parts of the users in a connection's selection; `None` if it selects none.
pub fn user_parts_of_connection(connection: &Lookahead<'_>) -> Option<UserParts> {
    let shown = [connection.field("edges").field("node"), connection.field("nodes")];
    shown.iter().filter(|user| user.exists()).map(user_parts).reduce(UserParts::and)
}

/// Fields of a content that a card and the viewer's own repost answer, apart from `author`.
const OF_CARD: [&str; 21] = [
    "__typename",
    "id",
    "kind",
    "text",
    "media",
    "externalId",
    "url",
    "type",
    "attributes",
    "createdAt",
    "replyCount",
    "likeCount",
    "repostCount",
    "bookmarkCount",
    "inReplyTo",
    "viewerHasLiked",
    "viewerHasBookmarked",
    "repostOf",
    "subjectId",
    "viewerHasReposted",
    "viewerIsAuthor",
];

/// Fields of an author that a card answers.
const OF_AUTHORS_CARD: [&str; 9] =
    ["__typename", "id", "handle", "name", "bio", "avatarUrl", "createdAt", "viewerIsFollowing", "isViewer"];

fn is_of_card(content: &Lookahead<'_>) -> bool {
    content.selection_fields().iter().flat_map(SelectionField::selection_set).all(|field| match field.name() {
        "author" => field.selection_set().all(|field| OF_AUTHORS_CARD.contains(&field.name())),
        name => OF_CARD.contains(&name),
    })
}

/// Fields of a content that its counters answer.
const COUNTS: [&str; 4] = ["replyCount", "likeCount", "repostCount", "bookmarkCount"];

impl ContentSelection {
    /// The parts in a selection of content fields.
    pub fn of(content: &Lookahead<'_>) -> Self {
        let linked = [content.field("repostOf"), content.field("inReplyTo")];
        let selection = linked.iter().filter(|other| other.exists()).map(|other| Self {
            linked: true,
            of_card: true,
            ..Self::of_one(other)
        });
        selection.fold(Self::of_one(content), Self::and)
    }

    fn of_one(content: &Lookahead<'_>) -> Self {
        let author = content.field("author");
        Self {
            counters: COUNTS.iter().any(|name| content.field(name).exists()),
            reactions: ["viewerHasLiked", "viewerHasBookmarked"].iter().any(|name| content.field(name).exists()),
            author: author.exists().then(|| user_parts(&author)),
            reposted: content.field("viewerHasReposted").exists(),
            linked: false,
            of_card: is_of_card(content),
        }
    }

    /// Whether a card that a node makes from memory has the selected parts.
    pub fn is_on_cards(self) -> bool {
        self.author.is_none_or(|author| !author.counts && !author.exclusions)
    }

    /// The parts that are read together with a content.
    pub fn parts(self) -> ContentParts {
        let Self { counters, reactions, author, .. } = self;
        ContentParts { counters, reactions, author }
    }

    /// The parts in a connection's selection; `None` if it selects no contents.
    pub fn of_connection(connection: &Lookahead<'_>) -> Option<Self> {
        let shown = [connection.field("edges").field("node"), connection.field("nodes")];
        shown.iter().filter(|content| content.exists()).map(Self::of).reduce(Self::and)
    }

    /// The parts of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let author = match (self.author, other.author) {
            (Some(a), Some(b)) => Some(a.and(b)),
            (a, b) => a.or(b),
        };
        Self {
            counters: self.counters || other.counters,
            reactions: self.reactions || other.reactions,
            author,
            reposted: self.reposted || other.reposted,
            linked: self.linked || other.linked,
            of_card: self.of_card && other.of_card,
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a schema that cannot be read fails the test")]

    use async_graphql::parser::{
        parse_schema,
        types::{TypeKind, TypeSystemDefinition},
    };

    use super::*;
    use crate::api::graphql::schema_sdl;

    /// The fields of a type of the schema that have no arguments.
    fn plain_fields(type_name: &str) -> Vec<String> {
        let document = parse_schema(schema_sdl()).unwrap();
        let types = document.definitions.iter().filter_map(|definition| match definition {
            TypeSystemDefinition::Type(found) if found.node.name.node == type_name => Some(&found.node.kind),
            _ => None,
        });
        let fields = types.filter_map(|kind| if let TypeKind::Object(it) = kind { Some(&it.fields) } else { None });
        let plain = fields.flatten().filter(|field| field.node.arguments.is_empty());
        plain.map(|field| field.node.name.node.to_string()).collect()
    }

    #[test]
    fn fields_that_a_card_answers_exist_and_have_no_arguments() {
        for (type_name, names) in [("Content", &OF_CARD[..]), ("User", &OF_AUTHORS_CARD[..])] {
            let plain = plain_fields(type_name);
            let others: Vec<_> = names.iter().filter(|name| !name.starts_with("__")).collect();
            assert!(others.iter().all(|name| plain.iter().any(|it| it == **name)), "{others:?} of {plain:?}");
        }
    }
}
