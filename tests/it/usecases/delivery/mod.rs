//! Tests the delivery pipeline: subtasks, crashes, lost and repeated messages, failures that stay visible.

mod connections;
mod costs;
mod crashes;
mod faulty;
mod first;
mod messages;
mod policies;
mod subtasks;
mod world;

pub use self::world::{followed_author, publish, user};
