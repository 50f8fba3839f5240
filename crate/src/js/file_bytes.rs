//! What all readers of a `File` or `Blob` have in common.

use super::bytes::release;
use super::errors::{JsResult, may_be_too_large};
use js_sys::{ArrayBuffer, Error, Uint8Array};

/// If memory is short, large reads fail before small ones, so a failed read is repeated in smaller parts, down to this
/// size in bytes.
const LEAST: usize = 256 << 10;

/// Fills `buf` from offset `start` by `read`, in as few reads as the browser allows.
pub(super) async fn fill(
    mut start: u64,
    mut buf: &mut [u8],
    read: impl AsyncFn(u64, &mut [u8]) -> JsResult<()>,
) -> JsResult<()> {
    let mut most = buf.len();
    while !buf.is_empty() {
        let len = most.min(buf.len());
        match read(start, &mut buf[..len]).await {
            Ok(()) => {
                start += len as u64;
                buf = &mut buf[len..];
            }
            Err(thrown) if len > LEAST && may_be_too_large(&thrown) => most = (len / 2).max(LEAST),
            Err(thrown) => return Err(thrown),
        }
    }
    Ok(())
}

/// Moves the bytes of `buffer`, which has a range of a file, to `buf`. Fails if it has fewer.
pub(super) fn take(buffer: &ArrayBuffer, buf: &mut [u8]) -> JsResult<()> {
    let bytes = Uint8Array::new(buffer);
    if bytes.length() as usize != buf.len() {
        return Err(Error::new("the file is shorter than when it was chosen").into());
    }
    bytes.copy_to(buf);
    release(buffer);
    Ok(())
}
