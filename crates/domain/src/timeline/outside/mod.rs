//! Inboxes outside SQL: what they claim, when they are trusted, and what each operation does.
//!
//! The outside store may lose anything. So an inbox has a header that says what its rows prove, and a page trusts it
//! only if the primary store names the same fence and the same basis (docs/protocol.md#outside).

pub mod belief;
pub mod contest;
pub mod fence;
pub mod header;
pub mod inbox;

pub use belief::{Belief, Expected, believe};
pub use contest::{Contest, Move};
pub use fence::{Basis, Bucket, BucketToken, Fence, Generation, NodeId, Nonce, Revision};
pub use header::{Opening, StoredHeader};
pub use inbox::{Claim, Cleared, Cover, Delivered, Header, OutsideInbox, Slice, Window, floor_of_newest};
