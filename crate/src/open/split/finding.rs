//! Which files are the parts of one, by their names.

use super::counting::{Reading, Wider, is_evident, is_first, numbered, readings_of};
use super::pieces::{DIGITS, run_of};
use crate::disk::reference::base_name;
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use std::collections::{HashMap, HashSet};

/// A name, apart from its folder, and its index.
#[derive(Clone, Copy)]
struct Named<'a> {
    name: &'a str,
    at: usize,
}

/// A split file.
struct Found {
    /// Indices of its parts in order, always including the first part.
    parts: Vec<usize>,
    /// The name of the first missing part, if later ones are there.
    missing: Option<String>,
    /// The index of a file that has the name of another one of its parts.
    duplicate: Option<usize>,
    unclear: Option<Unclear>,
}

/// Files that may be the parts of one file, or of several files with shorter numbers. In both readings, parts are missing.
struct Unclear {
    /// How many are parts of the first file, if they belong to several.
    of_first: usize,
    /// Whether the first file lacks a part between its others. The one file lacks it, too.
    lacks_part: bool,
}

/// A reading of the name of a first part, and the files that are parts then.
struct Parts<'r, 'a> {
    reading: &'r Reading,
    /// Ascending by number.
    files: Vec<(u64, Named<'a>)>,
    /// Ascending, each once.
    numbers: Vec<u64>,
    /// How many of the numbers follow each other from the first.
    run: usize,
}

/// Finds split files among files with these `names` or paths. Returns the indices of the parts of each in order, if there are at least
/// two in one folder and the first is among them; others may be missing.
pub fn split_files(names: &[&str]) -> Vec<Vec<usize>> {
    let (mut folders, mut numbers) = (Vec::<Vec<Named<'_>>>::new(), HashMap::new());
    for (at, path) in names.iter().enumerate() {
        let name = base_name(path);
        let number = *numbers.entry(&path[..path.len() - name.len()]).or_insert(folders.len());
        if number == folders.len() {
            folders.push(Vec::new());
        }
        folders[number].push(Named { name, at });
    }
    folders.into_iter().flat_map(files_in).map(|file| file.parts).collect()
}

/// Finds split files among the files of one folder.
fn files_in(mut files: Vec<Named<'_>>) -> Vec<Found> {
    files.sort_by_key(|file| file.name);
    let mut found: Vec<Found> = Vec::new();
    // Names of parts that were found: `xaa` is a first part, and `xaaa` may be a later part of another file.
    let mut taken = HashSet::new();
    for file in &files {
        if taken.contains(file.name) {
            continue;
        }
        let readings = readings_of(file.name);
        let Some(mut best) = best_of(&readings, &files) else { continue };
        let mut unclear = None;
        if let Some((wider, how)) = unclear_by(best.reading, &files) {
            (best, unclear) = (wider, Some(how));
        }
        if best.files.len() < 2 {
            continue;
        }
        let parts: Vec<_> = best.files.iter().map(|(_, file)| file.at).collect();
        if unclear.is_some() {
            // The first of them were found before.
            found.retain(|file| !file.parts.iter().any(|at| parts.contains(at)));
        }
        taken.extend(best.files.iter().map(|(_, file)| file.name));
        let next = best.reading.first + best.run as u64;
        let missing = if best.run < best.numbers.len() { best.reading.name_of(next) } else { None };
        let duplicate = best.files.windows(2).find(|two| two[0].0 == two[1].0).map(|two| two[1].1.at);
        found.push(Found { parts, missing, duplicate, unclear });
    }
    found
}

/// The reading that describes `files` best; `None` if there are no readings.
fn best_of<'r, 'a>(readings: &'r [Reading], files: &[Named<'a>]) -> Option<Parts<'r, 'a>> {
    let found: Vec<_> = readings.iter().map(|reading| Parts::by(reading, files)).collect();
    let is_evident = |parts: &Parts<'_, '_>| parts.reading.needs_evidence && parts.run > 0;
    let is_any_evident = found.iter().any(is_evident);
    let likely = found.into_iter().filter(|parts| !is_any_evident || is_evident(parts));
    likely.reduce(|best, next| if next.is_better_than(&best) { next } else { best })
}

/// Finds the files that may be parts of one file with longer numbers, such as `sdaab` and `sdbaa`, if it is unclear whether they are.
fn unclear_by<'r, 'a>(reading: &'r Reading, files: &[Named<'a>]) -> Option<(Parts<'r, 'a>, Unclear)> {
    let Wider { reading, group } = reading.wider.as_ref()?;
    let found = Parts::by(reading, files);
    if found.run == found.numbers.len() {
        return None;
    }
    let of_first = found.files.partition_point(|(number, _)| number < group);
    // Without the first letter, these are not the first parts.
    if of_first == 0 || of_first == found.files.len() {
        return None;
    }
    let has_before = |at: usize| {
        let number = found.numbers[at];
        number.is_multiple_of(*group) || (at > 0 && found.numbers[at - 1] == number - 1)
    };
    if (0..found.numbers.len()).all(has_before) {
        return None;
    }
    let lacks_part = found.run > 0 && found.run as u64 <= found.files[of_first - 1].0;
    Some((found, Unclear { of_first, lacks_part }))
}

impl<'r, 'a> Parts<'r, 'a> {
    /// Finds the parts by `reading` among `files`, which are sorted by their names.
    fn by(reading: &'r Reading, files: &[Named<'a>]) -> Self {
        let (mut parts, mut is_evident_by_name) = (Vec::new(), !reading.needs_evidence);
        let start = files.partition_point(|file| *file.name < *reading.before);
        for file in files[start..].iter().take_while(|file| file.name.starts_with(&reading.before)) {
            if let Some((number, text)) = reading.number_of(file.name) {
                is_evident_by_name |= is_evident(text);
                parts.push((number, *file));
            }
        }
        if !is_evident_by_name {
            parts.clear();
        }
        parts.sort_by_key(|&(number, _)| number);
        let mut numbers: Vec<_> = parts.iter().map(|&(number, _)| number).collect();
        numbers.dedup();
        let run = run_of(reading.first, numbers.iter().copied());
        Self { reading, files: parts, numbers, run }
    }

    /// Whether this describes the files better than `best`, which is at least as likely.
    fn is_better_than(&self, best: &Self) -> bool {
        if self.run != best.run {
            return self.run > best.run;
        }
        // Files that begin with `vmaaa` and `vmbaa` are probably two of names that end in `a` and `b`.
        let is_exhausted = || best.reading.exhausted.is_some_and(|most| best.run as u64 >= most);
        self.numbers.len() > best.numbers.len() && (self.reading.before == best.reading.before || is_exhausted())
    }
}

/// The file of an image as a part of a split file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PartOfFile {
    /// Indices of the next parts, without a gap unless one is missing.
    pub next: Vec<usize>,
    /// The name of the first missing part, if later ones are there.
    pub missing: Option<String>,
    /// If it is unclear whether they are parts of one file: the index of one that may be of another.
    pub other: Option<usize>,
    /// If the file is a later part: the first part.
    pub first: Option<FirstPart>,
}

/// The first part of a split file.
#[derive(Debug, PartialEq, Eq)]
pub struct FirstPart {
    /// The name of its file; a guess if the file is missing.
    pub name: String,
    /// Whether it is among the files.
    pub is_there: bool,
}

/// Describes the first of the files with `names` as a part of a split file; `None` if it is none. Their folders do not count. Fails with
/// `usage` if several are the same part.
pub fn part_among(names: &[&str]) -> Result<Option<PartOfFile>> {
    let files = names.iter().enumerate().map(|(at, path)| Named { name: base_name(path), at }).collect();
    let mut found: Vec<_> = files_in(files).into_iter().filter(|file| file.parts.contains(&0)).collect();
    let at = found.iter().position(|file| file.parts[0] == 0).unwrap_or(0);
    if found.is_empty() {
        return Ok(part_alone(base_name(names[0])));
    }
    let Found { parts, missing, duplicate, unclear } = found.swap_remove(at);
    let first = parts[0];
    if let Some(Unclear { of_first, lacks_part }) = unclear
        && !(first == 0 && lacks_part)
    {
        let is_of_first = parts[..of_first].contains(&0);
        return Ok(Some(PartOfFile {
            other: Some(parts[if is_of_first { of_first } else { 0 }]),
            ..Default::default()
        }));
    }
    if first != 0 {
        let first = Some(FirstPart { name: names[first].to_owned(), is_there: true });
        return Ok(Some(PartOfFile { first, ..Default::default() }));
    }
    if let Some(at) = duplicate {
        let message = format!("'{}' matches more than one file, and is a part of the image", shown(names[at]));
        return Err(Error::new(ErrorKind::Usage, message));
    }
    Ok(Some(PartOfFile { next: parts[1..].to_vec(), missing, ..Default::default() }))
}

/// Describes the part called `name`, without any other part of its file.
fn part_alone(name: &str) -> Option<PartOfFile> {
    let Some((before, text)) = numbered(name) else {
        let is_lettered = name.strip_suffix("aa").is_some_and(|before| !before.is_empty());
        return is_lettered.then(PartOfFile::default);
    };
    let first = || {
        let number = u8::from(text.len() != DIGITS);
        Some(FirstPart { name: format!("{before}{number:0width$}", width = text.len()), is_there: false })
    };
    Some(PartOfFile { first: if is_first(text) { None } else { first() }, ..Default::default() })
}

/// Whether the names of two files may be those of two parts of one: they differ in a number, or in their last letter, as those by
/// `split` (`xaa`, `xab`).
pub(in crate::open) fn may_be_parts(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let start = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[start..], &other[start..]);
    let end = one.iter().rev().zip(other.iter().rev()).take_while(|(a, b)| a == b).count();
    let (one, other) = (&one[..one.len() - end], &other[..other.len() - end]);
    let is_number = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    let is_letter = |part: &[u8]| matches!(part, [letter] if end == 0 && letter.is_ascii_alphanumeric());
    (is_number(one) && is_number(other)) || (start > 0 && is_letter(one) && is_letter(other))
}
