//! The tests that measure memory, as one program: its allocator counts.

mod bombs;
mod budget;
mod common;
#[path = "common/counting.rs"]
mod counting;
mod limits;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The measurements are of the whole process: one test at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
