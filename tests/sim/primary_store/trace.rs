//! Changes in words, for traces.

use super::tables::Change;

/// One line.
pub fn of(change: &Change) -> String {
    match change {
        Change::Content(id, Some(it), None) => format!("content {id} of {} at {}", it.author, it.publish_time),
        Change::Content(id, ..) => format!("content {id} removed"),
        Change::Edge((follower, author), Some(edge), _) => {
            format!("edge {follower}->{author} {:?} {}", edge.mode, edge.incarnation % 1000)
        }
        Change::Edge((follower, author), None, _) => format!("edge {follower}->{author} gone"),
        Change::Inbox((user, at), Some(_), _) => format!("inbox of {user} + {}", at.content_number()),
        Change::Inbox((user, at), None, _) => format!("inbox of {user} - {}", at.content_number()),
        Change::State(user, Some(state), _) => format!("floor of {user}: {:?}, rev {}", state.floor, state.rev),
        Change::Delivery(id, Some(_), None) => format!("delivery of {id}"),
        Change::Delivery(id, None, _) => format!("delivery of {id} done"),
        Change::Subtask((id, after), Some(task), _) => {
            format!("subtask {id} ({after}, {}] through {}", task.last_fan, task.pushed_through)
        }
        Change::Relation(pair, after, _) => {
            format!("relation {pair:?} {}", if after.is_some() { "open" } else { "done" })
        }
        Change::Head(author, version, _) => format!("version of {author}: {version:?}"),
        other => format!("{:?}", other.row()),
    }
}
