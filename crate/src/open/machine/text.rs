//! The text of a configuration, a descriptor or a manifest: its encoding is stated by a byte order mark, by the `.encoding` of VMware,
//! or by an XML declaration.

use crate::container::Member;
use crate::error::{ErrorKind, Result};
use crate::io::source::{Source, read_start, zeroed};
use decant_text as encodings;

/// Maximum size of a text, in bytes.
const LONGEST: u64 = 1 << 20;
/// How far into a text its encoding is looked for, in bytes.
const STATED_WITHIN: usize = 4096;
/// The encoding of a text that states none and is not UTF-8: the most common one of Windows, in which any bytes are a text.
const USUAL: &str = "windows-1252";

/// Reads the text of `member`; `None` if it is longer than [`LONGEST`] or does not decompress. Fails with `source`, or with `internal`
/// if memory runs out.
pub(in crate::open) async fn readable_text_of(member: &Member) -> Result<Option<String>> {
    match text_of(member).await {
        Err(error) if error.kind == ErrorKind::Corrupt => Ok(None),
        text => text,
    }
}

/// Reads the text of `member`; `None` if it is longer than [`LONGEST`]. Fails with `source`, with `corrupt` if it does not
/// decompress, or with `internal` if memory runs out.
pub(in crate::open) async fn text_of(member: &Member) -> Result<Option<String>> {
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

/// Reads the text of the file `source`; `None` if it is longer than [`LONGEST`]. Fails with `source`.
pub(super) async fn text_in(source: &dyn Source) -> Result<Option<String>> {
    if source.size() > LONGEST {
        return Ok(None);
    }
    Ok(Some(decoded(&read_start(source, LONGEST).await?)))
}

/// Decodes a text. Without a valid statement of its encoding, it is UTF-8, or else [`USUAL`].
pub(in crate::open) fn decoded(bytes: &[u8]) -> String {
    let utf16 = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units: Vec<_> = bytes.as_chunks().0.iter().map(|&bytes| unit(bytes)).collect();
        String::from_utf16_lossy(&units)
    };
    match bytes {
        [0xff, 0xfe, text @ ..] => return utf16(text, u16::from_le_bytes),
        [0xfe, 0xff, text @ ..] => return utf16(text, u16::from_be_bytes),
        // XML without a mark.
        [b'<', 0, 1..=0x7f, 0, ..] => return utf16(bytes, u16::from_le_bytes),
        [0, b'<', 0, 1..=0x7f, ..] => return utf16(bytes, u16::from_be_bytes),
        _ => {}
    }
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let stated = encoding(&bytes[..bytes.len().min(STATED_WITHIN)]);
    let by = |label: &str| encodings::decoded(label, bytes);
    let text = stated.and_then(|label| by(&label)).or_else(|| by("utf-8")).or_else(|| by(USUAL));
    text.unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned())
}

/// Returns the encoding that `start`, the start of a text, states.
fn encoding(start: &[u8]) -> Option<String> {
    let start = String::from_utf8_lossy(start);
    let start = start.trim_start();
    let stated = if let Some(declaration) = start.strip_prefix("<?xml") {
        declaration.split_once("?>")?.0.split_once("encoding")?.1.trim_start().strip_prefix('=')?
    } else {
        let of_line = |line: &str| {
            let (key, value) = line.split_once('=')?;
            key.trim().eq_ignore_ascii_case(".encoding").then(|| value.to_owned())
        };
        &start.lines().find_map(of_line)?
    };
    let label = stated.trim_start().trim_start_matches(['"', '\'']);
    let end = label.find(['"', '\'', '#']).unwrap_or(label.len());
    Some(label[..end].trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_in_their_encodings() {
        let utf16 = |text: &str, order: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(order).collect::<Vec<_>>();
        let vmx = |label: &str, name: &[u8]| [format!(".encoding = \"{label}\"\nname = ").as_bytes(), name].concat();
        let xml = |label: &str, name: &[u8]| [format!("<?xml encoding='{label}'?>").as_bytes(), name].concat();
        // (what, bytes, the end of the text)
        let rows: &[(&str, Vec<u8>, &str)] = &[
            ("UTF-8", vmx("UTF-8", "虚拟机".as_bytes()), "虚拟机"),
            ("GBK", vmx("GBK", b"\xd0\xe9\xc4\xe2\xbb\xfa"), "虚拟机"),
            ("GB18030", vmx("gb18030", b"\xd0\xe9\xc4\xe2\xbb\xfa"), "虚拟机"),
            ("Big5", vmx("Big5", b"\xb5\xea\xc0\xc0\xbe\xf7"), "虛擬機"),
            ("Shift_JIS", vmx("Shift_JIS", b"\x89\xbc\x91z\x83}\x83V\x83\x93"), "仮想マシン"),
            ("a code page", vmx("windows-949", b"\xb0\xa1\xbb\xf3\xb8\xd3\xbd\xc5"), "가상머신"),
            ("another name of a code page", vmx("cp949", b"\xb0\xa1\xbb\xf3\xb8\xd3\xbd\xc5"), "가상머신"),
            ("Cyrillic", vmx("windows-1251", b"\xcc\xe0\xf8\xe8\xed\xe0"), "Машина"),
            ("Western", vmx("windows-1252", b"Gr\xf6\xdfe"), "Größe"),
            ("none stated", b"name = Gr\xf6\xdfe".to_vec(), "Größe"),
            ("none stated, UTF-8", "name = Größe".into(), "Größe"),
            ("an unknown one", vmx("martian", "Größe".as_bytes()), "Größe"),
            ("a wrong one", vmx("UTF-8", b"Gr\xf6\xdfe"), "Größe"),
            ("after a comment", [b"#!/usr/bin/vmware\n", &vmx("windows-1251", b"\xcc\xe0")[..]].concat(), "Ма"),
            ("XML", xml("ISO-8859-1", b"Gr\xf6\xdfe"), "Größe"),
            ("XML in UTF-8", xml("UTF-8", "Größe".as_bytes()), "Größe"),
            ("a mark", "\u{feff}Größe".into(), "Größe"),
            ("UTF-16 with a mark", utf16("\u{feff}<Größe", u16::to_le_bytes), "<Größe"),
            ("UTF-16BE with a mark", utf16("\u{feff}<Größe", u16::to_be_bytes), "<Größe"),
            ("UTF-16 without a mark", utf16("<xGröße", u16::to_le_bytes), "<xGröße"),
            ("UTF-16BE without a mark", utf16("<xGröße", u16::to_be_bytes), "<xGröße"),
            ("an odd number of bytes", [&utf16("\u{feff}<a", u16::to_le_bytes)[..], b"x"].concat(), "<a"),
            ("nothing", Vec::new(), ""),
        ];
        for (what, bytes, expected) in rows {
            let found = decoded(bytes);
            assert!(found.ends_with(expected) && !found.starts_with('\u{feff}'), "{what}: {found:?}");
        }
    }
}
