//! Reads LUKS headers, of both versions. `crate/luks` understands them.

use super::ciphers::out_of_memory;
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Source, read_exact};
use crate::modules::prepare;
use crate::offsets::{ByteRange, HostOffset};
use crate::structure::structure;
use decant_crypt::MODULE;
use decant_luks::{Answer, MAX_ANSWER, describe};

pub(crate) const MAGIC: [u8; 6] = *b"LUKS\xba\xbe";
/// The length of a header of version 1, in bytes.
const LEN: u64 = 592;
/// The powers of two that the length of a copy of a header of version 2 can be.
const LENGTHS: std::ops::RangeInclusive<u32> = 14..=22;
/// The payload reaches to the end of the file.
const TO_THE_END: u64 = u64::MAX;

structure! {
    /// The start of the header in both versions.
    struct Start: Big {
        magic: [u8; 6] = 0,
        version: u16 = 6,
        /// In version 2, the length of a copy of the header.
        hdr_size: u64 = 8,
    }
}

structure! {
    /// The numbers of a description, after the names.
    struct Described: Little {
        version: u64 = 0,
        is_copy_damaged: u64 = 8,
        sector: u64 = 16,
        payload_offset: u64 = 24,
        payload_len: u64 = 32,
        iterations: u64 = 40,
    }
}

structure! {
    struct DescribedSlot: Little {
        active: u64 = 0,
        iterations: u64 = 8,
        offset: u64 = 16,
        stripes: u64 = 24,
    }
}

/// A validated header.
#[derive(Clone, Debug)]
pub(crate) struct Luks {
    /// The cipher and its key length in bits, its mode, the method for initialisation vectors, the hash of that method if
    /// it has one, the hash of the key's digest, and the UUID.
    pub(crate) names: [String; 6],
    pub(crate) version: u32,
    /// Whether one of the two copies of the header is damaged.
    pub(crate) is_copy_damaged: bool,
    /// The length of an encrypted sector, in bytes.
    pub(crate) sector: u64,
    /// Offset of the payload in a LUKS file, in bytes.
    pub(crate) payload_offset: u64,
    /// The length of the payload, in bytes; `None` if it reaches to the end of the file.
    pub(crate) payload_len: Option<u64>,
    /// Iterations of the key's digest.
    pub(crate) iterations: u32,
    pub(crate) slots: Vec<Slot>,
    /// The bytes of the header, or of its two copies.
    pub(super) start: Vec<u8>,
    /// The length of a copy.
    pub(super) len: usize,
}

/// A key slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    /// Whether it holds a key.
    pub(crate) active: bool,
    /// Of PBKDF2, or passes of Argon2.
    pub(crate) iterations: u32,
    /// Offset of its key material from the start of the header, in bytes.
    pub(crate) offset: u64,
    /// Stripes that the key is split into.
    pub(crate) stripes: u32,
}

/// Reads and validates the header at the start of `place`, in a version up to `newest`. Fails with `corrupt`,
/// `unsupported`, `limit` or `source`, and if the module cannot be loaded.
pub(crate) async fn read(source: &dyn Source, place: ByteRange, newest: u16) -> Result<Box<Luks>> {
    if place.len < LEN && place.end() < source.size() {
        return Err(Error::corrupt("the LUKS header is too short", place.start));
    }
    let first = |len: u64| ByteRange { start: place.start, len };
    let start = read_exact(source, first(LEN), "LUKS header").await?;
    let Start { magic, version, hdr_size } = Start::parse(&start);
    if magic != MAGIC {
        return Err(Error::corrupt("there is no LUKS header at the position that the image states", place.start));
    }
    if !(1..=newest).contains(&version) {
        return Err(Error::unknown_version(version, "LUKS"));
    }
    prepare(&MODULE).await?;
    if version == 1 {
        let luks = described(start, 0, place.start)?;
        return luks.ok_or_else(|| no_header(place.start));
    }
    // The stated length first: the others matter only if the first copy is damaged.
    let (stated, others) =
        (LENGTHS.filter(|power| 1 << power == hdr_size), LENGTHS.filter(|power| 1 << power != hdr_size));
    for len in stated.chain(others).map(|power| 1 << power) {
        let copies = read_exact(source, first(source.size().min(2 * len)), "LUKS header").await?;
        if let Some(luks) = described(copies, len as usize, place.start)? {
            return Ok(luks);
        }
    }
    if hdr_size.is_power_of_two() && hdr_size.ilog2() <= *LENGTHS.end() && source.size() < 2 * hdr_size {
        return Err(Error::truncated("the LUKS header", place.start, source.size()));
    }
    Err(no_header(place.start))
}

fn no_header(at: HostOffset) -> Error {
    Error::corrupt("neither copy of the LUKS header is valid", at)
}

/// Lets the module describe the header in `start`, at `at` of the file. Returns `None` if no copy is valid.
fn described(start: Vec<u8>, len: usize, at: HostOffset) -> Result<Option<Box<Luks>>> {
    let mut answer = [0; MAX_ANSWER];
    let answer_len = describe(&start, len, &mut answer).map_err(out_of_memory)?;
    let mut rest = match Answer::decode(&answer[..answer_len]) {
        Answer::NoHeader => return Ok(None),
        answer => result_of(answer, at)?,
    };
    let names = std::array::from_fn(|_| {
        let end = rest.iter().position(|&byte| byte == 0).unwrap_or_default();
        let name = String::from_utf8_lossy(&rest[..end]).into_owned();
        rest = &rest[end + 1..];
        name
    });
    let Described { version, is_copy_damaged, sector, payload_offset, payload_len, iterations } =
        Described::parse(rest);
    let slot = |slot: &[u8]| {
        let DescribedSlot { active, iterations, offset, stripes } = DescribedSlot::parse(slot);
        Slot { active: active != 0, iterations: iterations as u32, offset, stripes: stripes as u32 }
    };
    Ok(Some(Box::new(Luks {
        names,
        version: version as u32,
        is_copy_damaged: is_copy_damaged != 0,
        sector,
        payload_offset,
        payload_len: Some(payload_len).filter(|&len| len != TO_THE_END),
        iterations: iterations as u32,
        slots: rest[Described::LEN..].chunks_exact(DescribedSlot::LEN).map(slot).collect(),
        start,
        len,
    })))
}

/// The result in `answer` about the header at `at`. Fails with `corrupt`, `unsupported`, `limit`, `password`, or
/// `internal` for lack of memory.
pub(super) fn result_of(answer: Answer<'_>, at: HostOffset) -> Result<&[u8]> {
    Err(match answer {
        Answer::Done(result) => return Ok(result),
        Answer::Corrupt(offset, what) => Error::corrupt(shown(what), HostOffset(at.0 + offset)),
        Answer::Unsupported(what, name) => Error::unsupported(format!("{what} '{}'", shown(name))),
        Answer::Limit(size, what) => {
            let error = Error::new(ErrorKind::Limit, format!("The image requires {what}"));
            if size > 0 { error.coded("luks-memory").field("size", size) } else { error }
        }
        Answer::OutOfMemory(size) => Error::out_of_memory(size as usize),
        _ => Error::new(ErrorKind::Password, "The password is wrong").coded("password-wrong"),
    })
}
