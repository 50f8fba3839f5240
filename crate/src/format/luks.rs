//! LUKS volumes, of versions 1 and 2: a raw disk that is encrypted, after a header.

use super::listing::Listing;
use super::{Disk, FileChecking, Format, FormatReader, LayerOptions, WalkSetup};
use crate::crypt::Encryption;
use crate::crypt::luks::{self, MAGIC};
use crate::disk::EncryptionInfo;
use crate::disk::extent::{Encrypted, Extent, ExtentWalk};
use crate::disk::file_check::CheckProgress;
use crate::disk::info::Details;
use crate::disk::info::{Info, Notice};
use crate::error::damage::{damages, ensure_possible};
use crate::error::{Error, ErrorKind, Result, checked_size_of};
use crate::io::source::{Source, read_exact};
use crate::offsets::{ByteRange, GuestOffset, GuestRange, HostOffset, SECTOR};
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::rc::Rc;

/// The name, as for `qemu-img -f`.
pub(crate) const NAME: &str = "luks";

pub(super) const FORMAT: Format = Format {
    name: NAME,
    extensions: &[".luks"],
    label: "LUKS",
    probe: |sample| sample.head.starts_with(&MAGIC),
    on_disks: true,
    reader: FormatReader::Open(|source, options| open(source, options).boxed_local()),
    ..Format::DEFAULT
};

damages! {
    /// The file ends before the end of the payload.
    PAYLOAD_TRUNCATED = "luks-payload-truncated", "the file ends before the end of the encrypted disk", lacks "a part of the encrypted disk";
}

/// The newest version.
const NEWEST: u16 = 2;

async fn open(source: Rc<dyn Source>, options: LayerOptions) -> Result<Rc<dyn Disk>> {
    let place = ByteRange { start: HostOffset(0), len: source.size() };
    let magic = read_exact(&*source, ByteRange { len: MAGIC.len() as u64, ..place }, "LUKS header").await?;
    if magic != MAGIC {
        return Err(Error::other_format("The file is not a LUKS volume", NAME));
    }
    let header = luks::read(&*source, place, NEWEST).await?;
    let described = &header.description;
    let (payload, sector) = (HostOffset(described.info.payload_offset), u64::from(described.sector));
    if payload.0 == 0 {
        return Err(Error::unsupported("LUKS with a detached header"));
    }
    if sector > SECTOR && options.is_backing {
        return Err(Error::unsupported("a backing file in LUKS with sectors of more than 512 bytes"));
    }
    let present = place.len.saturating_sub(payload.0);
    let size = described.payload_len.unwrap_or(present.saturating_add(options.missing));
    let size = checked_size_of("disk", size.checked_next_multiple_of(sector))?;
    ensure_possible("LUKS payload", payload, size, place.len)?;
    if size == 0 || (place.len < payload.0 && !options.salvage) {
        let message = "The file has only the header of a LUKS volume: it is a backup of the header, or truncated";
        let error = Error::new(ErrorKind::Corrupt, message).coded("luks-header-only");
        return Err(error.field("offset", payload.0).field("size", place.len));
    }
    let present = present / sector * sector;
    let is_damaged = described.is_copy_damaged;
    Ok(Rc::new(Volume { source, encryption: Encryption::Luks { header, place }, payload, present, size, is_damaged }))
}

struct Volume {
    source: Rc<dyn Source>,
    encryption: Encryption,
    payload: HostOffset,
    /// The number of bytes of the payload in the file, in whole sectors.
    present: u64,
    size: u64,
    /// Whether a copy of the header is damaged.
    is_damaged: bool,
}

impl Disk for Volume {
    fn virtual_size(&self) -> u64 {
        self.size
    }

    fn info(&self) -> Info {
        let message = "One of the two copies of the LUKS header is damaged; the other one is read";
        let encryption = EncryptionInfo::of(&self.encryption);
        let Details(mut specific) = encryption.details();
        specific.retain(|(name, _)| *name != "format");
        Info {
            version: encryption.luks.map(|luks| luks.version),
            specific: Details(specific),
            safety: self.is_damaged.then(|| Notice::new("luks-header-damaged", message)).into_iter().collect(),
            ..Info::default()
        }
    }

    fn encryption(&self) -> Option<&Encryption> {
        Some(&self.encryption)
    }

    fn walk(self: Rc<Self>, setup: WalkSetup) -> Box<dyn ExtentWalk> {
        let encrypted = setup.cipher.map(|cipher| Encrypted { cipher, by_guest: true });
        Box::new(VolumeWalk { listing: Listing::new(&self.source, &setup).with_encryption(encrypted), volume: self })
    }

    fn check(self: Rc<Self>, _progress: CheckProgress) -> FileChecking {
        FileChecking::NoTables
    }
}

/// A pass over the payload. Holes of the file are data: they do not decrypt to zeros.
struct VolumeWalk {
    volume: Rc<Volume>,
    listing: Listing,
}

impl ExtentWalk for VolumeWalk {
    fn list<'a>(&'a mut self, range: GuestRange, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<()>> {
        let Volume { payload, present, .. } = *self.volume;
        let host = |guest: GuestOffset| HostOffset(payload.0 + guest.0);
        let end = GuestOffset(present);
        let listed = if range.start < end {
            let part = GuestRange { end: range.end.min(end), ..range };
            self.listing.data(batch, part, host(part.start), PAYLOAD_TRUNCATED, host(end))
        } else {
            self.listing.lose(batch, range, PAYLOAD_TRUNCATED, host(end))
        };
        ready(listed).boxed_local()
    }
}
