//! Counts and bounds the slots of each holder, for connections, sockets and streams.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

/// The used slots by holder. Holders without slots are forgotten.
#[derive(Debug)]
pub(super) struct Slots<K> {
    most: usize,
    held: Arc<Mutex<HashMap<K, usize>>>,
}

impl<K: Copy + Eq + Hash> Slots<K> {
    /// `most`: slots of one holder; 0 for no limit.
    pub(super) fn new(most: usize) -> Self {
        Self { most: if most == 0 { usize::MAX } else { most }, held: Arc::default() }
    }

    /// Takes a slot for `holder`; `None` if they already have the maximum.
    pub(super) fn take(&self, holder: K) -> Option<Slot<K>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let count = held.entry(holder).or_insert(0);
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Slot { holder, held: Arc::clone(&self.held) })
    }
}

/// A slot, held until it is dropped.
#[derive(Debug)]
pub(super) struct Slot<K: Copy + Eq + Hash> {
    holder: K,
    held: Arc<Mutex<HashMap<K, usize>>>,
}

impl<K: Copy + Eq + Hash> Drop for Slot<K> {
    fn drop(&mut self) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(&self.holder) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.holder);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_holder_has_a_bounded_number_of_slots() {
        let slots = Slots::new(2);
        let held = [slots.take("ann"), slots.take("ann"), slots.take("bob")];
        assert!(held.iter().all(Option::is_some) && slots.take("ann").is_none());
        drop(held);
        assert!(slots.take("ann").is_some());
        assert!(slots.held.lock().is_ok_and(|held| held.is_empty()), "nobody is remembered");
    }

    #[test]
    fn without_a_bound_there_is_always_a_place() {
        let slots = Slots::new(0);
        let held: Vec<_> = (0..100).map(|_| slots.take(1)).collect();
        assert!(held.iter().all(Option::is_some));
    }
}
