//! `DiskDescriptor.xml`: the disk of a bundle, and the images that it consists of.

use crate::error::{Error, ErrorKind, Result, checked_size_of};
use crate::offsets::{HostOffset, SECTOR};
use crate::xml::{Element, root_of};
use std::collections::HashSet;

/// Maximum length of a descriptor, in bytes.
pub(super) const MAX_TEXT: u64 = 1 << 20;
/// Maximum number of images that a disk consists of.
const MAX_IMAGES: usize = 4096;
/// Maximum number of states, one below the other.
const MAX_STATES: usize = 512;
/// The root of a descriptor.
const ROOT: &str = "Parallels_disk_image";
/// The GUID that stands for no snapshot, and for no program that encrypts.
const NONE: &str = "00000000-0000-0000-0000-000000000000";
/// The GUID of the current state, unless `TopGUID` states another one.
const TOP: &str = "5fbaabe3-6958-40ff-92a7-860e329aab41";

/// Whether a file that starts with `head` is a descriptor.
pub(super) fn is_start(head: &[u8]) -> bool {
    const REACH: usize = 1024;
    let start = &head[..head.len().min(REACH)];
    let is_xml = start.strip_prefix("\u{feff}".as_bytes()).unwrap_or(start).trim_ascii_start().starts_with(b"<");
    is_xml && start.windows(ROOT.len() + 1).any(|part| part[0] == b'<' && &part[1..] == ROOT.as_bytes())
}

/// A disk.
pub(super) struct DiskDescriptor {
    /// In bytes.
    pub(super) size: u64,
    /// In guest order, without gaps.
    pub(super) storages: Vec<Storage>,
}

/// A range of the disk, in bytes.
pub(super) struct Storage {
    pub(super) start: u64,
    pub(super) len: u64,
    /// The image of the current state first, then the images of the states below, from the nearest one on.
    pub(super) images: Vec<ImageFile>,
}

/// An image of a storage.
pub(super) struct ImageFile {
    /// Its path.
    pub(super) name: String,
    /// Whether the file contains the bytes of the storage as they are (type `Plain`).
    pub(super) is_plain: bool,
}

impl DiskDescriptor {
    /// Parses `text`. Fails with `corrupt`, `unsupported` or `limit`.
    pub(super) fn parse(text: &[u8]) -> Result<Self> {
        let Some(root) = str::from_utf8(text).ok().and_then(root_of) else {
            return corrupt("the XML is not well formed".to_owned());
        };
        if root.name != ROOT {
            return corrupt(format!("the root element is not {ROOT}"));
        }
        let parameters = child(&root, "Disk_Parameters")?;
        for (name, only) in [("LogicSectorSize", SECTOR), ("Padding", 0)] {
            if parameters.child(name).is_some() && number(parameters, name)? != only {
                return Err(Error::unsupported(format!("a Parallels disk whose {name} is not {only}")));
            }
        }
        let engine = parameters.child("Encryption").and_then(|encryption| encryption.child("Engine"));
        if engine.is_some_and(|engine| ![NONE, ""].contains(&&*guid(&engine.text))) {
            return Err(Error::encrypted("Parallels"));
        }
        let sectors = number(parameters, "Disk_size")?;
        let size = checked_size_of("disk", sectors.checked_mul(SECTOR))?;
        let storages = storages(&root, sectors)?;
        Ok(Self { size, storages })
    }
}

/// Returns the storages of a disk of `sectors` sectors, in guest order. Fails with `corrupt` unless they cover it, and with `limit`.
fn storages(root: &Element, sectors: u64) -> Result<Vec<Storage>> {
    let apart = || corrupt("the storages do not follow one another to the end of the disk".to_owned());
    let chain = chain(root)?;
    let ranged = |storage| Ok((number(storage, "Start")?, number(storage, "End")?, storage));
    let mut ranges: Vec<_> =
        child(root, "StorageData")?.children_named("Storage").map(ranged).collect::<Result<_>>()?;
    ranges.sort_by_key(|(start, ..)| *start);
    let mut storages = Vec::new();
    let (mut end, mut images) = (0, 0);
    for (start, stop, storage) in ranges {
        if start != end || stop <= start || stop > sectors {
            return apart();
        }
        end = stop;
        let found = images_of(storage, &chain)?;
        images += found.len();
        if images > MAX_IMAGES {
            let message = format!("The disk consists of more than {MAX_IMAGES} images");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        storages.push(Storage { start: start * SECTOR, len: (stop - start) * SECTOR, images: found });
    }
    if end == sectors { Ok(storages) } else { apart() }
}

/// Returns the GUIDs of the current state and of the snapshots below, in that order. Fails with `corrupt` if a snapshot is
/// below itself or there is no state, and with `limit` if there are too many.
fn chain(root: &Element) -> Result<Vec<String>> {
    let snapshots = root.child("Snapshots");
    let text = |element: &Element, name: &str| element.child(name).map(|child| guid(&child.text));
    let top = snapshots.and_then(|snapshots| text(snapshots, "TopGUID")).filter(|top| !top.is_empty());
    let shots: Vec<_> = snapshots
        .into_iter()
        .flat_map(|snapshots| snapshots.children_named("Shot"))
        .filter_map(|shot| Some((text(shot, "GUID")?, text(shot, "ParentGUID")?)))
        .collect();
    let mut next = top.unwrap_or_else(|| TOP.to_owned());
    let (mut chain, mut seen) = (Vec::new(), HashSet::new());
    while next != NONE && !next.is_empty() {
        if !seen.insert(next.clone()) {
            return corrupt("a snapshot is below itself".to_owned());
        }
        if chain.len() >= MAX_STATES {
            let message = format!("The disk has more than {MAX_STATES} snapshots, one below the other");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        let parent = shots.iter().find(|(shot, _)| *shot == next).map(|(_, parent)| parent.clone());
        chain.push(next);
        next = parent.unwrap_or_default();
    }
    if chain.is_empty() {
        return corrupt("the current state is missing".to_owned());
    }
    Ok(chain)
}

/// Returns the images of `storage` for the states in `chain`, down to one that has all of the storage. Fails with `corrupt` if
/// one is missing, and with `unsupported` for an image of an unknown type.
fn images_of(storage: &Element, chain: &[String]) -> Result<Vec<ImageFile>> {
    let all: Vec<_> = storage.children_named("Image").collect();
    let mut images = Vec::new();
    for state in chain {
        let is_of = |image: &&&Element| image.child("GUID").is_some_and(|id| guid(&id.text) == *state);
        let Some(image) = all.iter().find(is_of) else {
            return corrupt(format!("a storage has no image for the state {{{state}}}"));
        };
        let is_plain = match &*child(image, "Type")?.text {
            "Plain" => true,
            "Compressed" => false,
            _ => return Err(Error::unsupported("a Parallels image that is neither Plain nor Compressed")),
        };
        images.push(ImageFile { name: child(image, "File")?.text.clone(), is_plain });
        if is_plain {
            break;
        }
    }
    Ok(images)
}

fn child<'a>(element: &'a Element, name: &str) -> Result<&'a Element> {
    element.child(name).map_or_else(|| corrupt(format!("{name} is missing")), Ok)
}

/// Returns the number in the child `name`. Fails with `corrupt` if there is none.
fn number(element: &Element, name: &str) -> Result<u64> {
    child(element, name)?.text.parse().map_or_else(|_| corrupt(format!("{name} is not a number")), Ok)
}

/// Returns a GUID without braces, in lower case.
fn guid(text: &str) -> String {
    text.trim_matches(['{', '}']).to_ascii_lowercase()
}

/// The error for a descriptor with a fault.
fn corrupt<T>(what: String) -> Result<T> {
    Err(Error::corrupt(format!("in the description of the disk, {what}"), HostOffset(0)))
}
