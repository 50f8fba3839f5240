//! A raw disk: the file is the disk. It has no signature, so the caller, an overlay or a container must state it.

use super::{Disk, FileChecking, Format, FormatReader, NameHint, WalkSetup};
use crate::disk::extent::{Extent, ExtentKind, ExtentWalk};
use crate::disk::file_check::CheckProgress;
use crate::disk::info::Info;
use crate::error::damage::damages;
use crate::error::{Result, checked_size_of};
use crate::io::source::{FileId, Source};
use crate::offsets::{GuestOffset, GuestRange, HostOffset, SECTOR};
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::rc::Rc;

/// The name, as for `qemu-img -f`.
pub(crate) const NAME: &str = "raw";
/// The code of the error for a file that may be a raw disk, which has the field `format`.
pub(crate) const STATE_FORMAT: &str = "state-format";
/// The advice for such a file.
pub(crate) const STATE_RAW: &str = "if it is a raw disk, state the format raw";

pub(crate) const FORMAT: Format = Format {
    name: NAME,
    extensions: &[".raw", ".img", ".dd", ".bin"],
    label: "raw disk",
    probe: |_| false,
    hint: Some(NameHint { extensions: &[".raw", ".img"], code: STATE_FORMAT, text: STATE_RAW }),
    reader: FormatReader::Open(|source, options| ready(open(source, options.missing)).boxed_local()),
    ..Format::DEFAULT
};

damages! {
    /// The file is shorter than its container states.
    DISK_TRUNCATED = "raw-disk-truncated", "the file ends before the end of the disk";
}

fn open(source: Rc<dyn Source>, missing: u64) -> Result<Rc<dyn Disk>> {
    let present = source.size();
    let size = present.saturating_add(missing);
    // The disk may be up to a sector larger.
    checked_size_of("file", size.checked_add(SECTOR))?;
    Ok(Rc::new(RawDisk { source, present, size }))
}

struct RawDisk {
    source: Rc<dyn Source>,
    /// The number of bytes in the file.
    present: u64,
    /// The size that its container declares, in bytes.
    size: u64,
}

impl Disk for RawDisk {
    fn virtual_size(&self) -> u64 {
        self.size.next_multiple_of(SECTOR)
    }

    fn info(&self) -> Info {
        Info::default()
    }

    fn walk(self: Rc<Self>, setup: WalkSetup) -> Box<dyn ExtentWalk> {
        Box::new(RawWalk { disk: self, file: setup.file, layer: setup.layer })
    }

    fn check(self: Rc<Self>, _progress: CheckProgress) -> FileChecking {
        FileChecking::NoTables
    }
}

/// Starts a pass over a disk of `size` bytes that is stored unchanged in the first `present` bytes of `source`.
pub(super) fn walk_start(source: Rc<dyn Source>, present: u64, size: u64, setup: WalkSetup) -> Box<dyn ExtentWalk> {
    Rc::new(RawDisk { source, present, size }).walk(setup)
}

/// Maximum number of extents in a batch.
const BATCH: usize = 1024;

/// A pass over a raw disk: its stored ranges and the holes between them, the lost range after a truncated file, and
/// zeros up to a whole sector.
struct RawWalk {
    disk: Rc<RawDisk>,
    file: FileId,
    layer: u16,
}

impl ExtentWalk for RawWalk {
    fn list<'a>(&'a mut self, range: GuestRange, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<()>> {
        let mut push = |start: u64, end: u64, kind| {
            if start < end {
                batch.push(Extent {
                    start: GuestOffset(start),
                    len: end - start,
                    layer: self.layer,
                    kind,
                    doubt: None,
                });
            }
        };
        let RawDisk { ref source, present, size } = *self.disk;
        // A partly missing sector is lost, as in all formats.
        let read = if present < size { present / SECTOR * SECTOR } else { size };
        let zero = ExtentKind::Zero { host: None };
        let (mut at, end) = (range.start.0, range.end.0);
        for _ in 0..BATCH / 2 {
            if at >= read.min(end) {
                push(at.max(read), end.min(size), ExtentKind::Lost(DISK_TRUNCATED));
                push(at.max(size), end, zero);
                break;
            }
            let stored = source.stored_from(at);
            let (data, data_end) = (stored.start.0.min(read).min(end), stored.end().min(read).min(end));
            push(at, data, zero);
            push(data, data_end, ExtentKind::Data { file: self.file, host: HostOffset(data), encrypted: None });
            at = data_end.max(data);
        }
        ready(Ok(())).boxed_local()
    }
}
