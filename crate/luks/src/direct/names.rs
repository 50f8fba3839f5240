//! Names of ciphers.

use super::{Read, hash_by_name, unsupported};
use decant_crypt::{BlockCipher, CipherSpec, IvGenerator, Mode};

/// The parts of a cipher like "aes-cbc-essiv:sha256".
pub(super) struct CipherNames<'a> {
    /// The block cipher: "aes".
    pub(super) cipher: &'a str,
    /// The block cipher mode: "cbc".
    pub(super) mode: &'a str,
    /// The method for initialisation vectors: "essiv".
    pub(super) iv: Option<&'a str>,
    /// The hash of that method: "sha256".
    pub(super) hash: Option<&'a str>,
}

/// Splits the name of a cipher into its parts.
pub(super) fn cipher_names(name: &str) -> CipherNames<'_> {
    let (cipher, mode) = split_name(name, '-');
    let (mode, iv) = split_name(mode.unwrap_or_default(), '-');
    let (iv, hash) = iv.map_or((None, None), |iv| {
        let (iv, hash) = split_name(iv, ':');
        (Some(iv), hash)
    });
    CipherNames { cipher, mode, iv, hash }
}

/// Splits `name` at the first `separator`.
fn split_name(name: &str, separator: char) -> (&str, Option<&str>) {
    name.split_once(separator).map_or((name, None), |(before, rest)| (before, Some(rest)))
}

/// The cipher called `name`, for sectors of 512 bytes.
pub(super) fn cipher_spec(name: &str) -> Read<CipherSpec> {
    let names = cipher_names(name);
    let unknown = || unsupported("LUKS with the cipher", name);
    let cipher = match names.cipher {
        "aes" => BlockCipher::Aes,
        "serpent" => BlockCipher::Serpent,
        "twofish" => BlockCipher::Twofish,
        _ => return unknown(),
    };
    let mode = match names.mode {
        "xts" => Mode::Xts,
        "cbc" => Mode::Cbc,
        "ecb" => Mode::Ecb,
        "ctr" => Mode::Ctr,
        _ => return unknown(),
    };
    let iv = match names.iv.unwrap_or("plain") {
        // QEMU may also write a hash with these, which is not used.
        "plain" => IvGenerator::Plain,
        "plain64" => IvGenerator::Plain64,
        "essiv" => IvGenerator::Essiv(hash_by_name(names.hash.unwrap_or_default())?),
        _ => return unknown(),
    };
    Ok(CipherSpec { cipher, mode, iv, sector: 512, iv_offset: 0 })
}
