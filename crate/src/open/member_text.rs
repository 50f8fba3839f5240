//! The text of a file in a container: a manifest or an OVF descriptor.

use crate::container::Member;
use crate::error::Result;
use crate::io::source::zeroed;

/// Maximum size of a text, in bytes.
const LONGEST: u64 = 1 << 20;

/// Reads the text of `member`; `None` if it is longer than [`LONGEST`]. Fails with `source`, with `corrupt` if it does not
/// decompress, or with `internal` if memory runs out.
pub(super) async fn text_of(member: &Member) -> Result<Option<String>> {
    let size = member.source.size();
    if size > LONGEST {
        return Ok(None);
    }
    // Reading beyond the end verifies the checksum of a compressed member.
    let mut bytes = zeroed(size as usize + 1)?;
    let found = member.stream()?.read(&mut bytes).await?;
    // The size that a zip archive states may be modulo 2^32.
    Ok((found as u64 <= size).then(|| decoded(&bytes[..found])))
}

/// Decodes a text: UTF-16 if it begins with that byte order mark, else UTF-8. Invalid sequences are replaced.
fn decoded(bytes: &[u8]) -> String {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<_> = bytes.as_chunks().0.iter().map(|&bytes| unit(bytes)).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, text @ ..] => utf16(text, u16::from_le_bytes),
        [0xfe, 0xff, text @ ..] => utf16(text, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, text @ ..] => String::from_utf8_lossy(text).into_owned(),
        _ => String::from_utf8_lossy(bytes).into_owned(),
    }
}
