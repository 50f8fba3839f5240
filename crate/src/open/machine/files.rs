//! Finds files by the paths in a configuration.

use super::Kind;
use crate::disk::file_name::percent_decoded;
use crate::disk::name_index::{NameIndex, SimilarNames};
use crate::disk::reference::{base_name, folder_of, resolved};
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use decant_text::folded;
use std::collections::{HashMap, HashSet};

/// The names of files, for a search by paths.
pub(super) struct FileNames {
    by_path: NameIndex,
    by_base_name: NameIndex,
    by_similar_name: SimilarNames,
    /// The folder of each file.
    folders: Vec<String>,
}

/// A configuration, in which paths are relative to its folder.
#[derive(Clone, Copy)]
pub(super) struct From<'a> {
    pub(super) kind: Kind,
    /// Its own path.
    pub(super) path: &'a str,
}

impl From<'_> {
    /// Returns `path` as it is, and decoded if it may be a URL.
    pub(super) fn spellings(self, path: &str) -> Vec<String> {
        let decoded = matches!(self.kind, Kind::Ovf).then(|| percent_decoded(path)).flatten();
        std::iter::once(path.to_owned()).chain(decoded).collect()
    }

    /// Returns the likeliest spelling of `path`, for messages.
    pub(super) fn spelled(self, path: &str) -> String {
        self.spellings(path).pop().unwrap_or_default()
    }
}

impl FileNames {
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Self {
        let by = |key: fn(&str) -> String| NameIndex::new(names.clone().map(key));
        Self {
            by_path: by(|name| resolved(name, "")),
            by_base_name: by(|name| base_name(name).to_owned()),
            by_similar_name: SimilarNames::new(names.clone().map(base_name)),
            folders: names.map(|name| folder_of(&resolved(name, "")).to_owned()).collect(),
        }
    }

    /// Returns the files at `path`.
    pub(super) fn at(&self, path: &str, from: From<'_>) -> Vec<usize> {
        first_of(from.spellings(path), |path| self.by_path.find(&resolved(path, from.path)))
    }

    /// Returns the files that have the last part of `path`, in any case and encoding if need be: those in the folder of the configuration, if any.
    pub(super) fn called(&self, path: &str, from: From<'_>) -> Vec<usize> {
        let spellings = || from.spellings(path);
        let exact = first_of(spellings(), |path| self.by_base_name.find(base_name(path)));
        let similar = first_of(spellings(), |path| self.by_similar_name.find(base_name(path)));
        let folder = resolved(from.path, "");
        let is_near = |&at: &usize| self.folders[at] == folder_of(&folder);
        let near = |found: &[usize]| found.iter().copied().filter(is_near).collect::<Vec<_>>();
        let by_priority = [near(&exact), near(&similar), exact, similar];
        by_priority.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
    }
}

/// Finds the files of a machine by the paths in its configuration.
pub(super) struct Finder<'a> {
    names: &'a FileNames,
    from: From<'a>,
    /// How many of the paths without a file have each last part, which is folded.
    namesakes: HashMap<String, usize>,
    /// The files that are at a path, of any machine.
    claimed: &'a HashSet<usize>,
}

impl<'a> Finder<'a> {
    pub(super) fn new<'p>(
        names: &'a FileNames,
        from: From<'a>,
        paths: impl Iterator<Item = &'p str>,
        claimed: &'a HashSet<usize>,
    ) -> Self {
        let mut namesakes = HashMap::new();
        let distinct: HashSet<_> = paths.collect();
        for path in distinct.into_iter().filter(|path| names.at(path, from).is_empty()) {
            *namesakes.entry(folded(base_name(path))).or_default() += 1;
        }
        Self { names, from, namesakes, claimed }
    }

    /// Returns the file at `path`, or else the only one that has its last part and is at no other path. Fails with `usage` if several
    /// files match, or one by the last part of several paths.
    pub(super) fn find(&self, path: &str) -> Result<Option<usize>> {
        let at_path = self.names.at(path, self.from);
        if let [one] = at_path[..] {
            return Ok(Some(one));
        }
        if !at_path.is_empty() {
            return Err(ambiguous(path, at_path.len()));
        }
        let mut found = self.names.called(path, self.from);
        found.retain(|file| !self.claimed.contains(file));
        let namesakes = || self.namesakes.get(&folded(base_name(path))).copied().unwrap_or_default();
        match found[..] {
            [] => Ok(None),
            [one] if namesakes() < 2 => Ok(Some(one)),
            _ => Err(ambiguous(path, found.len())),
        }
    }
}

fn first_of(paths: Vec<String>, find: impl Fn(&str) -> Vec<usize>) -> Vec<usize> {
    paths.iter().map(|path| find(path)).find(|found| !found.is_empty()).unwrap_or_default()
}

/// The error for a disk whose file is unclear: `files` have its name, or one has the name of several disks.
fn ambiguous(path: &str, files: usize) -> Error {
    let what = if files > 1 { "more than one file" } else { "a file that matches another disk too" };
    let message = format!("'{}', a disk of the virtual machine, matches {what}", shown(path));
    Error::new(ErrorKind::Usage, message).coded("ambiguous-file").field("file", base_name(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_by_their_paths() {
        let names =
            ["vm/a.vmdk", "vm/Snapshots/b.vmdk", "other/b.vmdk", "C.vmdk", "vm/d e.vmdk", "x/a%20b", "/abs/b.vmdk"];
        let files = FileNames::new(names.iter().copied());
        let unclear = usize::MAX;
        let find = |path: &str, paths: &[&str], kind| {
            let from = From { kind, path: "vm/m.vmx" };
            let claimed = paths.iter().flat_map(|path| files.at(path, from)).collect();
            match Finder::new(&files, from, paths.iter().copied(), &claimed).find(path) {
                Err(error) if error.code == "ambiguous-file" => Some(unclear),
                found => found.unwrap(),
            }
        };
        // (kind, path, the file)
        for (kind, path, expected) in [
            (Kind::Vmx, "a.vmdk", Some(0)),
            (Kind::Vmx, "./a.vmdk", Some(0)),
            (Kind::Vmx, "Snapshots\\b.vmdk", Some(1)),
            (Kind::Vmx, "../other/b.vmdk", Some(2)),
            (Kind::Vmx, "/abs/b.vmdk", Some(6)),
            (Kind::Vmx, "b.vmdk", Some(unclear)),
            (Kind::Vmx, "/vmfs/volumes/1/A.vmdk", Some(0)),
            (Kind::Vbox, "D:\\VMs\\c.VMDK", Some(3)),
            (Kind::Vmx, "d%20e.vmdk", None),
            (Kind::Ovf, "d%20e.vmdk", Some(4)),
            (Kind::Ovf, "../x/a%20b", Some(5)),
            (Kind::Vmx, "e.vmdk", None),
        ] {
            assert_eq!(find(path, &[path], kind), expected, "{path}");
        }
        // (what, path, the others of the machine, the file)
        for (what, path, others, expected) in [
            ("one file for two disks", "/one/a.vmdk", &["/two/A.vmdk"][..], Some(unclear)),
            ("the path decides", "a.vmdk", &["/two/a.vmdk"], Some(0)),
            ("the file is another disk", "/two/a.vmdk", &["a.vmdk"], None),
            ("all but one are other disks", "b.vmdk", &["/abs/b.vmdk", "../other/b.vmdk"], Some(1)),
        ] {
            let paths = [&[path], others].concat();
            assert_eq!(find(path, &paths, Kind::Vmx), expected, "{what}");
        }
    }
}
