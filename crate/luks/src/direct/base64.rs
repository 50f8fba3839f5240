//! Base64 (RFC 4648), for salts and digests.

/// Decodes `text`. Returns `None` if it is invalid.
pub(super) fn decoded(text: &str) -> Option<Vec<u8>> {
    let signs = text.trim_end_matches('=').as_bytes();
    if !text.len().is_multiple_of(4) || text.len() - signs.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(signs.len());
    for four in signs.chunks(4) {
        let mut bits = 0;
        for (place, &sign) in four.iter().enumerate() {
            bits |= value(sign)? << (18 - 6 * place);
        }
        bytes.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    Some(bytes)
}

fn value(sign: u8) -> Option<u32> {
    let value = match sign {
        b'A'..=b'Z' => sign - b'A',
        b'a'..=b'z' => sign - b'a' + 26,
        b'0'..=b'9' => sign - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn texts_of_every_length() {
        let rows: &[(&str, Option<&[u8]>)] = &[
            ("", Some(b"")),
            ("Zg==", Some(b"f")),
            ("Zm8=", Some(b"fo")),
            ("Zm9v", Some(b"foo")),
            ("Zm9vYg==", Some(b"foob")),
            ("+/+/", Some(&[0xfb, 0xff, 0xbf])),
            ("Zg", None),
            ("Z===", None),
            ("====", None),
            ("Zm=v", None),
            ("Zm9\n", None),
        ];
        for (text, bytes) in rows {
            assert_eq!(decoded(text).as_deref(), *bytes, "{text}");
        }
    }
}
