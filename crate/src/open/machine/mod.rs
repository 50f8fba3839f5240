//! Virtual machines: the disks that their configurations describe, and the files of these disks. The rules are the same for a machine in
//! a folder, in an archive and on a server.

mod files;
mod hardware;
mod loose;
mod machines;
mod ovf;
mod text;
mod vbox;
mod vmx;

use crate::disk::hardware::Hardware;
use crate::disk::info::{Capacity, Snapshot};
use crate::format::RAW;
use crate::offsets::MAX_SIZE;
use crate::open::chain::open_options::{StatedDisk, StatedParent};
pub use loose::DiskOfMachine;
pub(super) use loose::disk_of_machine;
pub(super) use machines::{FoundDisk, Machines};
pub(super) use text::{readable_text_of, text_of};

/// The kind of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Ovf,
    Vbox,
    Vmx,
}

impl Kind {
    /// The kind of the file `name`, by its suffix.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        Self::of_format(&name.rsplit_once('.')?.1.to_ascii_lowercase())
    }

    /// The kind of a file in `format`, a name in the registry of formats.
    pub(super) fn of_format(format: &str) -> Option<Self> {
        match format {
            "ovf" => Some(Self::Ovf),
            "vbox" => Some(Self::Vbox),
            "vmx" => Some(Self::Vmx),
            _ => None,
        }
    }

    /// The product whose encryption such a configuration marks.
    pub(super) fn encrypts_by(self) -> &'static str {
        match self {
            Self::Ovf => "OVF",
            Self::Vbox => "VirtualBox",
            Self::Vmx => "VMware",
        }
    }

    /// Reads the configuration `text`.
    pub(super) fn read(self, text: &str) -> Machine {
        let machine = match self {
            Self::Ovf => ovf::read(text),
            Self::Vbox => vbox::read(text),
            Self::Vmx => vmx::read(text),
        };
        let state = |state: State| State { disks: distinct(state.disks), ..state };
        Machine {
            name: machine.name.filter(|name| !name.is_empty()),
            disks: distinct(machine.disks),
            states: machine.states.into_iter().map(state).collect(),
            ..machine
        }
    }
}

/// Whether `path` may be that of a file: no system has longer ones.
fn is_path(path: &str) -> bool {
    const MOST: usize = 4096;
    path.len() <= MOST
}

/// A machine, as its configuration describes it. Ignores unknown parts of the configuration.
#[derive(Default)]
pub(super) struct Machine {
    pub(super) name: Option<String>,
    /// Its hardware, apart from the controllers of disks.
    hardware: Hardware,
    /// The disks with files, in the current state, in the order of the configuration.
    pub(super) disks: Vec<MachineDisk>,
    /// The snapshots that the configuration lists; see [`snapshots_in`] for others.
    pub(super) states: Vec<State>,
    /// The paths of encrypted files, of disks in any state.
    pub(super) encrypted: Vec<String>,
    /// Whether the configuration has an encrypted part, which may name the disks.
    pub(super) is_encrypted: bool,
}

impl Machine {
    /// The hardware, as it is for `disk`; `None` if the configuration states none.
    pub(super) fn hardware_with(&self, disk: &MachineDisk) -> Option<Hardware> {
        let hardware = Hardware { controller: disk.controller, ..self.hardware.clone() };
        Some(hardware).filter(|hardware| *hardware != Hardware::default())
    }
}

/// A disk of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MachineDisk {
    /// The path of its file.
    pub(super) path: String,
    /// The name of the format that is stated for it.
    pub(super) format: Option<&'static str>,
    pub(super) capacity: Option<Capacity>,
    /// The number of pieces that its file is stored in, if that is stated.
    pub(super) pieces: Option<u64>,
    /// The files of the layers below it, from the nearest one to the last, if the configuration states them.
    pub(super) parents: Vec<StatedParent>,
    /// The kind of its controller.
    controller: Option<&'static str>,
}

impl MachineDisk {
    /// The statements about it, apart from its files.
    pub(super) fn stated(&self) -> StatedDisk {
        StatedDisk { parents: self.parents.clone(), is_raw: self.format == Some(RAW.name), capacity: self.capacity }
    }

    /// The virtual size that is stated for it, if JavaScript can represent it.
    pub(super) fn virtual_size(&self) -> Option<u64> {
        self.capacity.map(|capacity| capacity.size).filter(|&size| size <= MAX_SIZE)
    }

    /// A disk with nothing known but the path of its file.
    fn at(path: String) -> Self {
        Self { path, format: None, capacity: None, pieces: None, parents: Vec::new(), controller: None }
    }
}

/// A snapshot of a machine.
pub(super) struct State {
    pub(super) id: String,
    pub(super) name: String,
    /// When it was taken, in seconds since 1970; 0 if that is unknown.
    date_seconds: i64,
    /// The disks in that state.
    pub(super) disks: Vec<MachineDisk>,
}

impl State {
    /// Describes the snapshot in the form that the snapshots of images have.
    pub(super) fn described(&self) -> Snapshot {
        Snapshot::of_machine(self.id.clone(), self.name.clone(), self.date_seconds.try_into().unwrap_or(u32::MAX))
    }
}

/// Returns the snapshots in `text`, the `.vmsd` of a machine of VMware.
pub(super) fn snapshots_in(text: &str) -> Vec<State> {
    let mut states = vmx::states(text);
    states.iter_mut().for_each(|state| state.disks = distinct(std::mem::take(&mut state.disks)));
    states
}

/// Returns `disks` without those whose file an earlier one has.
fn distinct(disks: Vec<MachineDisk>) -> Vec<MachineDisk> {
    let mut seen = std::collections::HashSet::new();
    disks.into_iter().filter(|disk| seen.insert(disk.path.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts of 1 MiB that a careless parser would read in very many ways: the test would not end.
    #[test]
    fn hostile_texts() {
        let parts = [
            "<",
            "<a",
            "<a ",
            "<a \"",
            "<a '\"",
            "<a b=",
            "a",
            " ",
            "&",
            "&a",
            "<!--",
            "<![CDATA[",
            "=",
            "<a/",
            "a=",
            "\"",
            "<a b='c",
            "|",
            "|a",
            "#",
            "\n",
            "a=b\n",
            "<HardDisk>",
            "<Snapshot>",
            "<Disk parentRef='a' diskId='a'/>",
        ];
        for part in parts {
            let text = part.repeat((1 << 20) / part.len());
            for kind in [Kind::Ovf, Kind::Vbox, Kind::Vmx] {
                for text in [&text, &format!("<Disk {text}"), &format!("<Disk a=\"{}\"/>", text.replace('"', ""))] {
                    assert!(kind.read(text).disks.is_empty(), "{part}");
                }
            }
            assert!(snapshots_in(&text).is_empty(), "{part}");
        }
    }
}
