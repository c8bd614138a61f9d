//! Limits the exports that a node writes at once, for each account and in total.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use super::error::ExportError;
use crate::domain::{
    UserId,
    limits::{MAX_EXPORTS, MAX_EXPORTS_OF_USER},
};

/// Copies under way, by user.
#[derive(Debug, Clone, Default)]
pub struct Slots(Arc<Mutex<HashMap<UserId, usize>>>);

impl Slots {
    /// Takes a slot for one more export of this user.
    pub fn take(&self, user: UserId) -> Result<Slot, ExportError> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, own) = (taken.values().sum::<usize>(), taken.get(&user).copied().unwrap_or(0));
        if own >= MAX_EXPORTS_OF_USER {
            return Err(ExportError::ViewerBusy);
        }
        if all >= MAX_EXPORTS {
            return Err(ExportError::NodeBusy);
        }
        taken.insert(user, own + 1);
        Ok(Slot { slots: self.clone(), user })
    }
}

/// A slot, taken until this is dropped.
#[derive(Debug)]
pub struct Slot {
    slots: Slots,
    user: UserId,
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut taken = self.slots.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = taken.get_mut(&self.user) {
            *own -= 1;
            if *own == 0 {
                taken.remove(&self.user);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
    use super::*;

    fn user(id: i64) -> UserId {
        UserId::try_new(id).unwrap()
    }

    #[test]
    fn exports_are_bounded_per_user_and_per_node() {
        let slots = Slots::default();
        let nodes = i64::try_from(MAX_EXPORTS).unwrap();
        let mut held: Vec<Slot> = (1..=nodes).map(|id| slots.take(user(id)).unwrap()).collect();
        assert!(matches!(slots.take(user(1)), Err(ExportError::ViewerBusy)));
        assert!(matches!(slots.take(user(nodes + 1)), Err(ExportError::NodeBusy)));
        held.remove(0);
        assert!(slots.take(user(nodes + 1)).is_ok(), "a place that is free again");
    }
}
