//! Reads LUKS headers, of both versions. `decant-crypt` understands them.

use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Source, read_exact};
use crate::modules::prepare;
use crate::offsets::{ByteRange, HostOffset};
use crate::structure::structure;
use decant_crypt::{Answer, Description, MAX_ANSWER, MODULE, describe};

pub(crate) const MAGIC: [u8; 6] = *b"LUKS\xba\xbe";
/// The length of a header of version 1, in bytes.
const LEN: u64 = 592;
/// The powers of two that the length of a copy of a header of version 2 can be.
const LENGTHS: std::ops::RangeInclusive<u32> = 14..=22;

structure! {
    /// The start of the header in both versions.
    struct Start: Big {
        magic: [u8; 6] = 0,
        version: u16 = 6,
        /// In version 2, the length of a copy of the header.
        hdr_size: u64 = 8,
    }
}

/// A validated header.
#[derive(Clone, Debug)]
pub(crate) struct Luks {
    pub(crate) description: Description,
    /// The bytes of the header, or of its two copies.
    pub(super) start: Vec<u8>,
    /// The length of one copy of the header.
    pub(super) len: usize,
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
    let answer_len = describe(&start, len, &mut answer).map_err(Error::from)?;
    match Answer::decode(&answer[..answer_len]) {
        Answer::NoHeader => Ok(None),
        Answer::Described(description) => Ok(Some(Box::new(Luks { description, start, len }))),
        answer => Err(refusal(answer, at)),
    }
}

/// The error for an `answer` about the header at `at` that has no result: `corrupt`, `unsupported`, `limit`, `password`, or
/// `internal` for lack of memory.
pub(super) fn refusal(answer: Answer<'_>, at: HostOffset) -> Error {
    match answer {
        Answer::Corrupt(offset, what) => Error::corrupt(shown(what), HostOffset(at.0 + offset)),
        Answer::Unsupported(what, name) => Error::unsupported(format!("{what} '{}'", shown(name))),
        Answer::Limit(size, what) => {
            let error = Error::new(ErrorKind::Limit, format!("The image requires {what}"));
            if size > 0 { error.coded("luks-memory").field("size", size) } else { error }
        }
        Answer::OutOfMemory(size) => Error::out_of_memory(size as usize),
        _ => Error::new(ErrorKind::Password, "The password is wrong").coded("password-wrong"),
    }
}
