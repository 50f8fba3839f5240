//! Turns of jobs, whose data is written or hashed in guest order.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Poll, Waker};

/// Lets jobs take turns, in guest order.
#[derive(Default)]
pub(super) struct Turns {
    next: Cell<u64>,
    /// By the number of the job: at most one for each job in flight.
    waiting: RefCell<Vec<(u64, Waker)>>,
}

impl Turns {
    /// Waits for the turn of job number `index`.
    pub(super) async fn wait(&self, index: u64) {
        poll_fn(|context| {
            if self.next.get() == index {
                return Poll::Ready(());
            }
            let mut waiting = self.waiting.borrow_mut();
            waiting.retain(|(job, _)| *job != index);
            waiting.push((index, context.waker().clone()));
            Poll::Pending
        })
        .await;
    }

    /// Begins again with job number 0.
    pub(super) fn begin_again(&self) {
        self.next.set(0);
    }

    /// Ends the turn of job number `index`.
    pub(super) fn pass(&self, index: u64) {
        self.next.set(index + 1);
        let mut waiting = self.waiting.borrow_mut();
        if let Some(at) = waiting.iter().position(|(job, _)| *job == index + 1) {
            waiting.swap_remove(at).1.wake();
        }
    }
}
