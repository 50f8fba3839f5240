//! Text encodings, and comparison of names regardless of case and Unicode form. Both need tables of all of Unicode:
//! from JavaScript in wasm, from crates elsewhere. Hence a separate crate, the only one of the core that depends on a
//! platform.

use platform::{normalized, strictly_decoded};

/// By JavaScript.
#[cfg(target_arch = "wasm32")]
mod platform {
    use js_sys::{JsString, Uint8Array};
    use wasm_bindgen::prelude::*;

    #[wasm_bindgen]
    extern "C" {
        type TextDecoder;
        #[wasm_bindgen(constructor, catch)]
        fn new(label: &str, options: &JsValue) -> Result<TextDecoder, JsValue>;
        #[wasm_bindgen(method, catch)]
        fn decode(this: &TextDecoder, bytes: &Uint8Array) -> Result<String, JsValue>;
    }

    /// See [`super::decoded`].
    pub fn strictly_decoded(label: &str, bytes: &[u8]) -> Option<String> {
        let options = js_sys::Object::new();
        for name in ["fatal", "ignoreBOM"] {
            // Setting a property of a new object cannot fail.
            let _ = js_sys::Reflect::set(&options, &name.into(), &JsValue::TRUE);
        }
        // Copied, since browsers refuse to decode shared memory, which the `threads` build uses.
        TextDecoder::new(label, &options).ok()?.decode(&Uint8Array::from(bytes)).ok()
    }

    /// See [`super::folded`].
    pub fn normalized(name: &str) -> String {
        JsString::from(name).normalize("NFC").to_lower_case().normalize("NFC").into()
    }
}

/// By crates.
#[cfg(not(target_arch = "wasm32"))]
mod platform {
    use encoding_rs::Encoding;
    use unicode_normalization::UnicodeNormalization;

    pub fn strictly_decoded(label: &str, bytes: &[u8]) -> Option<String> {
        let encoding = Encoding::for_label(label.as_bytes())?;
        encoding.decode_without_bom_handling_and_without_replacement(bytes).map(Into::into)
    }

    pub fn normalized(name: &str) -> String {
        name.nfc().collect::<String>().to_lowercase().nfc().collect()
    }
}

/// Code page names that the Encoding standard lacks, with its labels for them.
const CODE_PAGES: [(&str, &str); 8] = [
    ("cp932", "shift_jis"),
    ("cp936", "gbk"),
    ("cp949", "euc-kr"),
    ("cp950", "big5"),
    ("windows-932", "shift_jis"),
    ("windows-936", "gbk"),
    ("windows-950", "big5"),
    ("ms936", "gbk"),
];
const ESCAPE: u8 = 0x1b;

/// Decodes `bytes` from the encoding `label`: a label of the WHATWG Encoding standard, or a Windows code page. Returns
/// `None` if the encoding is unknown or the bytes are invalid in it. Plain ASCII is returned for any label.
pub fn decoded(label: &str, bytes: &[u8]) -> Option<String> {
    if bytes.is_ascii() && !bytes.contains(&ESCAPE) {
        return String::from_utf8(bytes.to_vec()).ok();
    }
    let label = label.trim().to_ascii_lowercase();
    let known = CODE_PAGES.iter().find(|(name, _)| *name == label);
    strictly_decoded(known.map_or(&label[..], |(_, label)| label), bytes)
}

/// The characters that stand for the bytes of a name that are not UTF-8: this code and the byte. They are for private use.
const RAW_BYTES: u32 = 0xef00;

/// Decodes the name of a file from UTF-8. Different bytes become different names: each byte that is not UTF-8 has a character of its own,
/// so the name of another file is never taken for it.
pub fn file_name(bytes: &[u8]) -> String {
    let is_own = |char: char| (RAW_BYTES + 0x80..=RAW_BYTES + 0xff).contains(&u32::from(char));
    let raw = |byte: u8| char::from_u32(RAW_BYTES + u32::from(byte)).unwrap_or_default();
    let mut name = String::new();
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            match is_own(char) {
                true => name.extend(char.encode_utf8(&mut [0; 4]).bytes().map(raw)),
                false => name.push(char),
            }
        }
        name.extend(chunk.invalid().iter().copied().map(raw));
    }
    name
}

/// Folds `name` for comparison: case and Unicode form (NFC, NFD) are removed.
pub fn folded(name: &str) -> String {
    if name.is_ascii() { name.to_ascii_lowercase() } else { normalized(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_by_their_labels() {
        // (label, bytes, text)
        let cases: &[(&str, &[u8], Option<&str>)] = &[
            ("UTF-8", "Größe 磁盘.bin".as_bytes(), Some("Größe 磁盘.bin")),
            ("UTF-8", b"Gr\xf6\xdfe", None),
            ("windows-1252", b"Gr\xf6\xdfe \x80", Some("Größe €")),
            ("GBK", b"\xb4\xc5\xc5\xcc.vmdk", Some("磁盘.vmdk")),
            ("gb18030", b"\xb4\xc5\xc5\xcc.vmdk", Some("磁盘.vmdk")),
            ("windows-936", b"\xb4\xc5\xc5\xcc.vmdk", Some("磁盘.vmdk")),
            ("Big5", b"\xba\xcf\xba\xd0", Some("磁碟")),
            ("Shift_JIS", b"\x83\x66\x83\x42\x83\x58\x83\x4e", Some("ディスク")),
            ("EUC-KR", b"\xb5\xf0\xbd\xba\xc5\xa9", Some("디스크")),
            ("windows-1251", b"\xe4\xe8\xf1\xea", Some("диск")),
            ("GBK", b"\xb4", None),
            ("no such thing", b"plain", Some("plain")),
            ("no such thing", b"\xe4", None),
        ];
        for (label, bytes, text) in cases {
            assert_eq!(decoded(label, bytes).as_deref(), *text, "{label}");
        }
    }

    #[test]
    fn names_of_files_stay_different() {
        let names: [&[u8]; 8] =
            [b"a", "\u{fffd}".as_bytes(), b"\xe4", b"\xf6", b"\xc4", "\u{efe4}".as_bytes(), b"\xee\xbf", b"\xe4\xf6"];
        for (at, one) in names.iter().enumerate() {
            for other in &names[..at] {
                assert_ne!(folded(&file_name(one)), folded(&file_name(other)), "{one:x?} {other:x?}");
            }
        }
        assert_eq!(file_name("Größe 磁盘.bin".as_bytes()), "Größe 磁盘.bin");
        assert_eq!(file_name(b"b\xe4se"), "b\u{efe4}se");
    }

    #[test]
    fn names_are_compared_without_form_and_case() {
        for (one, other) in [("Base.VMDK", "base.vmdk"), ("Gro\u{308}ße", "grÖße"), ("ДИСК", "диск"), ("e\u{301}", "É")]
        {
            assert_eq!(folded(one), folded(other));
        }
        assert_ne!(folded("base1"), folded("base2"));
    }
}
