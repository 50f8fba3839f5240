//! Limits the total number of bytes read from a group of sources.

use super::source::Source;
use super::source::Wrapper;
use crate::error::{Error, ErrorKind, Result};
use crate::offsets::HostOffset;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::cell::Cell;
use std::rc::Rc;

/// The number of bytes that may still be read. Clones share it.
#[derive(Clone)]
pub(crate) struct ReadBudget(Rc<BudgetState>);

struct BudgetState {
    left: Cell<u64>,
    is_spent: Cell<bool>,
}

impl ReadBudget {
    pub(crate) fn new(bytes: u64) -> Self {
        Self(Rc::new(BudgetState { left: Cell::new(bytes), is_spent: Cell::new(false) }))
    }

    /// Creates a budget that no file exceeds.
    pub(crate) fn unlimited() -> Self {
        Self::new(u64::MAX)
    }

    pub(crate) fn left(&self) -> u64 {
        self.0.left.get()
    }

    /// Whether a read was refused because it exceeded the budget.
    pub(crate) fn is_spent(&self) -> bool {
        self.0.is_spent.get()
    }

    /// Wraps `source` so that its reads count against this budget. A read that exceeds it fails with `limit`.
    pub(crate) fn source(&self, source: Rc<dyn Source>) -> Rc<dyn Source> {
        Rc::new(Limited { source, budget: self.clone() })
    }

    fn take(&self, bytes: u64) -> Result<()> {
        match self.left().checked_sub(bytes) {
            Some(left) => {
                self.0.left.set(left);
                Ok(())
            }
            None => {
                self.0.left.set(0);
                self.0.is_spent.set(true);
                Err(Error::new(ErrorKind::Limit, "More would be read than is allowed"))
            }
        }
    }
}

struct Limited {
    source: Rc<dyn Source>,
    budget: ReadBudget,
}

impl Wrapper for Limited {
    fn source(&self) -> &Rc<dyn Source> {
        &self.source
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        match self.budget.take(buf.len() as u64) {
            Ok(()) => self.source.read_at(offset, buf),
            Err(error) => ready(Err(error)).boxed_local(),
        }
    }
}
