//! Every bound of the engine in one place, each with its reason.

/// Entries of a page: several screens, and one batch of hydration.
pub const MAX_PAGE: u16 = 100;
/// Raw entries that one folded page is made of.
pub const MAX_RAW_PAGE: u16 = 400;
/// Ancestors that a reply lists.
pub const MAX_ANCESTORS: usize = 50;
/// Default size of a page.
pub const DEFAULT_PAGE: u16 = 20;
/// New entries that are counted. A larger number tells a reader nothing.
pub const MAX_COUNT: u16 = 999;
/// Raw entries that one count reads: one more than [`MAX_COUNT`] tells whether there are more.
pub const MAX_RAW_COUNT: u16 = MAX_COUNT + 1;
/// Default bound of a count: what fits a badge.
pub const DEFAULT_COUNT: u16 = 99;
/// Ids that one `nodes` query may name.
pub const MAX_NODES: usize = 100;
/// Characters of a content's text.
pub const MAX_TEXT_CHARS: usize = 5_000;
/// Media links of one content.
pub const MAX_MEDIA: usize = 9;
/// Characters of a link.
pub const MAX_URL_CHARS: usize = 2_048;
/// Characters of a medium's alternative text.
pub const MAX_ALT_CHARS: usize = 1_000;
/// Characters of a handle; at least [`MIN_HANDLE_CHARS`].
pub const MAX_HANDLE_CHARS: usize = 30;
/// Characters of a handle at least.
pub const MIN_HANDLE_CHARS: usize = 2;
/// Characters of a display name.
pub const MAX_NAME_CHARS: usize = 60;
/// Characters of a profile's own words.
pub const MAX_BIO_CHARS: usize = 500;
/// Characters of a password at least (NIST SP 800-63B section 3.1.1.2 asks for 8 or more).
pub const MIN_PASSWORD_CHARS: usize = 8;
/// Bytes of a password. Hashing longer ones only costs time.
pub const MAX_PASSWORD_BYTES: usize = 1_024;
/// Open attributes of a profile.
pub const MAX_ATTRIBUTES: usize = 16;
/// Characters of an attribute's key.
pub const MAX_ATTRIBUTE_KEY_CHARS: usize = 32;
/// Characters of an attribute's value: all of a profile's stay below 64 kB.
pub const MAX_ATTRIBUTE_VALUE_CHARS: usize = 200;
/// Refusals that a mutation reports: the first one found.
pub const MAX_USER_ERRORS: usize = 1;
/// Refusals that a registration reports: one for each field.
pub const MAX_REGISTRATION_ERRORS: usize = 5;
/// Exports that a node writes at once, one of each account. Each holds a page of contents and a page of text, a few MB
/// together.
pub const MAX_EXPORTS: usize = 8;
/// Those of one network: half of them.
pub const MAX_EXPORTS_OF_NETWORK: usize = MAX_EXPORTS / 2;
/// Exports that wait to be written.
pub const MAX_EXPORTS_WAITING: usize = 32;
/// Points of writing an export, which reads as much as about a hundred pages.
pub const EXPORT_POINTS: u64 = 10_000;
/// Characters of a content's type.
pub const MAX_TYPE_CHARS: usize = 64;
/// Bytes of the attributes of a content as canonical JSON. A page of a hundred has less than a megabyte of them.
pub const MAX_JSON_BYTES: usize = 8 * 1_024;
/// Objects and lists around a value of attributes. What is read or written nests as deep.
pub const MAX_JSON_DEPTH: usize = 16;
/// Bytes of a JSON Schema for a type of contents: many times the attributes that it describes.
pub const MAX_SCHEMA_BYTES: usize = 256 * 1_024;
/// Types of contents that have a schema.
pub const MAX_SCHEMAS: usize = 1_000;
/// Values that do not fit a schema and are told, of one content.
pub const MAX_VIOLATIONS: usize = 10;
/// Characters of what is told of each.
pub const MAX_VIOLATION_CHARS: usize = 300;
/// Characters of each name that is told.
pub const MAX_VIOLATION_NAME_CHARS: usize = 64;
/// Bytes of a product's id of a user or a content: the bound of `OpenID` Connect for `sub`.
pub const MAX_EXTERNAL_ID_BYTES: usize = 255;
/// Minutes that a token lasts which a service issues, by default and at most.
pub const DEFAULT_ISSUED_MINUTES: i32 = 60;
/// See [`DEFAULT_ISSUED_MINUTES`].
pub const MAX_ISSUED_MINUTES: i32 = 1_440;
/// Users that one mutation creates or brings up to date.
pub const MAX_UPSERTS: usize = 100;
/// Contents that one mutation publishes.
pub const MAX_BATCH: usize = 100;
/// Characters of a service's name.
pub const MAX_SERVICE_NAME_CHARS: usize = 40;
/// Keys of services that are listed, newest first.
pub const MAX_LISTED_KEYS: u64 = 1_000;
/// Lines of the services' log that one statement writes.
pub const MAX_LOGGED_AT_ONCE: usize = 200;
/// Characters of what a line of the services' log says was done.
pub const MAX_LOGGED_CHARS: usize = 200;
/// Sessions of one user; a new one ends the oldest.
pub const MAX_SESSIONS: u32 = 50;
/// Characters kept of a client's `User-Agent`.
pub const MAX_AGENT_CHARS: usize = 120;
/// Failed sign-ins to one account from one network before the first wait.
pub const FREE_ATTEMPTS: u32 = 5;
/// Failed sign-ins to one account from all networks before the first wait.
pub const FREE_ATTEMPTS_OF_ACCOUNT: u32 = 50;
/// Failed sign-ins from one network before the first wait. Offices share a network.
pub const FREE_ATTEMPTS_OF_NETWORK: u32 = 100;
/// Expired sessions and forgotten attempts that are deleted at a time.
pub const MAX_FORGOTTEN: u64 = 500;
/// Rows of a deleted account that one step removes.
pub const MAX_CLEARED: u64 = 100;
/// Characters of an idempotency key.
pub const MAX_IDEMPOTENCY_KEY_CHARS: usize = 64;
/// Authors that one user may follow: what one statement can pull for a returning reader.
pub const MAX_FOLLOWS: u64 = 10_000;
/// From this count on, changes are spread over [`COUNT_SHARDS`] rows. In one row, the many people who change the count
/// would wait for each other.
pub const SPREAD_FROM: i64 = 1_000;
/// Rows that the changes of spread counts are written to. Sixteen clients at once seldom meet on one of 32.
pub const COUNT_SHARDS: i64 = 32;
/// Contents, and users, whose deltas one step adds to their counts.
pub const MAX_GATHERED: u64 = 200;
/// Excluded authors of one timeline that a node remembers. For readers with more, it remembers no authors at all.
pub const MAX_REMEMBERED_EXCLUSIONS: usize = 10_000;
/// Reactions of one reader that a node remembers: what one statement reads without a noticeable delay. Of readers with
/// more it remembers none, and reads those of each page.
pub const MAX_REMEMBERED_REACTIONS: usize = 512;
/// Bytes that a node remembers of readers: some 80 000 who follow fifty each.
pub const MAX_REMEMBERED_READERS_BYTES: u64 = 64 * 1_024 * 1_024;
/// Bytes that a node remembers of contents and their authors: some 100 000 posts of a few lines, and 50 000 profiles.
pub const MAX_REMEMBERED_CARDS_BYTES: u64 = 80 * 1_024 * 1_024;
/// Bytes of the JSON that a node remembers of contents: some 100 000 contents in one selection.
pub const MAX_REMEMBERED_JSON_BYTES: u64 = 64 * 1_024 * 1_024;
/// Uncovered authors whom a page's statement names. Pages of readers with more are read by their definition.
pub const MAX_NAMED_AUTHORS: usize = 256;
/// Contents in flight that a page scans. With more, it looks them up by followed author.
pub const MAX_FEW_IN_FLIGHT: usize = 200;
/// Deleted accounts that a page's statement lists for the node. With more, pages are read by their definition, whose
/// statement checks each row.
pub const MAX_LEAVING_ACCOUNTS: usize = 32;
/// Milliseconds that anything may be put off. A lease that lies further in the future was set by a clock that was
/// wrong.
pub const MAX_WAIT_MS: i64 = 60 * 60 * 1_000;
/// Followers that one transaction delivers to. Other writes wait for it on SQLite.
pub const MAX_DELIVERED_AT_ONCE: u32 = 10_000;
/// Subtasks that are added to a delivery's chain in one transaction.
pub const MAX_SUBTASKS_PER_TX: usize = 100;
/// Entries that a subscription knows its client to hold, and that a resume token names: three screens, and a token of
/// 700 characters.
pub const VIEW_WINDOW: usize = 64;
/// Contents outside that window whose last change a subscription remembers.
pub const MAX_RECENT_CHANGES: usize = 64;
/// Smallest configurable size of a catch-up: it includes what a client holds already.
pub const MIN_CATCH_UP: u16 = 2 * 64;
/// Largest configurable size of a catch-up: one statement, one batch of hydration.
pub const MAX_CATCH_UP: u16 = 1_000;
/// Last-seen readers among whom a large delivery looks for those to serve first: ten for each one served, with the
/// default configuration.
pub const MAX_LAST_SEEN: u64 = 10_000;
/// Edges of a subtask that the delivery policy checks: what one list of ids holds. The others keep their mode.
pub const MAX_JUDGED_EDGES: usize = 16_384;
/// Shortest smoothed interval between a user's publishes or visits, in ms.
pub const MIN_INTERVAL_MS: i64 = 1_000;
/// Longest such interval, in ms: a year.
pub const MAX_INTERVAL_MS: i64 = 365 * 24 * 60 * 60 * 1_000;
/// Milliseconds within which several notes of a reader count as one visit. Readers whose pages are pulled are noted
/// more often than others. If the policy saw the difference, it would oscillate.
pub const VISIT_MS: i64 = 10 * 60 * 1_000;
/// Terms of one content: twice its characters, and some more for characters that expand.
pub const MAX_TERMS: usize = 14_000;
/// Characters of a search: more than a title, less than a content.
pub const MAX_SEARCH_CHARS: usize = 100;
/// Terms of a phrase that are looked up. Reading the candidates checks the rest.
pub const MAX_QUERY_TERMS: usize = 24;
/// Further terms that are checked for each content along the rarest one.
pub const MAX_PROBES: usize = 7;
/// Contents that one block of a search reads along its rarest term.
pub const SEARCH_BLOCK: usize = 500;
/// Contents whose text one block reads, after the first one has not filled the page.
pub const MAX_CANDIDATES: usize = MAX_PAGE as usize + 1;
/// Blocks that one page of a search reads.
pub const MAX_SEARCH_BLOCKS: usize = 4;
/// Bytes of texts that one page of a search compares: a few milliseconds.
pub const MAX_COMPARED_BYTES: usize = 96 * 1_024;
/// Terms that are indexed, or deleted, in one transaction: one statement, some ten milliseconds of a disk. A content
/// with more is indexed after its publish.
pub const MAX_INDEXED_TERMS: usize = 512;
/// Older contents, and users, that one transaction looks at while it indexes.
pub const MAX_INDEXED_CONTENTS: usize = 100;
/// Contents that wait to be indexed. Searches read all of them, so there must be few.
pub const MAX_UNINDEXED: usize = 64;
/// Contents of one author that wait to be indexed.
pub const MAX_UNINDEXED_OF_AUTHOR: usize = 8;
/// Waiting contents that a search reads. More than [`MAX_UNINDEXED`], which publishes at once may pass.
pub const MAX_UNINDEXED_READ: usize = 256;
/// Bytes of waiting contents that a node remembers as searches see them.
pub const MAX_REMEMBERED_TEXTS_BYTES: u64 = 16 * 1_024 * 1_024;
/// Words of a name that people are found by.
pub const MAX_NAME_WORDS: usize = 8;
/// Characters of a folded name that are stored and can be searched.
pub const MAX_NAME_PREFIX_CHARS: usize = 60;
/// Users that are suggested at a time.
pub const MAX_SUGGESTIONS: u16 = 50;
/// Newest follows of a user, and of each of those users, that suggestions are drawn from.
pub const SUGGESTING_FOLLOWS: usize = 32;
/// Groups of readers whose outside inboxes are given up and admitted together. Enough to spread over a cluster, few
/// enough to read all tokens at once. Every key outside SQL depends on the number.
pub const INBOX_BUCKETS: u16 = 128;
/// Bytes of the identity of a node of the outside store: Redis draws 160 bits.
pub const NODE_ID_BYTES: usize = 20;
