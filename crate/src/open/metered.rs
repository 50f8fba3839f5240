//! Caps decoding before the disk's first byte: nested archives may expand hugely and hold nothing.

use crate::error::{Error, ErrorKind};
use crate::io::stream::{ByteStream, inspected};
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

/// Limits `stream`, the input of a decoder of `container` files. A read beyond `budget` fails with `limit`.
pub(crate) fn metered(
    stream: Box<dyn ByteStream>,
    budget: InputBudget,
    container: &'static str,
) -> Box<dyn ByteStream> {
    inspected(stream, move |bytes, _| {
        if budget.take(bytes.len()) {
            return Ok(());
        }
        let message = format!(
            "The {container} file has more than {} MiB before the first byte of a disk; unpack it first",
            MOST_WITHOUT_DATA >> 20
        );
        // The input of all decoders is counted together, so no place is stated.
        Err(Error::new(ErrorKind::Limit, message).within_stream(None))
    })
}
