//! Bounds what is decoded of a stream before it is known what it holds: containers may expand a thousandfold, one in
//! another, to nothing.

use crate::error::{Error, ErrorKind, Result};
use crate::io::stream::{ByteStream, Ended};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::cell::Cell;
use std::rc::Rc;

/// Upper bound, in bytes, on what the decoders of a stream read together before the first bytes of the disk are there.
const MOST_WITHOUT_DATA: u64 = 64 << 20;

/// How many bytes the decoders of a stream may still read together before the first bytes of what they decode are there.
#[derive(Clone)]
pub struct Budget(Rc<Cell<Option<u64>>>);

impl Budget {
    /// The whole budget.
    pub fn new() -> Self {
        Self(Rc::new(Cell::new(Some(MOST_WITHOUT_DATA))))
    }

    /// From now on, nothing is counted.
    pub fn lift(&self) {
        self.0.set(None);
    }

    /// Takes `len` bytes from what is left; whether there were so many.
    fn take(&self, len: usize) -> bool {
        let Some(left) = self.0.get() else { return true };
        let rest = left.checked_sub(len as u64);
        self.0.set(Some(rest.unwrap_or(0)));
        rest.is_some()
    }
}

/// What the decoder of a container reads, within a budget.
pub struct Metered {
    stream: Box<dyn ByteStream>,
    budget: Budget,
    /// The name of the container.
    container: &'static str,
}

impl Metered {
    /// The bytes of `stream`, a file of `container`. A read beyond `budget` fails with `limit`.
    pub fn new(stream: Box<dyn ByteStream>, budget: Budget, container: &'static str) -> Self {
        Self { stream, budget, container }
    }

    async fn fill(&mut self, buf: &mut [u8]) -> Result<usize> {
        let found = self.stream.read(buf).await?;
        if !self.budget.take(found) {
            let message = format!(
                "The {} file begins with more than {} MiB without a byte of a disk; unpack it first",
                self.container,
                MOST_WITHOUT_DATA >> 20
            );
            return Err(Error::new(ErrorKind::Limit, message));
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
