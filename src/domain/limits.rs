//! Every bound of the engine in one place, each with its reason.

/// Entries of a page at most: what a screen shows several times over, and what hydration can fetch in one batch.
pub const MAX_PAGE: u16 = 100;
/// Entries that one page is made of at most, those included that fold into a newer one of the same subject.
pub const MAX_RAW_PAGE: u16 = 400;
/// Contents upward from a reply that its ancestors name at most.
pub const MAX_ANCESTORS: usize = 50;
/// Entries of a page if the client does not say.
pub const DEFAULT_PAGE: u16 = 20;
/// New entries that are counted at most: beyond it a number tells a reader nothing.
pub const MAX_COUNT: u16 = 999;
/// Entries that one count looks at, before they are folded: one more than [`MAX_COUNT`] tells whether there are more.
pub const MAX_RAW_COUNT: u16 = MAX_COUNT + 1;
/// New entries that are counted if the client does not say: what fits a badge.
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
/// Bytes of a password at most: hashing more only costs.
pub const MAX_PASSWORD_BYTES: usize = 1_024;
/// Open attributes of a profile.
pub const MAX_ATTRIBUTES: usize = 16;
/// Characters of an attribute's key.
pub const MAX_ATTRIBUTE_KEY_CHARS: usize = 32;
/// Characters of an attribute's value: all of a profile's stay below 64 kB.
pub const MAX_ATTRIBUTE_VALUE_CHARS: usize = 200;
/// Refusals that a mutation tells at once: the first that it finds.
pub const MAX_USER_ERRORS: usize = 1;
/// Refusals that a registration tells at once: one for each field.
pub const MAX_REGISTRATION_ERRORS: usize = 5;
/// Copies of one account that a node writes at once.
pub const MAX_EXPORTS_OF_USER: usize = 1;
/// Copies of accounts that a node writes at once: each holds a page of contents and a page of text, a few MB at most.
pub const MAX_EXPORTS: usize = 8;
/// Sessions of one user; a new one ends the oldest.
pub const MAX_SESSIONS: u32 = 50;
/// Characters kept of a client's name for itself.
pub const MAX_AGENT_CHARS: usize = 120;
/// Failed sign-ins of one account from one network before a wait begins.
pub const FREE_ATTEMPTS: u32 = 5;
/// Failed sign-ins of one account from everywhere before a wait begins.
pub const FREE_ATTEMPTS_OF_ACCOUNT: u32 = 50;
/// Failed sign-ins from one network before a wait begins: offices share one.
pub const FREE_ATTEMPTS_OF_NETWORK: u32 = 100;
/// Expired sessions and forgotten attempts that are deleted at a time.
pub const MAX_FORGOTTEN: u64 = 500;
/// Contents, edges, reactions or exclusions of a deleted account that are cleared away in one step.
pub const MAX_CLEARED: u64 = 100;
/// Characters of an idempotency key.
pub const MAX_IDEMPOTENCY_KEY_CHARS: usize = 64;
/// Authors that one user may follow: what a single statement can pull for a reader who comes back.
pub const MAX_FOLLOWS: u64 = 10_000;
/// Authors that exclusions leave out of a timeline, whom a node remembers; a reader with more is read for without.
pub const MAX_REMEMBERED_EXCLUSIONS: usize = 10_000;
/// Bytes of the authors of timelines that a node remembers: some 100 000 readers who follow fifty each.
pub const MAX_REMEMBERED_AUTHORS_BYTES: u64 = 64 * 1_024 * 1_024;
/// Bytes of the contents that a node remembers: some 100 000 posts of a few lines.
pub const MAX_REMEMBERED_CONTENTS_BYTES: u64 = 64 * 1_024 * 1_024;
/// Bytes of the profiles that a node remembers: some 50 000.
pub const MAX_REMEMBERED_PROFILES_BYTES: u64 = 16 * 1_024 * 1_024;
/// Contents in flight that a page looks through one by one; with more of them it seeks by followed author.
pub const MAX_FEW_IN_FLIGHT: usize = 200;
/// Accounts that are being deleted, of which a page's statement tells the node. With more of them the page is read by
/// the statement that asks about each row.
pub const MAX_LEAVING_ACCOUNTS: usize = 32;
/// Milliseconds for which nothing is ever put off: a lease or a look that lies further ahead was set by a clock that
/// has been set back since.
pub const MAX_WAIT_MS: i64 = 60 * 60 * 1_000;
/// Subtasks that are added to a delivery's chain in one transaction.
pub const MAX_SUBTASKS_PER_TX: usize = 100;
/// Entries of which a subscription remembers that its client holds them, and that a resume token names: three screens,
/// and a token of 700 characters.
pub const VIEW_WINDOW: usize = 64;
/// Contents outside that window of which a subscription remembers what it told last.
pub const RECENTLY_TOLD: usize = 64;
/// Entries that a catch-up may be configured to read at least: what a client holds already is among them.
pub const MIN_CATCH_UP: u16 = 2 * 64;
/// Entries that a catch-up may be configured to read at most: one statement, one batch of hydration.
pub const MAX_CATCH_UP: u16 = 1_000;
/// Readers seen last among whom a delivery looks for those to serve first, if its author has as many followers: ten for
/// each who is served first, as they come configured.
pub const MAX_LAST_SEEN: u64 = 10_000;
/// Edges of a subtask that the delivery policy looks at, at most: what one list of ids holds. The rest stay as they
/// are.
pub const MAX_JUDGED_EDGES: usize = 16_384;
/// Milliseconds of a smoothed interval at least: what happens more often counts as this often.
pub const MIN_INTERVAL_MS: i64 = 1_000;
/// Milliseconds of a smoothed interval at most: a year.
pub const MAX_INTERVAL_MS: i64 = 365 * 24 * 60 * 60 * 1_000;
/// Milliseconds within which notes of a reader are one visit. A reader whose pages are pulled is noted more often than
/// one whose are not; the policy must not see the difference, or it would go back and forth.
pub const VISIT_MS: i64 = 10 * 60 * 1_000;
/// Terms of one content: twice its characters, and what characters that stand for several bring along.
pub const MAX_TERMS: usize = 14_000;
/// Characters that one can look for: more than a title, less than a content.
pub const MAX_SEARCH_CHARS: usize = 100;
/// Terms of a phrase that are looked up; the rest is found out by reading.
pub const MAX_QUERY_TERMS: usize = 24;
/// Terms that are looked up for each content along the rarest one.
pub const MAX_PROBES: usize = 7;
/// Contents that one look of a search reads along its rarest term.
pub const SEARCH_BLOCK: usize = 500;
/// Contents that a look reads the text of, once the first one has not filled the page.
pub const MAX_CANDIDATES: usize = MAX_PAGE as usize + 1;
/// Looks that one page of a search takes at most.
pub const MAX_LOOKS: usize = 8;
/// Contents that are indexed in one transaction.
pub const MAX_INDEXED_CONTENTS: usize = 100;
/// Terms that are indexed in one transaction, unless its first content has more.
pub const MAX_INDEXED_TERMS: usize = 4_000;
/// Words of a name from which on its user is found.
pub const MAX_NAME_WORDS: usize = 8;
/// Characters of a folded name that are kept, and that one can look for.
pub const MAX_NAME_PREFIX_CHARS: usize = 60;
/// Users that are suggested at a time.
pub const MAX_SUGGESTIONS: u16 = 50;
/// The newest follows of a user, and the newest follows of each of those, that suggestions are taken from.
pub const SUGGESTING_FOLLOWS: usize = 32;
/// Groups of readers whose outside inboxes are given up and admitted together: enough to spread over the nodes of a
/// cluster, few enough that all of their tokens are read at once. Every key outside SQL depends on it.
pub const INBOX_BUCKETS: u16 = 128;
/// Bytes of the identity of a node of the outside store: Redis draws 160 bits.
pub const NODE_ID_BYTES: usize = 20;
