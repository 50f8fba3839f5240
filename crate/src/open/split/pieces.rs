//! The pieces that OVF stores a file in: `NAME.000000000`, `NAME.000000001` and so on, equally large except for the last (DSP0243,
//! `ovf:chunkSize`).

use crate::container::Member;
use crate::disk::name_index::NameIndex;
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};

/// Number of digits in the suffix of a piece.
pub(super) const DIGITS: usize = 9;

/// Returns `members` with split files joined, each at the position of its first piece. Fails with `corrupt` if a piece
/// is missing or has the wrong size.
pub(in crate::open) fn joined(members: &[Member]) -> Result<Vec<Member>> {
    let names =
        NameIndex::new(members.iter().map(|member| piece(&member.name).map_or("", |(name, _)| name).to_owned()));
    let mut whole = Vec::new();
    for (at, member) in members.iter().enumerate() {
        let found = piece(&member.name).map(|(name, number)| (name, number, names.find(name)));
        match found {
            Some((name, number, found)) if found.len() > 1 || number == 0 => {
                if found[0] == at {
                    whole.push(join(name, &found, members)?);
                }
            }
            _ => whole.push(member.clone()),
        }
    }
    Ok(whole)
}

/// Splits the name of a piece into the name of the whole file and the piece's number.
fn piece(name: &str) -> Option<(&str, u32)> {
    let (whole, number) = name.rsplit_once('.')?;
    let is_number = number.len() == DIGITS && number.bytes().all(|byte| byte.is_ascii_digit());
    if is_number && !whole.is_empty() { Some((whole, number.parse().ok()?)) } else { None }
}

/// Returns the name of piece `number` of the file `whole`.
pub(in crate::open) fn piece_name(whole: &str, number: usize) -> String {
    format!("{whole}.{number:0DIGITS$}")
}

/// Whether `name` is the name of a piece, such as `disk.vmdk.000000001`.
pub(in crate::open) fn is_piece(name: &str) -> bool {
    piece(name).is_some()
}

/// Whether `name` is the name of a piece of the file `whole`.
pub(in crate::open) fn is_piece_of(name: &str, whole: &str) -> bool {
    piece(name).is_some_and(|(of, _)| of == whole)
}

/// Whether `name`, which does not exist, is a piece of a file whose first piece exists according to `is_there`.
pub(in crate::open) fn is_missing(name: &str, is_there: impl Fn(&str) -> bool) -> bool {
    piece(name).is_some_and(|(whole, _)| is_there(&piece_name(whole, 0)))
}

/// The pieces of a file, among other files.
pub(in crate::open) struct Pieces {
    /// Their indices, in the order of their numbers.
    pub(in crate::open) files: Vec<usize>,
    /// How many of them follow each other from the first.
    pub(in crate::open) run: usize,
    /// The name of the first one that would follow.
    pub(in crate::open) next: String,
}

/// Finds the pieces among files with these `names`. `first` is the name of the first piece.
pub(in crate::open) fn pieces_among<'a>(first: &str, names: impl Iterator<Item = &'a str>) -> Pieces {
    let whole = piece(first).map_or("", |(whole, _)| whole);
    let of_whole = |(at, name)| piece(name).filter(|(of, _)| *of == whole).map(|(_, number)| (number, at));
    let mut found: Vec<_> = names.enumerate().filter_map(of_whole).collect();
    found.sort_unstable();
    found.dedup_by_key(|(number, _)| *number);
    let run = run_of(0, found.iter().map(|&(number, _)| number.into()));
    Pieces { files: found.into_iter().map(|(_, at)| at).collect(), run, next: piece_name(whole, run) }
}

/// Fails with `corrupt` if the file `name` is stored in pieces, and fewer of them are among `members` than the `stated` number.
pub(in crate::open) fn require_all(name: &str, stated: Option<u64>, members: &[Member]) -> Result<()> {
    let found = pieces_among(&piece_name(name, 0), members.iter().map(|member| &*member.name)).run;
    match stated {
        Some(stated) if found > 0 && (found as u64) < stated => {
            Err(wrong(name, found as u32, "is missing").coded("piece-missing"))
        }
        _ => Ok(()),
    }
}

/// Returns how many of `numbers`, which ascend, follow each other from `first`.
pub(super) fn run_of(first: u64, numbers: impl Iterator<Item = u64>) -> usize {
    (first..).zip(numbers).take_while(|(expected, number)| expected == number).count()
}

/// Joins the pieces of the file `name`, which are those of `members` with the indices `found`.
fn join(name: &str, found: &[usize], members: &[Member]) -> Result<Member> {
    let number = |member: &Member| piece(&member.name).map_or(0, |(_, number)| number);
    let mut pieces: Vec<_> = found.iter().map(|&at| (number(&members[at]), &members[at])).collect();
    pieces.sort_by_key(|&(number, _)| number);
    let size = |member: &Member| member.source.size() + member.missing;
    let first = size(pieces[0].1);
    for (expected, &(number, member)) in pieces.iter().enumerate() {
        if number != expected as u32 {
            let is_twice = (number as usize) < expected;
            let (what, code) =
                if is_twice { ("is there twice", "piece-damaged") } else { ("is missing", "piece-missing") };
            return Err(wrong(name, number.min(expected as u32), what).coded(code));
        }
        let is_last = expected + 1 == pieces.len();
        if size(member) > first || (!is_last && size(member) != first) {
            return Err(wrong(name, number, "has another size than those before it"));
        }
        if !is_last && member.missing > 0 {
            return Err(wrong(name, number, "is cut off"));
        }
    }
    let missing = pieces.last().map_or(0, |(_, last)| last.missing);
    let parts: Vec<_> = pieces.iter().map(|&(_, member)| member).collect();
    Ok(Member::joined(name, &parts, missing))
}

fn wrong(name: &str, number: u32, what: &str) -> Error {
    let message = format!("The image is corrupt: piece {number:0DIGITS$} of '{}' {what}", shown(name));
    Error::new(ErrorKind::Corrupt, message).coded("piece-damaged").field("file", name).field("piece", u64::from(number))
}
