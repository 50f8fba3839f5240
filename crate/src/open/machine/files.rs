//! Finds files by the paths in a configuration.

use super::Kind;
use crate::disk::file_name::percent_decoded;
use crate::disk::name_index::NameIndex;
use crate::disk::reference::{base_name, resolved};
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use decant_text::folded;

/// The names of files, for a search by paths.
pub(super) struct FileNames {
    by_path: NameIndex,
    by_base_name: NameIndex,
    /// By base name, normalised in Unicode form and case.
    by_folded_name: NameIndex,
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
            by_folded_name: by(|name| folded(base_name(name))),
        }
    }

    /// Returns the files at `path`.
    pub(super) fn at(&self, path: &str, from: From<'_>) -> Vec<usize> {
        first_of(from.spellings(path), |path| self.by_path.find(&resolved(path, from.path)))
    }

    /// Returns the files that have the last part of `path`, in any case if need be.
    pub(super) fn called(&self, path: &str, from: From<'_>) -> Vec<usize> {
        let found = first_of(from.spellings(path), |path| self.by_base_name.find(base_name(path)));
        if !found.is_empty() {
            return found;
        }
        first_of(from.spellings(path), |path| self.by_folded_name.find(&folded(base_name(path))))
    }

    /// Returns the file at `path`, or else the only one that has its last part. `paths` has all paths of the configuration. Fails with
    /// `usage` if several files match, or one by the last part of several paths.
    pub(super) fn find(&self, path: &str, paths: &[&str], from: From<'_>) -> Result<Option<usize>> {
        let at_path = self.at(path, from);
        let found = if at_path.is_empty() { self.called(path, from) } else { at_path.clone() };
        let namesakes = || paths.iter().filter(|other| folded(base_name(other)) == folded(base_name(path))).count();
        match found[..] {
            [] => Ok(None),
            [one] if !at_path.is_empty() || namesakes() < 2 => Ok(Some(one)),
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
            let found = match files.find(path, &[path], From { kind, path: "vm/m.vmx" }) {
                Err(error) if error.code == "ambiguous-file" => Some(unclear),
                found => found.unwrap(),
            };
            assert_eq!(found, expected, "{path}");
        }
        let from = From { kind: Kind::Vmx, path: "vm/m.vmx" };
        let paths = ["/one/a.vmdk", "/two/A.vmdk"];
        assert!(files.find(paths[0], &paths, from).is_err(), "one file for two disks");
        assert_eq!(files.find("a.vmdk", &["a.vmdk", "/two/a.vmdk"], from).unwrap(), Some(0), "the path decides");
    }
}
