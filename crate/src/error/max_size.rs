//! The check of sizes against [`MAX_SIZE`], which bounds every number that the API reports.

use super::{Error, ErrorKind, Result};
use crate::offsets::MAX_SIZE;

/// Returns `size` if it is at most [`MAX_SIZE`]. Otherwise, or if its calculation overflowed (`None`), fails with
/// `limit` and `message`.
pub(crate) fn checked_size(size: Option<u64>, message: impl FnOnce() -> String) -> Result<u64> {
    size.filter(|&size| size <= MAX_SIZE).ok_or_else(|| Error::new(ErrorKind::Limit, message()))
}

/// Returns `size`, the virtual size that a header states, if it is at most [`MAX_SIZE`]. Fails with `limit` otherwise.
pub(crate) fn checked_virtual_size(size: u64) -> Result<u64> {
    checked_size(Some(size), || format!("The virtual size of {size} bytes exceeds the limit of 2^53-1 bytes"))
}

/// Returns `size`, the size of `what` ("disk", for example), if it is at most [`MAX_SIZE`]. Otherwise, or if its
/// calculation overflowed (`None`), fails with `limit`.
pub(crate) fn checked_size_of(what: &str, size: Option<u64>) -> Result<u64> {
    checked_size(size, || format!("The {what} is larger than 2^53-1 bytes"))
}
