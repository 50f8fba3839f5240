//! Caps decoding before the disk's first byte: nested archives may expand hugely and hold nothing.

use crate::error::{Error, ErrorKind, Result};
use crate::io::stream::{ByteStream, Ended};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::cell::Cell;
use std::rc::Rc;

/// Maximum input, in bytes, of all decoders of a stream together before the disk's first byte.
const MOST_WITHOUT_DATA: u64 = 64 << 20;

/// Input budget left, shared by a stream's decoders.
#[derive(Clone)]
pub(crate) struct InputBudget(Rc<Cell<Option<u64>>>);

impl Default for InputBudget {
    fn default() -> Self {
        Self(Rc::new(Cell::new(Some(MOST_WITHOUT_DATA))))
    }
}

impl InputBudget {
    pub(crate) fn lift(&self) {
        self.0.set(None);
    }

    /// Takes `len` bytes from the budget. Returns false if it had fewer left.
    fn take(&self, len: usize) -> bool {
        let Some(left) = self.0.get() else { return true };
        let rest = left.checked_sub(len as u64);
        self.0.set(Some(rest.unwrap_or(0)));
        rest.is_some()
    }
}

/// The input of a container's decoder, limited by a budget.
pub(crate) struct Metered {
    stream: Box<dyn ByteStream>,
    budget: InputBudget,
    container: &'static str,
}

impl Metered {
    /// Limits `stream`, the content of a `container` file. A read beyond `budget` fails with `limit`.
    pub(crate) fn new(stream: Box<dyn ByteStream>, budget: InputBudget, container: &'static str) -> Self {
        Self { stream, budget, container }
    }

    async fn fill(&mut self, buf: &mut [u8]) -> Result<usize> {
        let found = self.stream.read(buf).await?;
        if !self.budget.take(found) {
            let message = format!(
                "The {} file has more than {} MiB before the first byte of a disk; unpack it first",
                self.container,
                MOST_WITHOUT_DATA >> 20
            );
            // It is of all decoders together, so no place is stated.
            return Err(Error::new(ErrorKind::Limit, message).within_stream(None));
        }
        Ok(found)
    }
}

impl ByteStream for Metered {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        self.fill(buf).boxed_local()
    }

    fn file_position(&self) -> u64 {
        self.stream.file_position()
    }

    fn ended(&self) -> Ended {
        self.stream.ended()
    }
}
