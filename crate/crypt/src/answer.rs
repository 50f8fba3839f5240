//! Answers about LUKS headers, and their encoding.

use serde::{Deserialize, Serialize};

/// The longest encoded answer, in bytes: the description of a header with 32 key slots and long names.
pub const MAX_ANSWER: usize = 2048;

/// The most bytes of texts in an answer. The rest encodes their lengths and a number.
#[cfg(feature = "direct")]
const MOST_TEXT: usize = MAX_ANSWER - 32;

/// An answer. Texts are clauses; names from the header are not escaped.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer<'a> {
    /// The description of the header.
    Described(Description),
    /// The encoded key.
    Found(&'a [u8]),
    /// The header violates the format, at this offset from its start.
    Corrupt(u64, &'a str),
    /// The header uses a feature that is not supported, with this name in it.
    Unsupported(&'a str, &'a str),
    /// Checking a password requires too much memory (in bytes), or too much of something else (0), as the text says.
    Limit(u64, &'a str),
    /// Neither copy of the header is valid.
    NoHeader,
    /// The password opens none of the key slots.
    WrongPassword,
    /// This part of the work is done: iterations, and their total number.
    Busy(u64, u64),
    /// The next step needs these bytes as its input: their offset from the start of the header, and their length.
    Needs(u64, u64),
    /// Memory of this size ran out.
    OutOfMemory(u64),
}

/// A validated header.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Description {
    /// The facts about the volume that the API reports.
    pub info: LuksInfo,
    /// Whether one of the two copies of the header is damaged.
    pub is_copy_damaged: bool,
    /// The length of an encrypted sector, in bytes.
    pub sector: u32,
    /// The length of the payload, in bytes; `None` if it reaches to the end of the file.
    pub payload_len: Option<u64>,
}

/// The content of a LUKS header, for the API. Offsets are in bytes from the start of the header.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LuksInfo {
    /// 1 or 2.
    pub version: u32,
    /// The cipher and its key length in bits, such as "aes-256".
    pub cipher: String,
    /// The cipher mode, such as "xts".
    pub mode: String,
    /// The generator of initialisation vectors, such as "plain64".
    pub iv: String,
    /// The hash of the `essiv` generator, such as "sha256".
    pub iv_hash: Option<String>,
    /// The hash of the key derivation, such as "sha256".
    pub hash: String,
    /// The UUID.
    pub uuid: String,
    /// The payload's offset in a plain LUKS file.
    pub payload_offset: u64,
    /// Iterations of the master key digest.
    pub master_key_iterations: u32,
    /// The key slots.
    pub slots: Vec<Slot>,
}

/// A LUKS key slot.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Slot {
    /// Whether the slot holds a key.
    pub active: bool,
    /// Of PBKDF2, or passes of Argon2.
    pub iterations: u32,
    /// Offset of the key material.
    pub key_offset: u64,
    /// Stripes that the master key is split into.
    pub stripes: u32,
}

impl<'a> Answer<'a> {
    /// Encodes the answer at the start of `output`, which has [`MAX_ANSWER`] bytes. Returns its length. A text that is
    /// too long is cut.
    #[cfg(feature = "direct")]
    pub(crate) fn encode(self, output: &mut [u8]) -> usize {
        let cut = |text: &'a str, most: usize| &text[..text.floor_char_boundary(most)];
        let answer = match self {
            Self::Corrupt(at, what) => Self::Corrupt(at, cut(what, MOST_TEXT)),
            Self::Unsupported(what, name) => Self::Unsupported(what, cut(name, MOST_TEXT - what.len())),
            Self::Limit(size, what) => Self::Limit(size, cut(what, MOST_TEXT)),
            other => other,
        };
        postcard::to_slice(&answer, output).expect("there is room for any answer").len()
    }

    /// Decodes an answer.
    pub fn decode(bytes: &'a [u8]) -> Self {
        postcard::from_bytes(bytes).expect("both sides are of one version")
    }
}

#[cfg(all(test, feature = "direct"))]
mod tests {
    use super::*;

    #[test]
    fn texts_of_any_length_fit() {
        for name in ["", "x", "ab".repeat(1500).as_str(), "äöü€".repeat(1000).as_str()] {
            for answer in [
                Answer::Corrupt(u64::MAX, name),
                Answer::Unsupported("LUKS with the hash", name),
                Answer::Limit(u64::MAX, name),
            ] {
                let mut output = [0; MAX_ANSWER];
                let len = answer.encode(&mut output);
                let text = match Answer::decode(&output[..len]) {
                    Answer::Corrupt(u64::MAX, text) | Answer::Limit(u64::MAX, text) => text,
                    Answer::Unsupported("LUKS with the hash", text) => text,
                    other => panic!("{other:?}"),
                };
                assert!(name.starts_with(text) && (text == name || text.len() > 1900), "{} bytes", text.len());
            }
        }
    }

    /// The longest description that a header can have.
    #[test]
    fn a_description_of_many_slots_fits() {
        let name = || "€".repeat(21);
        let slot = Slot { active: true, iterations: u32::MAX, key_offset: u64::MAX, stripes: 4000 };
        let info = LuksInfo {
            version: 2,
            cipher: name(),
            mode: name(),
            iv: name(),
            iv_hash: Some(name()),
            hash: name(),
            uuid: name(),
            payload_offset: u64::MAX,
            master_key_iterations: u32::MAX,
            slots: vec![slot; 32],
        };
        let description = Description { info, is_copy_damaged: true, sector: 4096, payload_len: Some(u64::MAX) };
        let mut output = [0; MAX_ANSWER];
        let len = Answer::Described(description).encode(&mut output);
        let Answer::Described(Description { info: found, .. }) = Answer::decode(&output[..len]) else {
            panic!("another answer")
        };
        assert_eq!((found.slots.len(), found.uuid, found.master_key_iterations), (32, name(), u32::MAX));
    }
}
