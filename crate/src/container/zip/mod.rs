//! Zip archives, with random access. See APPNOTE.TXT, version 6.3.10, of PKWARE.

mod central_directory;
mod deflated;
mod end_record;

pub(crate) use deflated::LARGEST_AT_ANY_POSITION;
pub(crate) use deflated::StatedCrc;

use super::{Container, Content, Contents, Member, PackedMember};
use crate::disk::name_index::NameIndex;
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Slice, Source, read_exact};
use crate::offsets::{ByteRange, HostOffset};
use central_directory::{Entry, LocalHeader, unwrap};
use deflated::{AnyPosition, Deflated};
use end_record::{CentralDirectory, Stated, WRAP};
use futures_util::FutureExt;
use std::rc::Rc;

const NAME: &str = "zip";
/// The codes of errors about damage, and of files that overlap, with their sentence.
const DAMAGED: &str = "zip-damaged";
const OVERLAP: &str = "zip-overlap";
const OVERLAPS: &str = "overlaps other data";

pub(super) const CONTAINER: Container = Container {
    name: NAME,
    aliases: &[],
    extensions: &[".zip"],
    label: "a zip archive",
    probe: |sample| {
        [&central_directory::LOCAL_HEADER, &end_record::END].iter().any(|sign| sample.head.starts_with(*sign))
    },
    content: Content::Members { list: |source, _| list(source).boxed_local(), in_order: None },
};

/// Compression methods (section 4.4.5).
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
const DEFLATED_64: u16 = 9;
const AES: u16 = 99;
const OTHER_METHODS: [(u16, &str); 5] = [(12, "bzip2"), (14, "LZMA"), (93, "zstd"), (95, "xz"), (98, "PPMd")];

/// Deflate data, and Deflate64 data, expands to fewer than this many times its length: a symbol of 258 bytes takes 2 bits, and one of
/// 65,538 bytes takes 18 bits.
const BEST_RATIO: u64 = 1033;
const BEST_RATIO_64: u64 = 29_200;

/// Lists the regular files of an archive, in the order of its central directory.
async fn list(source: Rc<dyn Source>) -> Result<Contents> {
    let directory = CentralDirectory::find(&*source).await?;
    let bytes = read_exact(&*source, directory.range, "central directory").await?;
    let (mut members, mut places, mut entries, mut rest) = (Vec::new(), Vec::new(), Vec::new(), &bytes[..]);
    for _ in 0..directory.entries {
        entries.push(Entry::next(&mut rest).ok_or_else(|| damaged(directory.range.start.0))?);
    }
    if !rest.is_empty() {
        return Err(damaged(directory.range.start.0));
    }
    if directory.wraps {
        unwrap(&mut entries, &*source, &directory).await?;
    }
    for entry in entries.iter().filter(|entry| entry.is_file()) {
        let name = entry.name();
        check_method(entry, &name)?;
        let range = data_of(entry, &name, &source, &directory, &mut places).await?;
        members.push(member(entry, name, Slice::new(source.clone(), range))?);
    }
    check_names(&members)?;
    check_overlaps(places, &members)?;
    Ok(Contents { members, is_ended: true })
}

/// Returns the error for `source` if it is the last part of several, which its end shows.
pub(crate) async fn refusal_of_last_part(source: &dyn Source) -> Option<Error> {
    Stated::find(source).await.ok()??.refusal_of_last_part()
}

/// Fails with `unsupported` if the file of `entry`, called `name`, is encrypted or compressed by another method.
fn check_method(entry: &Entry<'_>, name: &str) -> Result<()> {
    let method = entry.header.method;
    let refused = |code, how: &str| {
        let what = format!("is {how}, which Decant does not read; extract it first");
        Err(of_file(ErrorKind::Unsupported, code, name, &what))
    };
    if entry.is_encrypted() || method == AES {
        return refused("zip-encrypted", "encrypted");
    }
    if matches!(method, STORED | DEFLATED | DEFLATED_64) {
        return Ok(());
    }
    let known = OTHER_METHODS.iter().find(|(number, _)| *number == method);
    let how = known.map_or_else(|| format!("method {method}"), |(_, how)| (*how).to_owned());
    refused("zip-method", &format!("compressed by {how}"))
}

/// Returns the range of the data of `entry`, called `name`, in `source`. Adds the start and the end of its header and
/// data to `places`. Fails with `corrupt` unless its two headers agree, and as reading does.
async fn data_of(
    entry: &Entry<'_>,
    name: &str,
    source: &Rc<dyn Source>,
    directory: &CentralDirectory,
    places: &mut Vec<(u64, u64)>,
) -> Result<ByteRange> {
    let end = directory.range.start.0;
    let wrong = |code, what| of_file(ErrorKind::Corrupt, code, name, what);
    let start = directory.base.checked_add(entry.offset).filter(|&start| start < end);
    let start = start.ok_or_else(|| wrong(DAMAGED, "is at an impossible position"))?;
    let header = LocalHeader::read(&**source, HostOffset(start), entry.name.len()).await?;
    if !header.is_of(entry) {
        return Err(wrong("zip-headers-differ", "has two headers that differ"));
    }
    let data = ByteRange::new(HostOffset(header.data), entry.packed).filter(|data| data.end() <= end);
    let data = data.ok_or_else(|| wrong(OVERLAP, OVERLAPS))?;
    places.push((start, data.end()));
    Ok(data)
}

/// Creates the member for `entry`, called `name`, whose data is `data`. Fails with `corrupt` if its size is not possible.
fn member(entry: &Entry<'_>, name: String, data: Slice) -> Result<Member> {
    let is_64 = entry.header.method == DEFLATED_64;
    let best_ratio = if is_64 { BEST_RATIO_64 } else { BEST_RATIO };
    let is_stored = entry.is_stored();
    let is_possible = if is_stored { entry.size == entry.packed } else { entry.size / best_ratio <= entry.packed };
    if !is_possible {
        return Err(of_file(ErrorKind::Corrupt, DAMAGED, &name, "has an impossible size"));
    }
    let (source, crc32) = (Rc::new(data), entry.header.crc32);
    if is_stored {
        let stated_crc = StatedCrc { name: name.clone(), size: entry.size, crc32 };
        return Ok(Member { stated_crc: Some(stated_crc), ..Member::stored(name, source) });
    }
    // Shorter data does not expand to as much as that.
    let wraps = entry.wraps && entry.packed > WRAP / best_ratio;
    let deflated = Deflated { is_64, size: entry.size, wraps, crc32 };
    let any_position = AnyPosition { name: name.clone(), source: source.clone(), deflated };
    let packed = PackedMember { source, decode: Rc::new(move |stream| deflated.decode(stream)) };
    Ok(Member { packed: Some(packed), ..Member::stored(name, Rc::new(any_position)) })
}

/// Fails with `corrupt` if two members have one name: programs differ in the one that they extract.
fn check_names(members: &[Member]) -> Result<()> {
    let names = NameIndex::new(members.iter().map(|member| member.name.clone()));
    match members.iter().find(|member| names.find(&member.name).len() > 1) {
        Some(Member { name, .. }) => Err(of_file(ErrorKind::Corrupt, "zip-duplicate", name, "is there more than once")),
        None => Ok(()),
    }
}

/// Fails with `corrupt` if two of `members` overlap, at the `places` (start, end): such archives expand excessively.
fn check_overlaps(places: Vec<(u64, u64)>, members: &[Member]) -> Result<()> {
    let mut order: Vec<_> = places.iter().zip(0..).map(|(place, number)| (place.0, number)).collect();
    order.sort_unstable();
    match order.windows(2).find(|two| places[two[0].1].1 > two[1].0) {
        Some(two) => Err(of_file(ErrorKind::Corrupt, OVERLAP, &members[two[0].1].name, OVERLAPS)),
        None => Ok(()),
    }
}

/// The error for the file `name`; `what` is the second half of the sentence.
fn of_file(kind: ErrorKind, code: &'static str, name: &str, what: &str) -> Error {
    let start = if kind == ErrorKind::Corrupt { "The image is corrupt: " } else { "" };
    let message = format!("{start}'{}' in the zip archive {what}", shown(name));
    Error::new(kind, message).coded(code).field("file", name)
}

/// The error for records or a directory, at the offset `at`, that violate the format or contradict each other.
fn damaged(at: u64) -> Error {
    Error::corrupt("the directory of the zip archive is invalid", HostOffset(at)).coded(DAMAGED)
}
