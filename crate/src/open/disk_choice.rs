//! The choice of one of the disks in a container.

use crate::disk::info::{DiskList, MemberInfo, Snapshot};
use crate::disk::reference::base_name;
use crate::error::fields::Fields;
use crate::error::shown::{shown, shown_names};
use crate::error::{Error, ErrorKind, Result};

/// Maximum number of names in an error message.
const LISTED: usize = 3;

/// The disk that a caller chooses from a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiskChoice {
    /// Its number in the list of disks, from 1.
    Number(u64),
    /// Its name in the container, or the last component of that name.
    Name(String),
}

/// The choice of a disk among several, which the caller has to make.
pub struct Choice(Error);

impl Choice {
    /// The error for a caller that cannot choose. Its fields have the disks.
    pub fn refusal(self) -> Error {
        self.0
    }
}

/// The disk to open.
pub(super) enum Chosen {
    /// Its index in the list.
    Disk(usize),
    ToChoose(Choice),
}

/// Whether a caller chooses among the disks of a container.
#[derive(Clone, Copy, Default)]
pub(crate) enum Choosing<'a> {
    /// The caller has chosen this disk.
    Stated(&'a DiskChoice),
    /// The caller may choose a disk, but has not.
    Possible,
    /// No disk can be chosen: the container is a companion, or was itself chosen from another container.
    #[default]
    Impossible,
}

impl<'a> Choosing<'a> {
    /// The name of the disk that the caller has chosen.
    pub(super) fn name(self) -> Option<&'a str> {
        match self {
            Self::Stated(DiskChoice::Name(name)) => Some(name),
            _ => None,
        }
    }

    /// Whether the caller may choose a disk, but has not.
    pub(super) fn is_open(self) -> bool {
        matches!(self, Self::Possible)
    }

    /// Whether the caller has chosen `disk`, a name in a container, by its name.
    pub(super) fn names(self, disk: &str) -> bool {
        self.name().is_some_and(|name| disk == name || base_name(disk) == name)
    }

    /// Returns the disk to open among those in `list` of `holder`, which has at least one. Fails with `unsupported` if there are several
    /// and none can be chosen, and as [`find`] does.
    pub(super) fn choose(self, holder: Holder<'_>, list: &DiskList) -> Result<Chosen> {
        Ok(match self {
            // The only file may be an archive that holds the stated disk, so the choice is checked in the innermost archive.
            _ if list.disks.len() == 1 && matches!(holder, Holder::Archive(_)) => Chosen::Disk(0),
            Self::Stated(choice) => Chosen::Disk(find_in(holder, choice, list)?),
            _ if list.disks.len() == 1 => Chosen::Disk(0),
            Self::Possible => Chosen::ToChoose(Choice(several(holder, list, ErrorKind::Usage, "state which one"))),
            Self::Impossible => return Err(several(holder, list, ErrorKind::Unsupported, "extract the one you need")),
        })
    }

    /// Like [`Self::choose`], if no file looks like a disk: the caller must state a file, even if there is only one.
    pub(super) fn choose_unknown(self, container: &str, list: &DiskList) -> Result<Chosen> {
        let advice = match self {
            Self::Stated(choice) => return find(choice, list).map(Chosen::Disk),
            Self::Possible if list.disks.len() == 1 => "if this file is a raw disk, state it",
            Self::Possible => "if one of them is a raw disk, state which one",
            Self::Impossible => "extract the disk",
        };
        let is_possible = matches!(self, Self::Possible);
        let kind = if is_possible { ErrorKind::Usage } else { ErrorKind::Unsupported };
        let message = match &list.disks[..] {
            [file] => format!(
                "The {container} archive holds no file in a disk image format that Decant recognises; {advice}: '{}'",
                shown(&file.name)
            ),
            _ => format!(
                "No file in the {container} archive is in a disk image format that Decant recognises: {}; {advice}",
                names(&list.disks)
            ),
        };
        let refusal = refused(kind, message, "no-image", list);
        if is_possible { Ok(Chosen::ToChoose(Choice(refusal))) } else { Err(refusal) }
    }
}

/// The archive or machine from whose disks one is chosen.
#[derive(Clone, Copy)]
pub(super) enum Holder<'a> {
    /// An archive in the container of this name.
    Archive(&'a str),
    /// A virtual machine whose configuration was passed together with the files of its disks.
    Machine,
}

impl Holder<'_> {
    /// Returns its name for people, and the verb for its disks.
    fn words(self) -> (String, &'static str) {
        match self {
            Self::Archive("") => ("The archive".to_owned(), "holds"),
            Self::Archive(container) => (format!("The {container} archive"), "holds"),
            Self::Machine => ("The virtual machine".to_owned(), "has"),
        }
    }

    /// Adds the name of the container to `error`, which is on the disks in it.
    fn named_in(self, error: Error) -> Error {
        match self {
            Self::Archive(container) => error.field("container", container),
            Self::Machine => error,
        }
    }

    /// The error for the disk at `path`, which `descriptor` names, but whose file is not among those in `list`.
    pub(super) fn missing(self, path: &str, descriptor: &str, list: &DiskList) -> Error {
        let disk = shown(path);
        let message = match self {
            Self::Archive(_) => format!(
                "'{disk}', a disk of the virtual machine that '{}' describes, is missing from the archive; to open another of its disks, \
                 state which one",
                shown(descriptor)
            ),
            Self::Machine => {
                format!("'{disk}', a disk of the virtual machine, is missing; pass it together with its configuration")
            }
        };
        let error = refused(ErrorKind::MissingFile, message, "missing-file", list);
        self.named_in(error).field("file", path).field("role", "disk").field("neededBy", descriptor)
    }
}

/// Returns the index of the disk of an archive that `choice` states. Fails with `usage` if there is none, or if several have the name.
pub(crate) fn find(choice: &DiskChoice, list: &DiskList) -> Result<usize> {
    find_in(Holder::Archive(""), choice, list)
}

fn find_in(holder: Holder<'_>, choice: &DiskChoice, list: &DiskList) -> Result<usize> {
    // The disk may be in any archive of several, one in the other.
    let holder = if matches!(holder, Holder::Archive(_)) { Holder::Archive("") } else { holder };
    let (subject, has) = holder.words();
    let disks = &list.disks;
    let by = |is_it: &dyn Fn(usize) -> bool| (0..disks.len()).filter(|&at| is_it(at)).collect::<Vec<_>>();
    let (found, stated) = match choice {
        DiskChoice::Number(number) => (by(&|at| at as u64 + 1 == *number), number.to_string()),
        DiskChoice::Name(name) => (named(name, disks.iter().map(|disk| &*disk.name)), format!("'{}'", shown(name))),
    };
    match found[..] {
        [at] => Ok(at),
        [] if disks.is_empty() => Err(not_in_archive()),
        [] => {
            let message = format!("{subject} {has} no disk {stated}; it {has} {}", names(disks));
            Err(refused(ErrorKind::Usage, message, "no-such-disk", list))
        }
        _ => {
            let message = format!("{subject} {has} several disks {stated}; state the whole name or the number of one");
            Err(refused(ErrorKind::Usage, message, "no-such-disk", list))
        }
    }
}

/// Returns the indices of the names that equal `name`; if there are none, of the names whose last component does.
pub(super) fn named<'a>(name: &str, names: impl Iterator<Item = &'a str> + Clone) -> Vec<usize> {
    let by = |is_it: &dyn Fn(&str) -> bool| {
        let found = names.clone().enumerate().filter(|(_, other)| is_it(other));
        found.map(|(at, _)| at).collect::<Vec<_>>()
    };
    let found = by(&|other| other == name);
    if found.is_empty() { by(&|other| base_name(other) == name) } else { found }
}

/// The error for a choice of a disk where there is no archive, or where the archive is read in order.
pub(crate) fn not_in_archive() -> Error {
    let message = "A disk can be chosen only in a virtual machine, an uncompressed tar archive such as an OVA, or a zip archive, \
                   and not in a stream";
    refused(ErrorKind::Usage, message.to_owned(), "no-such-disk", &DiskList::default())
}

fn several(holder: Holder<'_>, list: &DiskList, kind: ErrorKind, advice: &str) -> Error {
    let (count, (subject, has)) = (list.disks.len(), holder.words());
    let message = format!("{subject} {has} {count} disk images, {}; {advice}", names(&list.disks));
    holder.named_in(refused(kind, message, "several-images", list)).field("count", count as u64)
}

/// The names of `disks` and of the missing ones.
fn names(disks: &[MemberInfo]) -> String {
    let names = |disks: &[&MemberInfo]| shown_names(disks.iter().map(|disk| &*disk.name), LISTED);
    let (all, missing): (Vec<_>, Vec<_>) = (disks.iter().collect(), disks.iter().filter(|disk| disk.missing).collect());
    let lacks = match missing.len() {
        0 => String::new(),
        1 => format!(" ({} is missing)", names(&missing)),
        _ => format!(" ({} are missing)", names(&missing)),
    };
    names(&all) + &lacks
}

fn refused(kind: ErrorKind, message: String, code: &'static str, list: &DiskList) -> Error {
    let mut error =
        Error::new(kind, message).coded(code).field("disks", list.disks.iter().map(fields).collect::<Vec<_>>());
    if let Some(machine) = &list.machine {
        error = error.field("machine", &**machine);
    }
    if !list.machines.is_empty() {
        error = error.field("machines", list.machines.iter().map(|name| named_fields(name)).collect::<Vec<_>>());
    }
    if !list.snapshots.is_empty() {
        error = error.field("snapshots", list.snapshots.iter().map(fields_of_snapshot).collect::<Vec<_>>());
    }
    error
}

/// The fields of a snapshot of a virtual machine, as `Snapshot` of the API has them.
fn fields_of_snapshot(snapshot: &Snapshot) -> Fields {
    let mut fields = Fields::default();
    fields.set("id", snapshot.id.as_str().into());
    fields.set("name", snapshot.name.as_str().into());
    // Configurations of machines record whole seconds.
    fields.set("date", (snapshot.date as u64).into());
    for unknown in ["vmClock", "vmStateSize"] {
        fields.set(unknown, 0.into());
    }
    fields
}

fn named_fields(name: &str) -> Fields {
    let mut fields = Fields::default();
    fields.set("name", name.into());
    fields
}

fn fields(disk: &MemberInfo) -> Fields {
    let mut fields = named_fields(&disk.name);
    fields.set("size", disk.size.into());
    if let Some(format) = disk.format {
        fields.set("format", format.into());
    }
    if let Some(size) = disk.virtual_size {
        fields.set("virtualSize", size.into());
    }
    if disk.missing {
        fields.set("missing", true.into());
    }
    fields
}
