//! Notices that a person should read before converting an image of unknown origin. None of them is an error.

use crate::disk::extent::{CheckedWalk, Extent, ExtentKind, Extents};
use crate::disk::host_ranges::Findings;
use crate::disk::info::{Capacity, Info, Need, Notice};
use crate::disk::reference::Role;
use crate::error::shown::shown;
use crate::error::{ErrorKind, Result};
use crate::offsets::SECTOR;
use decant_module::USUAL_WINDOW;

/// Disks of at least `HUGE` bytes are reported if they are at least this many times as large as their files.
const HUGE_SHARE: u64 = 10_000;
const HUGE: u64 = 1 << 40;
/// Compressed data is reported if it expands to more than this many times the size of the files: only zeros do so.
const EXPANSION: u64 = 500;
/// Maximum number of extent batches that a survey reads.
const BATCHES: usize = 256;

/// Returns the notices that follow from `info`, for an image whose files have `stored` bytes.
pub(crate) fn notices(info: &Info, stored: u64) -> Vec<Notice> {
    let mut notices = Vec::new();
    let extents = info.references.iter().filter(|reference| reference.role == Role::Extent).count();
    if extents > 1 {
        let message = format!("Parts of the disk are in {extents} other files");
        notices.push(Notice::new("extents", message).field("count", extents as u64));
    }
    for reference in &info.references {
        let name = shown(&reference.name);
        let mut add = |code, message: String| {
            notices.push(Notice::new(code, message).field("file", &*reference.name));
        };
        match reference.role {
            Role::BackingFile | Role::Parent => {
                add("backing-file", format!("The image is based on '{name}': data that it lacks is read from there"))
            }
            Role::DataFile => add("data-file", format!("The data is in another file, '{name}'")),
            Role::Extent if extents > 1 => {}
            Role::Extent => add("extent", format!("A part of the disk is in another file, '{name}'")),
        }
        name_notice(&reference.name, &mut add);
        if reference.role == Role::BackingFile && reference.format.is_none() {
            add("backing-format", "The image does not state the format of its backing file".to_owned());
        }
    }
    for layer in info.layers.iter().filter(|layer| layer.guessed) {
        let message = format!(
            "'{}' is in no format that QEMU recognises, and none is stated for it; it is read as raw",
            shown(&layer.name)
        );
        notices.push(Notice::new("guessed-raw", message).field("file", &*layer.name));
    }
    let mut add = |code, message: &str| notices.push(Notice::new(code, message));
    let has = |name: &str| info.features.iter().any(|feature| feature == name);
    if has("unknown compatible features") {
        add("unknown-features", "The image uses features that are unknown but do not hinder reading");
    }
    notices.extend(state_notices(info));
    let is_whole = !info.needs.iter().any(|need| matches!(need, Need::MissingFile { .. }));
    let size = info.virtual_size.unwrap_or(0);
    if is_whole && size >= HUGE && size / HUGE_SHARE >= stored.max(1) {
        let message = format!("The disk has {} GiB, more than {HUGE_SHARE} times the size of its file", size >> 30);
        notices.push(Notice::new("huge", message).field("size", size));
    }
    notices
}

/// Returns the notice if a disk of `size` bytes has another capacity than its machine's description states.
pub(crate) fn other_capacity(capacity: Capacity, size: u64) -> Option<Notice> {
    let message = || {
        format!(
            "The description of the virtual machine states {} bytes for this disk, which has {size}: it may be the wrong disk, or \
             incomplete",
            capacity.size
        )
    };
    let notice = || Notice::new("ovf-capacity", message()).field("capacity", capacity.size).field("size", size);
    capacity.differs_from(size).then(notice)
}

/// Returns the notice that `file`, in the same archive as the disk, looks like a raw disk.
pub(crate) fn raw_beside(file: &str) -> Notice {
    let message =
        format!("'{}' in the same archive looks like a raw disk; to read it, state it as the disk", shown(file));
    Notice::new("raw-disk-beside", message).field("file", file)
}

/// Returns the notice that `trailer` bytes follow compressed data, unless there are none.
pub(crate) fn trailer(trailer: u64) -> Option<Notice> {
    let message = || format!("{trailer} bytes after the compressed data belong to nothing and are ignored");
    (trailer > 0).then(|| Notice::new("trailer", message()).field("size", trailer))
}

/// Returns the notice that a decoder takes `window` bytes of memory, unless that is usual.
pub(crate) fn large_window(window: u64) -> Option<Notice> {
    let message = format!(
        "Decoding the compressed file takes {} MiB of memory for its window, in addition to that of the conversion",
        window.div_ceil(1 << 20)
    );
    (window > USUAL_WINDOW).then(|| Notice::new("large-window", message).field("size", window))
}

/// Returns the notices about the layer `info` below the image, without its name.
pub(crate) fn layer_notices(info: Info) -> impl Iterator<Item = Notice> {
    let states: Vec<_> = state_notices(&info).collect();
    info.safety.into_iter().chain(states)
}

/// Returns the notice that a raw layer of `size` bytes below a disk of `disk` bytes seems cut off, without its name. One of whole sectors may
/// be shorter: the disk above may have grown since.
pub(crate) fn raw_cut(size: u64, disk: u64) -> Option<Notice> {
    let is_cut = !size.is_multiple_of(SECTOR) && size.next_multiple_of(SECTOR) < disk;
    let message = || {
        format!(
            "The file may be cut off: its {size} bytes end inside a sector, and the disk above has {disk}; what it lacks is read as zeros"
        )
    };
    is_cut.then(|| Notice::new("raw-layer-cut", message()).field("size", size))
}

/// Returns the notices about the state in which a layer was left.
fn state_notices(info: &Info) -> impl Iterator<Item = Notice> {
    let has = |name: &str| info.features.iter().any(|feature| feature == name);
    let dirty = has("dirty").then(|| {
        let message = "The image was not closed properly; the guest may want to check its file systems";
        Notice::new("dirty", message)
    });
    let corrupt =
        has("corrupt").then(|| Notice::new("marked-corrupt", "The image is marked as corrupt; it is read as it is"));
    dirty.into_iter().chain(corrupt)
}

fn name_notice(name: &str, add: &mut impl FnMut(&'static str, String)) {
    let is_drive = name.as_bytes().get(1) == Some(&b':') && name.as_bytes()[0].is_ascii_alphabetic();
    let scheme = name.split_once(':').map(|(scheme, _)| scheme);
    let shown = shown(name);
    if !is_drive && scheme.is_some_and(|scheme| !scheme.is_empty() && !scheme.contains('/')) {
        add(
            "protocol",
            format!("'{shown}' is not a plain path: it names a protocol or a driver, which is never followed"),
        );
    } else if is_drive || name.starts_with(['/', '\\']) {
        add("absolute-path", format!("'{shown}' is an absolute path, which is never followed"));
    } else if name.split(['/', '\\']).any(|part| part == "..") {
        add("parent-path", format!("'{shown}' leads out of the image's folder; it is never followed"));
    }
}

/// Returns the notices that follow from the tables: clusters that are shared or expand excessively. Stops at damage;
/// any other failure is returned.
pub(super) async fn survey(walk: CheckedWalk, virtual_size: u64, stored: u64) -> Result<Vec<Notice>> {
    let mut extents = Extents::new(walk, virtual_size);
    let mut count = Count::default();
    let mut batch = Vec::new();
    for _ in 0..BATCHES {
        batch.clear();
        match extents.next(&mut batch).await {
            Ok(true) => {}
            Ok(false) => break,
            // Damage is reported when the image is read.
            Err(error) if error.kind == ErrorKind::Corrupt => break,
            Err(error) => return Err(error),
        }
        batch.iter().for_each(|extent| count.add(extent));
        count.note_findings(&extents);
    }
    Ok(count.notices(stored))
}

/// Counts the bytes that extents refer to.
#[derive(Clone, Copy, Default)]
pub(crate) struct Count {
    plain: u64,
    expanded: u64,
    findings: Findings,
}

impl Count {
    pub(crate) fn add(&mut self, extent: &Extent) {
        match extent.kind {
            ExtentKind::Data { .. } => self.plain += extent.len,
            ExtentKind::Compressed { cluster, .. } => self.expanded += cluster,
            _ => {}
        }
    }

    /// Takes into account what `extents` have found so far.
    pub(crate) fn note_findings(&mut self, extents: &Extents) {
        self.findings = self.findings.and(extents.findings());
    }

    pub(crate) fn notices(&self, stored: u64) -> Vec<Notice> {
        let mut notices = Vec::new();
        if self.findings.shared || self.plain > stored {
            let message =
                "Parts of the file are used more than once on the disk, which does not occur in a plain image";
            notices.push(Notice::new("shared", message));
        }
        if self.findings.copies_differ {
            let message = "The two copies of the image's tables differ; where the first one has nothing usable, the second one is read";
            notices.push(Notice::new("copies-differ", message));
        }
        if self.expanded / EXPANSION > stored {
            let message = format!("Compressed data expands to more than {EXPANSION} times the size of the file");
            notices.push(Notice::new("expanding", message));
        }
        notices
    }
}
