//! The machines whose configurations are among files.

use super::files::{FileNames, Finder, From};
use super::text::decoded;
use super::{Kind, Machine, MachineDisk, State, readable_text_of, snapshots_in};
use crate::container::Member;
use crate::disk::hardware::Hardware;
use crate::disk::info::{Capacity, DiskList, MemberInfo, Snapshot};
use crate::disk::reference::base_name;
use crate::error::place::Place;
use crate::error::shown::{shown, shown_names};
use crate::error::{Error, ErrorKind, Result};
use crate::open::chain::open_options::StatedParent;
use crate::open::disk_choice::Holder;
use decant_text::folded;
use std::rc::Rc;

/// Maximum number of names in an error message.
const LISTED: usize = 3;
/// Maximum length of all configurations of an archive, in bytes. One configuration usually has a few KB.
const MOST_TEXT: usize = 16 << 20;

/// A machine and its configuration.
pub(in crate::open) struct Configured {
    kind: Kind,
    /// The path of the configuration.
    pub(in crate::open) path: String,
    machine: Machine,
}

/// A disk of a machine among files.
#[derive(Clone)]
pub(in crate::open) struct FoundDisk {
    pub(in crate::open) disk: MachineDisk,
    /// The index of its file; `None` if that is missing.
    pub(in crate::open) file: Option<usize>,
    /// The index of its machine.
    pub(in crate::open) machine: usize,
}

/// The machines among the files of an archive, in the order of their configurations.
#[derive(Default)]
pub(in crate::open) struct Machines {
    all: Vec<Configured>,
    /// Whether their disks are those of the requested snapshot.
    pub(in crate::open) are_in_snapshot: bool,
}

impl Configured {
    /// Reads the configuration `text` at `path`.
    fn new(kind: Kind, path: &str, text: &str) -> Self {
        Self { kind, path: path.to_owned(), machine: kind.read(text) }
    }

    fn from(&self) -> From<'_> {
        From { kind: self.kind, path: &self.path }
    }

    /// The paths of the files of its disks, and of their parents.
    fn paths(&self) -> impl Iterator<Item = &str> {
        let disks = self.machine.disks.iter();
        disks.flat_map(|disk| std::iter::once(&*disk.path).chain(disk.parents.iter().map(|parent| &*parent.name)))
    }

    pub(in crate::open) fn name(&self) -> Option<&str> {
        self.machine.name.as_deref()
    }

    /// The hardware of the machine, as it is for `disk`.
    pub(in crate::open) fn hardware_with(&self, disk: &MachineDisk) -> Option<Hardware> {
        self.machine.hardware_with(disk)
    }

    pub(in crate::open) fn snapshots(&self) -> Vec<Snapshot> {
        self.machine.states.iter().map(State::described).collect()
    }

    /// Whether images beside its disks are ignored: in a folder they are left over from snapshots, in a package they are disks.
    fn is_folder(&self) -> bool {
        !matches!(self.kind, Kind::Ovf) && !self.machine.disks.is_empty()
    }

    /// The error for a machine whose disks are named in an encrypted part of its configuration.
    fn encrypted(&self) -> Option<Error> {
        let is_hidden = self.machine.is_encrypted && self.machine.disks.is_empty();
        is_hidden.then(|| Error::encrypted_machine(self.kind.encrypts_by()).within(Place::Member(self.path.clone())))
    }
}

impl Machines {
    /// Reads the configurations among `files`, the files of an archive. Damaged ones are ignored. The disks are those of `snapshot` if a
    /// machine has snapshots, otherwise the current ones. Fails with `usage` if machines have snapshots, but none has `snapshot`; with
    /// `limit` if all configurations together are longer than [`MOST_TEXT`]; with `source`; and with `internal` if memory runs out.
    pub(in crate::open) async fn among(files: &[Member], snapshot: Option<&str>) -> Result<Self> {
        let (mut machines, mut len) = (Self::default(), 0);
        for file in files.iter().filter(|file| !file.is_link) {
            let Some(kind) = Kind::of_name(&file.name) else { continue };
            let Some(text) = readable_text_of(file).await? else { continue };
            len += text.len();
            if len > MOST_TEXT {
                return Err(too_many_configurations());
            }
            let mut found = Configured::new(kind, &file.name, &text);
            if kind == Kind::Vmx {
                let list = snapshot_list(&file.name);
                let list = files.iter().find(|file| folded(&file.name) == list);
                let text = match list {
                    Some(list) => readable_text_of(list).await?,
                    None => None,
                };
                found.machine.states = text.map_or_else(Vec::new, |text| snapshots_in(&text));
            }
            machines.all.push(found);
        }
        if let Some(snapshot) = snapshot {
            machines.select(snapshot)?;
        }
        Ok(machines)
    }

    /// Adds the machine whose configuration is the file `name` with these bytes, if it is one.
    pub(in crate::open) fn add(&mut self, name: &str, bytes: &[u8]) {
        if let Some(kind) = Kind::of_name(name) {
            self.all.push(Configured::new(kind, name, &decoded(bytes)));
        }
    }

    /// The number of disks that the configurations name.
    pub(in crate::open) fn count(&self) -> usize {
        self.all.iter().map(|machine| machine.machine.disks.len()).sum()
    }

    /// Whether the file `name` is the only disk.
    pub(in crate::open) fn names_only(&self, name: &str) -> bool {
        self.count() == 1 && self.disk_called(name).is_some()
    }

    /// The capacity that is stated for the disk in the file `name`.
    pub(in crate::open) fn capacity_of(&self, name: &str) -> Option<Capacity> {
        self.disk_called(name)?.capacity
    }

    fn disk_called(&self, name: &str) -> Option<&MachineDisk> {
        let names = FileNames::new(std::iter::once(name));
        let found = |by: fn(&FileNames, &str, From<'_>) -> Vec<usize>| {
            self.all.iter().find_map(|machine| {
                machine.machine.disks.iter().find(|disk| !by(&names, &disk.path, machine.from()).is_empty())
            })
        };
        found(FileNames::at).or_else(|| found(FileNames::called))
    }

    /// Replaces the disks of the current state by those of `snapshot`.
    fn select(&mut self, snapshot: &str) -> Result<()> {
        let mut refusal = None;
        for machine in self.all.iter_mut().map(|found| &mut found.machine).filter(|machine| !machine.states.is_empty())
        {
            match state_of(&machine.states, snapshot) {
                Ok(at) => {
                    machine.disks = machine.states[at].disks.clone();
                    self.are_in_snapshot = true;
                }
                Err(error) => {
                    machine.disks = Vec::new();
                    refusal = refusal.or(Some(error));
                }
            }
        }
        refusal.filter(|_| !self.are_in_snapshot).map_or(Ok(()), Err)
    }

    pub(in crate::open) fn get(&self, machine: usize) -> &Configured {
        &self.all[machine]
    }

    /// Whether the configurations name all disks of the archive.
    pub(in crate::open) fn are_folders(&self) -> bool {
        self.all.iter().any(Configured::is_folder)
    }

    /// The name of the first machine that has a name.
    pub(in crate::open) fn name(&self) -> Option<&str> {
        self.all.iter().find_map(Configured::name)
    }

    /// The paths of the configurations of the machines that have `disks`; empty if these belong to one.
    pub(in crate::open) fn several<'a>(&self, disks: impl Iterator<Item = &'a FoundDisk>) -> Vec<String> {
        let mut machines: Vec<_> = disks.map(|disk| disk.machine).collect();
        machines.sort_unstable();
        machines.dedup();
        let paths = machines.iter().map(|&machine| self.all[machine].path.clone());
        if machines.len() > 1 { paths.collect() } else { Vec::new() }
    }

    /// The snapshots of the only machine.
    pub(in crate::open) fn snapshots(&self) -> Vec<Snapshot> {
        match &self.all[..] {
            [machine] => machine.snapshots(),
            _ => Vec::new(),
        }
    }

    /// Finds the disks of all machines among `files`. Fails with `usage` if it is unclear which file is a disk, and with `unsupported` if
    /// the configuration of the only machine does not show its disks, because they are encrypted.
    pub(in crate::open) fn disks_among(&self, files: &[Member]) -> Result<Vec<FoundDisk>> {
        // Links are the last files, and count only at their paths.
        let own = files.iter().take_while(|file| !file.is_link);
        let (names, with_links) =
            (FileNames::new(own.map(|file| &*file.name)), FileNames::new(files.iter().map(|file| &*file.name)));
        let at_paths = |machine: &Configured| {
            let paths = machine.paths();
            paths.flat_map(|path| names.at(path, machine.from())).collect::<Vec<_>>()
        };
        let claimed = self.all.iter().flat_map(at_paths).collect();
        let mut found: Vec<FoundDisk> = Vec::new();
        let mut is_listed = vec![false; files.len()];
        for (number, machine) in self.all.iter().enumerate() {
            let from = machine.from();
            let finder = Finder::new(&names, from, machine.paths(), &claimed);
            let find = |path: &str| match with_links.at(path, from)[..] {
                [link] if files[link].is_link => Ok(Some(link)),
                _ => finder.find(path),
            };
            for disk in &machine.machine.disks {
                let at = match names.at(&disk.path, from) {
                    // The paths in a package are those in the archive, in which several files may have one name.
                    several if matches!(machine.kind, Kind::Ovf) && several.len() > 1 => several,
                    _ => find(&disk.path)?.into_iter().collect(),
                };
                let parent = |parent: &StatedParent| {
                    let at = names
                        .at(&parent.name, from)
                        .first()
                        .copied()
                        .map_or_else(|| find(&parent.name), |at| Ok(Some(at)));
                    Ok(match at? {
                        Some(at) => StatedParent { name: files[at].name.clone(), ..*parent },
                        None => parent.clone(),
                    })
                };
                let parents = disk.parents.iter().map(parent).collect::<Result<_>>()?;
                let disk = MachineDisk { parents, ..disk.clone() };
                if at.is_empty() {
                    found.push(FoundDisk { disk: disk.clone(), file: None, machine: number });
                }
                for at in at.into_iter().filter(|&at| !std::mem::replace(&mut is_listed[at], true)) {
                    found.push(FoundDisk { disk: disk.clone(), file: Some(at), machine: number });
                }
            }
        }
        match &self.all[..] {
            [machine] => machine.encrypted().map_or(Ok(found), Err),
            _ => Ok(found),
        }
    }

    /// Describes `disk`, whose file is missing.
    pub(in crate::open) fn info_of_missing(&self, FoundDisk { disk, machine, .. }: &FoundDisk) -> MemberInfo {
        let path = self.all[*machine].from().spelled(&disk.path);
        let name = base_name(&path).to_owned();
        MemberInfo { name, size: 0, format: None, virtual_size: disk.virtual_size(), missing: true }
    }

    /// Returns the error for `disk`, whose file is missing, among those of `list`.
    pub(in crate::open) fn missing(
        &self,
        container: &str,
        FoundDisk { disk, machine, .. }: &FoundDisk,
        list: &DiskList,
    ) -> Error {
        Holder::Archive(container).missing(&disk.path, &self.all[*machine].path, list)
    }

    /// Fails with `unsupported` if a configuration says that `image`, one of `files`, is encrypted: its file may not show it.
    pub(in crate::open) fn require_plain(&self, image: &Member, files: &[Member]) -> Result<()> {
        let names = FileNames::new(files.iter().map(|file| &*file.name));
        let is_image = |at: usize| Rc::ptr_eq(&files[at].source, &image.source);
        for machine in &self.all {
            let from = machine.from();
            let refers = |path: &String| {
                let at = names.at(path, from);
                if at.is_empty() {
                    names.called(path, from).into_iter().any(is_image)
                } else {
                    at.into_iter().any(is_image)
                }
            };
            if machine.machine.encrypted.iter().any(refers) {
                return Err(Error::encrypted(machine.kind.encrypts_by()).within(Place::Member(image.name.clone())));
            }
        }
        Ok(())
    }
}

fn too_many_configurations() -> Error {
    let message = format!(
        "The configurations of virtual machines in the archive have more than {} MiB together; extract the files of the machine",
        MOST_TEXT >> 20
    );
    Error::new(ErrorKind::Limit, message)
}

/// Returns the path of the file that lists the snapshots of the `.vmx` at `path`, folded.
pub(super) fn snapshot_list(path: &str) -> String {
    let path = folded(path);
    path.strip_suffix(".vmx").map(|stem| format!("{stem}.vmsd")).unwrap_or_default()
}

/// Returns the index of the only one of `states` that `wanted` states, by its ID, or else by its name. Fails with `usage`.
pub(super) fn state_of(states: &[State], wanted: &str) -> Result<usize> {
    let by = |is_it: &dyn Fn(&State) -> bool| (0..states.len()).filter(|&at| is_it(&states[at])).collect::<Vec<_>>();
    let mut found = by(&|state| state.id == wanted);
    if found.is_empty() {
        found = by(&|state| state.name == wanted);
    }
    if let [one] = found[..] {
        return Ok(one);
    }
    let known: Vec<_> = states.iter().map(|state| format!("{} ({})", state.name, state.id)).collect();
    let known = shown_names(known.iter().map(String::as_str), LISTED);
    let which = if found.is_empty() { "no snapshot" } else { "several snapshots" };
    Err(Error::new(ErrorKind::Usage, format!("The virtual machine has {which} '{}'; it has {known}", shown(wanted))))
}
