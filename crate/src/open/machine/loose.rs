//! A machine whose configuration and disks are separate files.

use super::files::{FileNames, Finder, From};
use super::machines::{snapshot_list, state_of};
use super::text::text_in;
use super::{Kind, Machine, MachineDisk, State, snapshots_in};
use crate::disk::hardware::Hardware;
use crate::disk::info::{DiskList, MemberInfo, Snapshot};
use crate::disk::reference::base_name;
use crate::error::place::Place;
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::format::RAW;
use crate::io::pieces::Pieces;
use crate::io::source::Source;
use crate::io::table_cache::TableCache;
use crate::open::Opened;
use crate::open::chain::open_options::{Companion, OpenOptions, StatedDisk, StatedParent};
use crate::open::disk_choice::{Chosen, Holder};
use crate::open::identify::{FileType, identify};
use crate::open::split::pieces::{piece_name, pieces_among};
use decant_text::folded;
use serde::Serialize;
use std::collections::HashSet;
use std::rc::Rc;

/// The disk to open of a machine.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DiskOfMachine {
    /// The number of its file among the companions.
    pub file: usize,
    /// The number of the disk among `members`.
    pub number: usize,
    /// The disks of the machine.
    pub members: Vec<MemberInfo>,
    /// The name of the machine.
    pub machine: Option<String>,
    /// The hardware of the machine, if its configuration states some.
    pub hardware: Option<Hardware>,
    /// The snapshots of the machine.
    pub snapshots: Vec<Snapshot>,
    /// Whether the disk is in the state of the stated snapshot.
    pub is_in_snapshot: bool,
    /// The statements of the configuration about the disk.
    pub stated: StatedDisk,
}

/// A disk, and its file among the companions: one, or pieces.
struct Found<'a> {
    disk: &'a MachineDisk,
    name: String,
    files: Vec<usize>,
    /// The name of the first missing piece, if others were found.
    missing_piece: Option<String>,
}

/// Finds the disk that `options` state, or the only one, of the machine whose configuration of this `kind` is `source`, or the disks to
/// choose from. `None` if the configuration is too long or names no disks.
///
/// Fails with `missing-file` if the file of the disk, a piece of it, or all files are missing; with `usage` if the stated disk or the
/// snapshot does not exist, or if it is unclear which file is a disk; with `unsupported` if the disk is encrypted, and with `source`.
pub(in crate::open) async fn disk_of_machine(
    kind: Kind,
    source: &dyn Source,
    options: &OpenOptions,
    tables: &Rc<TableCache>,
) -> Result<Option<Opened>> {
    let Some((machine, is_in_snapshot)) = machine_of(kind, source, options).await? else { return Ok(None) };
    let path = options.name.as_deref().unwrap_or_default();
    let from = From { kind, path };
    let found = find_all(&machine, from, &options.companions)?;
    let choosing = options.choosing();
    let is_any_there = found.iter().any(|disk| !disk.files.is_empty());
    let is_unclear = choosing.is_open() && found.len() > 1 && is_any_there;
    let mut list = DiskList {
        machine: machine.name.clone(),
        snapshots: machine.states.iter().map(State::described).collect(),
        ..DiskList::default()
    };
    for disk in &found {
        list.disks.push(describe(disk, &options.companions, is_unclear.then_some(tables)).await?);
    }
    let chosen = match choosing.is_open() && !is_any_there {
        true => Chosen::Disk(0),
        false => choosing.choose(Holder::Machine, &list)?,
    };
    let number = match chosen {
        Chosen::Disk(number) => number,
        Chosen::ToChoose(choice) => return Ok(Some(Opened::Choice(choice))),
    };
    let Found { disk, name, files, missing_piece } = &found[number];
    if let Some(piece) = missing_piece {
        return Err(missing_part(piece, name));
    }
    let Some(&file) = files.first() else { return Err(Holder::Machine.missing(name, path, &list)) };
    if machine.encrypted.contains(&disk.path) {
        return Err(Error::encrypted(kind.encrypts_by()).within(Place::file(name)));
    }
    let names = names(&options.companions);
    let claimed = claimed(&names, &machine, from);
    let finder = Finder::new(&names, from, std::iter::empty(), &claimed);
    let parent = |StatedParent { name: path, is_raw }: &StatedParent| {
        let name = match finder.find(path)? {
            Some(at) => options.companions[at].stated_name().to_owned(),
            None => from.spelled(path),
        };
        Ok(StatedParent { name, is_raw: *is_raw })
    };
    Ok(Some(Opened::Machine(DiskOfMachine {
        file,
        number,
        members: list.disks,
        machine: list.machine,
        hardware: machine.hardware_with(disk),
        snapshots: list.snapshots,
        is_in_snapshot,
        stated: StatedDisk { parents: disk.parents.iter().map(parent).collect::<Result<_>>()?, ..disk.stated() },
    })))
}

/// Reads the machine of this `kind` from its configuration, `source`, with the disks of the stated snapshot, if it has any. The second
/// value states whether it has. `None` if the configuration is too long or names no disks.
async fn machine_of(kind: Kind, source: &dyn Source, options: &OpenOptions) -> Result<Option<(Machine, bool)>> {
    let Some(text) = text_in(source).await? else { return Ok(None) };
    let mut machine = kind.read(&text);
    if machine.is_encrypted && machine.disks.is_empty() {
        return Err(Error::encrypted_machine(kind.encrypts_by()));
    }
    if machine.disks.is_empty() {
        return Ok(None);
    }
    if kind == Kind::Vmx {
        machine.states = listed_snapshots(options.name.as_deref().unwrap_or_default(), options).await?;
    }
    let snapshot = options.snapshot.as_deref().filter(|_| !machine.states.is_empty());
    if let Some(snapshot) = snapshot {
        let at = state_of(&machine.states, snapshot)?;
        machine.disks = std::mem::take(&mut machine.states[at].disks);
    }
    Ok(Some((machine, snapshot.is_some())))
}

fn names(companions: &[Companion]) -> FileNames {
    FileNames::new(companions.iter().map(Companion::stated_name))
}

/// The companions at the paths of the disks of `machine`.
fn claimed(names: &FileNames, machine: &Machine, from: From<'_>) -> HashSet<usize> {
    machine.disks.iter().flat_map(|disk| names.at(&disk.path, from)).collect()
}

/// Returns the snapshots in the `.vmsd` of the `.vmx` at `path`; none without that file.
async fn listed_snapshots(path: &str, options: &OpenOptions) -> Result<Vec<State>> {
    let wanted = snapshot_list(base_name(path));
    let is_it = |companion: &&Companion| folded(base_name(companion.stated_name())) == wanted;
    let Some(list) = options.companions.iter().find(is_it) else { return Ok(Vec::new()) };
    Ok(text_in(&*list.source).await?.map_or_else(Vec::new, |text| snapshots_in(&text)))
}

/// Finds the files of the disks of `machine`. Fails with `usage` if that is unclear.
fn find_all<'a>(machine: &'a Machine, from: From<'_>, companions: &[Companion]) -> Result<Vec<Found<'a>>> {
    let names = names(companions);
    let claimed = claimed(&names, machine, from);
    let paths = || machine.disks.iter().map(|disk| &*disk.path);
    let first_pieces: Vec<_> = paths().map(|path| piece_name(path, 0)).collect();
    let finder = Finder::new(&names, from, paths(), &claimed);
    let of_pieces = Finder::new(&names, from, first_pieces.iter().map(String::as_str), &claimed);
    let mut found = Vec::new();
    for (disk, first_piece) in machine.disks.iter().zip(&first_pieces) {
        let whole = finder.find(&disk.path)?;
        let first = match whole {
            Some(_) => whole,
            None => of_pieces.find(first_piece)?,
        };
        found.push(match first {
            Some(at) if whole.is_none() => in_pieces(disk, at, companions),
            Some(at) => {
                let name = base_name(companions[at].stated_name()).to_owned();
                Found { disk, name, files: vec![at], missing_piece: None }
            }
            None => {
                let path = if disk.pieces.is_some() { first_piece } else { &*disk.path };
                let name = base_name(&from.spelled(path)).to_owned();
                Found { disk, name, files: Vec::new(), missing_piece: None }
            }
        });
    }
    Ok(found)
}

/// Finds the other pieces of a disk whose first piece is the companion with the index `first`.
fn in_pieces<'a>(disk: &'a MachineDisk, first: usize, companions: &[Companion]) -> Found<'a> {
    fn name_of(companion: &Companion) -> &str {
        base_name(companion.stated_name())
    }
    let name = name_of(&companions[first]);
    let pieces = pieces_among(name, companions.iter().map(name_of));
    let is_missing = disk.pieces.is_some_and(|count| (pieces.run as u64) < count);
    Found { disk, name: name.to_owned(), files: pieces.files, missing_piece: is_missing.then_some(pieces.next) }
}

/// Describes a disk, with `tables` also the format that its file has.
async fn describe(disk: &Found<'_>, companions: &[Companion], tables: Option<&Rc<TableCache>>) -> Result<MemberInfo> {
    let sources: Vec<_> = disk.files.iter().map(|&at| companions[at].source.clone()).collect();
    let size = sources.iter().map(|source| source.size()).sum();
    let missing = sources.is_empty();
    let format = match tables {
        Some(tables) if !missing => format_of(disk.disk, sources, tables).await?,
        _ => None,
    };
    Ok(MemberInfo { name: disk.name.clone(), size, format, virtual_size: disk.disk.virtual_size(), missing })
}

async fn format_of(
    disk: &MachineDisk,
    sources: Vec<Rc<dyn Source>>,
    tables: &Rc<TableCache>,
) -> Result<Option<&'static str>> {
    if disk.format.is_some() {
        return Ok(disk.format);
    }
    let file = match <[_; 1]>::try_from(sources) {
        Ok([file]) => file,
        Err(pieces) => Rc::new(Pieces::joined(pieces)),
    };
    Ok(match identify(&*tables.over(file), None).await? {
        FileType::Image(format) | FileType::Unsupported(format) => Some(format.name),
        FileType::HybridIso => Some(RAW.name),
        FileType::Container(_) | FileType::Ambiguous(_) | FileType::Unknown => None,
    })
}

/// The error for `piece`, which is missing between or after the other pieces of the disk `of`.
fn missing_part(piece: &str, of: &str) -> Error {
    let message = format!(
        "'{}', a part of a disk of the virtual machine, is missing; pass all parts together with the configuration",
        shown(piece)
    );
    let error = Error::new(ErrorKind::MissingFile, message).coded("missing-file");
    error.field("file", piece).field("role", "part").field("neededBy", of)
}
