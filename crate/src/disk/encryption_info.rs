//! The encryption of an image, as described by its headers.

use super::details::{Details, Value};
use crate::crypt::Encryption;
use decant_luks::{Description, Slot};
use serde::Serialize;

/// The encryption of an image, for the API.
#[derive(Clone, Debug, Serialize)]
pub struct EncryptionInfo {
    /// "luks" or "aes".
    pub(crate) format: &'static str,
    /// The LUKS header, if the format is "luks".
    pub luks: Option<LuksInfo>,
}

/// The content of a LUKS header. Offsets are in bytes from the start of the header.
#[derive(Clone, Debug, Serialize)]
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
    pub(crate) uuid: String,
    /// The payload's offset in a plain LUKS file.
    pub(crate) payload_offset: u64,
    /// Iterations of the master key digest.
    pub(crate) master_key_iterations: u32,
    /// The key slots.
    pub(crate) slots: Vec<SlotInfo>,
}

/// A LUKS key slot.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SlotInfo {
    /// Whether the slot holds a key.
    active: bool,
    /// Of PBKDF2, or passes of Argon2.
    iterations: u32,
    key_offset: u64,
    /// Stripes that the master key is split into.
    stripes: u32,
}

impl EncryptionInfo {
    pub(crate) fn of(encryption: &Encryption) -> Self {
        match encryption {
            Encryption::Aes => Self { format: "aes", luks: None },
            Encryption::Luks { header, .. } => Self { format: "luks", luks: Some(luks_info(&header.description)) },
        }
    }

    /// Returns the description, with the keys of `qemu-img info`, which knows version 1 only.
    pub(crate) fn details(&self) -> Details {
        let mut details = Vec::new();
        let Some(luks) = &self.luks else { return Details(vec![("format", self.format.into())]) };
        if luks.version > 1 {
            details.push(("version", luks.version.into()));
        }
        details.push(("ivgen-alg", luks.iv[..].into()));
        details.extend(luks.iv_hash.as_ref().map(|hash| ("ivgen-hash-alg", hash[..].into())));
        details.extend([
            ("hash-alg", luks.hash[..].into()),
            ("cipher-alg", luks.cipher[..].into()),
            ("uuid", luks.uuid[..].into()),
            ("format", self.format.into()),
            ("cipher-mode", luks.mode[..].into()),
            ("slots", Value::List(luks.slots.iter().map(|slot| Value::Map(slot.details())).collect())),
            ("payload-offset", luks.payload_offset.into()),
            ("master-key-iters", luks.master_key_iterations.into()),
        ]);
        Details(details)
    }
}

impl SlotInfo {
    fn details(&self) -> Details {
        let mut details = vec![("active", self.active.into())];
        if self.active {
            details.push(("iters", self.iterations.into()));
        }
        details.push(("key-offset", self.key_offset.into()));
        if self.active {
            details.push(("stripes", self.stripes.into()));
        }
        Details(details)
    }
}

impl From<&Slot> for SlotInfo {
    fn from(&Slot { active, iterations, offset, stripes }: &Slot) -> Self {
        Self { active, iterations, key_offset: offset, stripes }
    }
}

fn luks_info(luks: &Description) -> LuksInfo {
    let Description { cipher, mode, iv, iv_hash, hash, uuid, .. } = luks.clone();
    LuksInfo {
        version: luks.version,
        cipher,
        mode,
        iv,
        iv_hash,
        hash,
        uuid,
        payload_offset: luks.payload_offset,
        master_key_iterations: luks.iterations,
        slots: luks.slots.iter().map(SlotInfo::from).collect(),
    }
}
