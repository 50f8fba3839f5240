//! The parts of a file in which changes have effects: most of some files is padding.

use std::ops::Range;

/// The bytes of `spans` of `file`, one after the other.
pub fn gathered(file: &[u8], spans: &[Range<usize>]) -> Vec<u8> {
    spans.iter().flat_map(|span| &file[span.clone()]).copied().collect()
}

/// Puts `bytes` back to the `spans` of `file`. Fewer bytes cut the file off there; more are left out.
pub fn scatter(file: &mut Vec<u8>, spans: &[Range<usize>], mut bytes: &[u8]) {
    file.truncate(end_of(bytes.len(), spans).unwrap_or(usize::MAX));
    for span in spans {
        let (part, rest) = bytes.split_at(bytes.len().min(span.len()));
        file[span.start..span.start + part.len()].copy_from_slice(part);
        bytes = rest;
        if bytes.is_empty() {
            break;
        }
    }
}

/// Where a file ends of whose `spans` only the first `len` bytes are there; `None` if that is all of them.
pub fn end_of(mut len: usize, spans: &[Range<usize>]) -> Option<usize> {
    for span in spans {
        if len < span.len() {
            return Some(span.start + len);
        }
        len -= span.len();
    }
    None
}
