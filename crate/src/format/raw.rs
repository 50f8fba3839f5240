//! Raw: the file is the disk. It has no signature, so it is read only when the caller says so.

use super::{Disk, Format};
use crate::error::{Error, ErrorKind, Result};
use crate::extent::{Extent, ExtentKind, ExtentWalk};
use crate::image::Info;
use crate::source::Source;
use crate::units::{GuestOffset, HostOffset, MAX_SIZE};
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::rc::Rc;

/// The registry's entry.
pub(super) const FORMAT: Format =
    Format { name: "raw", label: "raw disk", probe: |_| false, open: Some(|source| ready(open(source)).boxed_local()) };

fn open(source: Rc<dyn Source>) -> Result<Rc<dyn Disk>> {
    let size = source.size();
    if size > MAX_SIZE - SECTOR {
        return Err(Error::new(ErrorKind::Limit, "The file is larger than 2^53-1 bytes"));
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
        Info { format: "raw", ..Info::default() }
    }

    fn walk(self: Rc<Self>) -> Box<dyn ExtentWalk> {
        Box::new(Whole(self.size))
    }
}

/// The rest of the file that was not listed yet: all of it or nothing.
struct Whole(u64);

impl ExtentWalk for Whole {
    fn next<'a>(&'a mut self, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<bool>> {
        let len = std::mem::take(&mut self.0);
        let padding = len.next_multiple_of(SECTOR) - len;
        if len > 0 {
            batch.push(Extent { start: GuestOffset(0), len, kind: ExtentKind::Data { host: HostOffset(0) } });
        }
        if padding > 0 {
            batch.push(Extent { start: GuestOffset(len), len: padding, kind: ExtentKind::Unallocated });
        }
        ready(Ok(len > 0)).boxed_local()
    }
}
