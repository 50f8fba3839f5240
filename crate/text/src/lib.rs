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

/// The characters of bytes from 0x80 in code page 437.
const CODE_PAGE_437: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

/// Decodes `bytes` from code page 437.
pub fn code_page_437(bytes: &[u8]) -> String {
    let high = |byte: u8| byte.checked_sub(0x80).and_then(|high| CODE_PAGE_437.chars().nth(high.into()));
    bytes.iter().map(|&byte| high(byte).unwrap_or(byte.into())).collect()
}

/// Folds `name` for comparison: case and Unicode form (NFC, NFD) are removed.
pub fn folded(name: &str) -> String {
    if name.is_ascii() { name.to_ascii_lowercase() } else { normalized(name) }
}

/// The encodings of systems that do not write names in UTF-8, of which the bytes of a name do not tell which one it is.
const OF_NAMES: [&str; 9] =
    ["gb18030", "big5", "shift_jis", "euc-kr", "windows-1251", "ibm866", "windows-1250", "windows-1252", "koi8-r"];

/// Returns the other names, folded, that `name` has if [`file_name`] or [`code_page_437`] decoded it from another encoding: `虚拟机.vmdk`
/// for a name in GBK, as Windows writes it into a zip archive.
pub fn other_readings(name: &str) -> Vec<String> {
    let Some(bytes) = undecoded(name) else { return Vec::new() };
    let texts = OF_NAMES.iter().filter_map(|label| strictly_decoded(label, &bytes));
    let mut readings: Vec<_> = texts.chain([file_name(&bytes)]).map(|text| folded(&text)).collect();
    readings.sort_unstable();
    readings.dedup();
    readings
}

/// Whether `name`, in a reference, may mean the file called `file`: the names differ in case and Unicode form only, or `name` is one of the
/// [`other_readings`] of `file`.
pub fn may_mean(name: &str, file: &str) -> bool {
    let wanted = folded(name);
    wanted == folded(file) || !name.is_ascii() && other_readings(file).contains(&wanted)
}

/// The bytes of `name`, unless it is certainly decoded as it was written.
fn undecoded(name: &str) -> Option<Vec<u8>> {
    if name.is_ascii() {
        return None;
    }
    let raw = |char: char| u32::from(char).checked_sub(RAW_BYTES).filter(|byte| (0x80..=0xff).contains(byte));
    if name.chars().any(|char| raw(char).is_some()) {
        let bytes = |char: char| match raw(char) {
            Some(byte) => vec![byte as u8],
            None => char.encode_utf8(&mut [0; 4]).as_bytes().to_vec(),
        };
        return Some(name.chars().flat_map(bytes).collect());
    }
    let high = |char| CODE_PAGE_437.chars().position(|known| known == char).map(|at| at as u8 + 0x80);
    name.chars().map(|char| if char.is_ascii() { Some(char as u8) } else { high(char) }).collect()
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

    #[test]
    fn code_page_437_is_whole() {
        assert_eq!(CODE_PAGE_437.chars().count(), 128);
    }

    #[test]
    fn names_in_other_encodings() {
        const IN_437: &[u8] = b"Gr\x94\xe1e.vmdk";
        // (the bytes of a file's name, a name, whether it may mean the file)
        let cases: &[(&[u8], &str, bool)] = &[
            (b"\xb4\xc5\xc5\xcc.vmdk", "磁盘.VMDK", true),
            (b"\xba\xcf\xba\xd0.vmdk", "磁碟.vmdk", true),
            (b"\x83\x66\x83\x42\x83\x58\x83\x4e.vmdk", "ディスク.vmdk", true),
            (b"\xb5\xf0\xbd\xba\xc5\xa9.vmdk", "디스크.vmdk", true),
            (b"\xe4\xe8\xf1\xea.vmdk", "диск.vmdk", true),
            (b"\xa4\xa8\xe1\xaa.vmdk", "диск.vmdk", true),
            (b"Gr\xf6\xdfe.vmdk", "größe.vmdk", true),
            (IN_437, "Größe.vmdk", true),
            (b"\xb4\xc5\xc5\xcc.vmdk", "磁碟.vmdk", false),
            (b"\xb4\xc5\xc5\xcc.vmdk", "磁盘2.vmdk", false),
            (b"plain.vmdk", "Plain.vmdk", true),
            (b"plain.vmdk", "plane.vmdk", false),
        ];
        for (bytes, name, is_it) in cases {
            assert_eq!(may_mean(name, &code_page_437(bytes)), *is_it, "{name} {bytes:x?}");
            assert_eq!(may_mean(name, &file_name(bytes)), *is_it && *bytes != IN_437, "{name} {bytes:x?}");
        }
        // The same bytes in a reference and in an archive.
        assert!(may_mean(&file_name(b"b\xe4se"), &code_page_437(b"b\xe4se")));
        for other in [code_page_437(b"b\xf6se"), "bäse".to_owned()] {
            assert!(!may_mean(&file_name(b"b\xe4se"), &other), "{other}");
        }
    }
}
