//! Counts how far the inputs of a target get.

use super::examine::Seen;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts are printed to standard error at every power of two, and after each of this many inputs.
const OFTEN: u64 = 250_000;

pub struct Tally {
    tried: AtomicU64,
    opened: AtomicU64,
    read: AtomicU64,
    converted: AtomicU64,
    compared: AtomicU64,
}

impl Tally {
    pub const fn new() -> Self {
        let [tried, opened, read, converted, compared] = [const { AtomicU64::new(0) }; 5];
        Self { tried, opened, read, converted, compared }
    }

    /// Counts one input, and prints all counts from time to time.
    pub fn count(&self, seen: Seen) {
        let add = |counter: &AtomicU64, counted: bool| {
            let counted = u64::from(counted);
            counter.fetch_add(counted, Relaxed) + counted
        };
        let tried = add(&self.tried, true);
        let opened = add(&self.opened, seen.opened);
        let read = add(&self.read, seen.read);
        let converted = add(&self.converted, seen.converted);
        let compared = add(&self.compared, seen.compared);
        if tried.is_power_of_two() || tried.is_multiple_of(OFTEN) {
            eprintln!("tried {tried}: opened {opened}, read data {read}, converted {converted}, compared {compared}");
        }
    }
}
