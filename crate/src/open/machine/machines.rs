//! The machines whose configurations are among files.

use super::files::{FileNames, From};
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

/// Maximum number of names in an error message.
const LISTED: usize = 3;

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
    /// `source`; and with `internal` if memory runs out.
    pub(in crate::open) async fn among(files: &[Member], snapshot: Option<&str>) -> Result<Self> {
        let mut machines = Self::default();
        for file in files {
            let Some(kind) = Kind::of_name(&file.name) else { continue };
            let Some(text) = readable_text_of(file).await? else { continue };
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
        let is_it = |machine: &Configured, path: &str| {
            let is_there = |found: Vec<usize>| !found.is_empty();
            is_there(names.at(path, machine.from()))
                || !matches!(machine.kind, Kind::Ovf) && is_there(names.called(path, machine.from()))
        };
        self.all.iter().find_map(|machine| machine.machine.disks.iter().find(|disk| is_it(machine, &disk.path)))
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
        let names = FileNames::new(files.iter().map(|file| &*file.name));
        let mut found: Vec<FoundDisk> = Vec::new();
        let mut is_listed = vec![false; files.len()];
        for (number, machine) in self.all.iter().enumerate() {
            let from = machine.from();
            let disks = &machine.machine.disks;
            let paths: Vec<_> = disks.iter().map(|disk| &*disk.path).collect();
            for disk in disks {
                let at = match machine.kind {
                    // The paths in a package are those in the archive, in which several files may have one name.
                    Kind::Ovf => names.at(&disk.path, from),
                    _ => names.find(&disk.path, &paths, from)?.into_iter().collect(),
                };
                let parents = disk.parents.iter().map(|parent| match names.at(&parent.name, from)[..] {
                    [at, ..] => StatedParent { name: files[at].name.clone(), ..*parent },
                    [] => parent.clone(),
                });
                let disk = MachineDisk { parents: parents.collect(), ..disk.clone() };
                let is_missing =
                    at.is_empty() && (machine.kind != Kind::Ovf || names.called(&disk.path, from).is_empty());
                if is_missing {
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
    pub(in crate::open) fn missing(&self, FoundDisk { disk, machine, .. }: &FoundDisk, list: &DiskList) -> Error {
        Holder::Archive("").missing(&disk.path, &self.all[*machine].path, list)
    }

    /// Fails with `unsupported` if a configuration marks `image`, one of `files`, as encrypted, although its file does not show it.
    pub(in crate::open) fn require_plain(&self, image: &Member, files: &[Member]) -> Result<()> {
        let names = FileNames::new(files.iter().map(|file| &*file.name));
        let is_image = |at: usize| files[at].name == image.name;
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
