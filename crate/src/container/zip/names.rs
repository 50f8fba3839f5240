//! Names of files, in their encodings (appendix D).

use super::extra_fields::field;
use crate::compress::crc::crc32;
use crate::container::kept_name;
use crate::offsets::le32;
use std::borrow::Cow;

/// The extra field of the name in UTF-8 (section 4.6.9), and its version.
const UNICODE_PATH: u16 = 0x7075;
const VERSION: u8 = 1;

/// The characters of bytes from 0x80 in code page 437.
const CODE_PAGE_437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// Decodes `name`, whose entry has the extra fields `extra`. `is_utf_8` states the encoding; otherwise it is that of the
/// extra field, else UTF-8 if it is valid, else code page 437. Invalid sequences are replaced.
pub(super) fn decoded(name: &[u8], is_utf_8: bool, extra: &[u8]) -> String {
    let unicode = field(extra, UNICODE_PATH).filter(|_| !is_utf_8).and_then(|path| unicode_path(path, name));
    let bytes = unicode.unwrap_or(name);
    let text = String::from_utf8_lossy(bytes);
    if is_utf_8 || matches!(text, Cow::Borrowed(_)) {
        return kept_name(&text);
    }
    kept_name(&bytes.iter().map(|&byte| character(byte)).collect::<String>())
}

/// The name in the extra field `path`, if it is valid and belongs to `name`.
fn unicode_path<'a>(path: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (head, path) = path.split_at_checked(5)?;
    let is_of_name = head[0] == VERSION && le32(head, 1) == crc32(name);
    (is_of_name && str::from_utf8(path).is_ok()).then_some(path)
}

fn character(byte: u8) -> char {
    let high = byte.checked_sub(0x80).and_then(|high| CODE_PAGE_437.chars().nth(high.into()));
    high.unwrap_or(byte.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_decoded() {
        let unicode = |version: u8, of: &[u8], name: &[u8]| {
            let data = [&[version][..], &crc32(of).to_le_bytes(), name].concat();
            [&[9, 0, 1, 0, 7][..], &UNICODE_PATH.to_le_bytes(), &(data.len() as u16).to_le_bytes(), &data].concat()
        };
        // (name, whether it is stated to be UTF-8, extra fields, expected)
        let rows: &[(&[u8], bool, Vec<u8>, &str)] = &[
            (b"a/b", false, vec![], "a/b"),
            ("é".as_bytes(), true, vec![], "é"),
            ("é".as_bytes(), false, vec![], "é"),
            (b"\x80\xe1\xff\x7f", false, vec![], "Çß\u{a0}\x7f"),
            (b"\x82.vmdk", true, vec![], "\u{fffd}.vmdk"),
            (b"\x82", false, unicode(1, b"\x82", "ü".as_bytes()), "ü"),
            (b"a", false, unicode(1, b"a", "ü".as_bytes()), "ü"),
            (b"a", true, unicode(1, b"a", "ü".as_bytes()), "a"),
            (b"\x82", false, unicode(2, b"\x82", b"a"), "é"),
            (b"\x82", false, unicode(1, b"\x81", b"a"), "é"),
            (b"\x82", false, unicode(1, b"\x82", b"\x82"), "é"),
            (b"a", false, unicode(1, b"a", b"x")[..8].to_vec(), "a"),
            (b"", false, vec![], ""),
        ];
        for (name, is_utf_8, extra, expected) in rows {
            assert_eq!(decoded(name, *is_utf_8, extra), *expected, "{name:x?} {extra:x?}");
        }
        assert_eq!(CODE_PAGE_437.chars().count(), 128);
        assert_eq!(decoded(&[b'a'; 2000], false, &[]).len(), 1000);
    }
}
