//! The identifiers in an output: random, or derived from the option `uuid`.

use super::layout::Stamp;
use crate::disk::reference::guid_of;

/// Makes the identifiers of an output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identifiers {
    /// In the order of the text.
    first: [u8; 16],
}

impl Identifiers {
    /// Derives the identifiers from `uuid`, or else from the random bytes of `stamp`.
    pub(super) fn new(uuid: Option<[u8; 16]>, stamp: &Stamp) -> Self {
        Self { first: uuid.unwrap_or_else(|| random_uuid(stamp)) }
    }

    /// Identifier number `number`. Number 0 is the UUID itself. None of them is null, and no two are equal.
    pub(super) fn guid(&self, number: u8) -> [u8; 16] {
        let mut uuid = self.first;
        if number > 0 {
            uuid = with_version(uuid, 8);
            uuid[15] ^= number;
        }
        guid_of(&uuid)
    }
}

/// Makes a UUID from the random bytes of `stamp`, in the order of its text.
pub(super) fn random_uuid(stamp: &Stamp) -> [u8; 16] {
    with_version(stamp.random, 4)
}

/// Returns `bytes` as a UUID of this version (RFC 9562): 4 is random, and 8 is made as its maker likes.
fn with_version(mut bytes: [u8; 16], version: u8) -> [u8; 16] {
    bytes[6] = bytes[6] & 0x0f | version << 4;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}

/// Parses a UUID, with or without braces. `None` for other text, and for the null UUID.
pub(super) fn parsed(text: &str) -> Option<[u8; 16]> {
    let inner = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
    let parts: Vec<_> = inner.split('-').collect();
    if parts.iter().map(|part| part.len()).ne([8, 4, 4, 4, 12]) {
        return None;
    }
    let digits = parts.concat();
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let number = u128::from_str_radix(&digits, 16).ok()?;
    (number != 0).then(|| number.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::{Identifiers, parsed};
    use crate::disk::reference::guid_text;
    use crate::output::Stamp;

    #[test]
    fn texts_are_uuids_or_are_not() {
        let uuid = Some([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xaf]);
        let rows = [
            ("00010203-0405-0607-0809-0a0b0c0d0eaf", uuid),
            ("00010203-0405-0607-0809-0A0B0C0D0EAF", uuid),
            ("{00010203-0405-0607-0809-0a0b0c0d0eaf}", uuid),
            ("{00010203-0405-0607-0809-0a0b0c0d0eaf", None),
            ("000102030405060708090a0b0c0d0eaf", None),
            ("00010203-0405-0607-0809-0a0b0c0d0ea", None),
            ("00010203-0405-0607-0809-0a0b0c0d0eag", None),
            ("+0010203-0405-0607-0809-0a0b0c0d0eaf", None),
            ("00010203-0405-0607-0809-0a0b0c0d0eaf-", None),
            ("00000000-0000-0000-0000-000000000000", None),
            ("é010203-0405-0607-0809-0a0b0c0d0eaf", None),
            ("", None),
        ];
        for (text, uuid) in rows {
            assert_eq!(parsed(text), uuid, "{text}");
        }
    }

    #[test]
    fn identifiers_differ_and_are_not_null() {
        let mut last = [0; 16];
        last[15] = 1;
        for uuid in [None, Some(last), Some([0xff; 16])] {
            let identifiers = Identifiers::new(uuid, &Stamp::default());
            let texts: Vec<_> = (0..4).map(|number| guid_text(&identifiers.guid(number)).unwrap()).collect();
            assert!((1..4).all(|at| !texts[..at].contains(&texts[at])), "{texts:?}");
        }
        let identifiers = Identifiers::new(parsed("00010203-0405-0607-0809-0a0b0c0d0eaf"), &Stamp::default());
        let expected = ["00010203-0405-0607-0809-0a0b0c0d0eaf", "00010203-0405-8607-8809-0a0b0c0d0eae"];
        assert_eq!([0, 1].map(|number| guid_text(&identifiers.guid(number)).unwrap()), expected);
    }
}
