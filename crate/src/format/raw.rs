//! Raw: the file is the disk. It has no signature, so it is read only when the caller or an overlay
//! says so.

use super::{Disk, Format, LayerOptions, References, WalkSetup};
use crate::error::{Error, ErrorKind, Result};
use crate::extent::{Extent, ExtentKind, ExtentWalk};
use crate::format::qcow2::Encryption;
use crate::image::Info;
use crate::source::{FileId, Source};
use crate::units::{GuestOffset, GuestRange, HostOffset, MAX_SIZE};
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::rc::Rc;

/// The registry's entry.
pub(super) const FORMAT: Format = Format {
    name: "raw",
    label: "raw disk",
    of_qemu: true,
    probe: |_| false,
    open: Some(|source, options| ready(open(source, options)).boxed_local()),
};

fn open(source: Rc<dyn Source>, options: LayerOptions) -> Result<Rc<dyn Disk>> {
    let size = source.size();
    if size > MAX_SIZE - SECTOR {
        return Err(Error::new(ErrorKind::Limit, "The file is larger than 2^53-1 bytes"));
    }
    if options.snapshot.is_some() {
        return Err(Error::new(ErrorKind::Usage, "A raw disk has no internal snapshots"));
    }
    Ok(Rc::new(Raw { size }))
}

/// A disk is a whole number of these: as QEMU does, the last one is filled with zeros.
const SECTOR: u64 = 512;

struct Raw {
    size: u64,
}

impl Disk for Raw {
    fn virtual_size(&self) -> u64 {
        self.size.next_multiple_of(SECTOR)
    }

    fn largest_piece(&self) -> u64 {
        0
    }

    fn info(&self) -> Info {
        Info { format: FORMAT.name, ..Info::default() }
    }

    fn format(&self) -> &'static str {
        FORMAT.name
    }

    fn needs_extras(&self) -> bool {
        false
    }

    fn references(&self) -> References {
        References::default()
    }

    fn encryption(&self) -> Option<&Encryption> {
        None
    }

    fn walk(self: Rc<Self>, setup: WalkSetup) -> Box<dyn ExtentWalk> {
        Box::new(Whole { size: self.size, file: setup.file, depth: setup.depth })
    }
}

struct Whole {
    size: u64,
    file: FileId,
    depth: u16,
}

impl ExtentWalk for Whole {
    fn list<'a>(&'a mut self, range: GuestRange, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<()>> {
        let mut push = |start: u64, end: u64, kind| {
            if start < end {
                batch.push(Extent { start: GuestOffset(start), len: end - start, depth: self.depth, kind });
            }
        };
        let (start, end) = (range.start, range.end);
        let data = ExtentKind::Data { file: self.file, host: HostOffset(start), encrypted: None };
        push(start, end.min(self.size), data);
        push(start.max(self.size), end, ExtentKind::Zero { host: None });
        ready(Ok(())).boxed_local()
    }
}
