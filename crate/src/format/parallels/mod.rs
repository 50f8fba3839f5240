//! Parallels images (`.hds`), according to QEMU's `docs/interop/parallels.txt`, and bundles (`.hdd`): a
//! `DiskDescriptor.xml`, and the images of a disk and its snapshots.

mod disk_descriptor;
mod parallels_header;
mod parallels_walk;

use super::{Disk, FileChecking, Format, FormatReader, HEAD, PartFile, WalkSetup, WalkedCheck};
use crate::disk::extent::ExtentWalk;
use crate::disk::file_check::CheckProgress;
use crate::disk::info::Info;
use crate::disk::reference::{Reference, Role};
use crate::error::damage::damages;
use crate::error::place::Place;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Source, read_start};
use crate::offsets::{ByteRange, HostOffset};
use disk_descriptor::{DiskDescriptor, ImageFile, MAX_TEXT};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use parallels_header::ParallelsHeader;
use std::cell::OnceCell;
use std::rc::Rc;

pub(super) const FORMAT: Format = Format {
    name: "parallels",
    extensions: &[".hds", ".hdd"],
    label: "Parallels (Parallels Desktop disk)",
    probe: |sample| parallels_header::is_start(sample.head) || disk_descriptor::is_start(sample.head),
    folder_file: Some("DiskDescriptor.xml"),
    is_descriptor: Some(disk_descriptor::is_start),
    reader: FormatReader::Open(|source, _| open(source).boxed_local()),
    ..Format::DEFAULT
};

damages! {
    /// The file ends before or inside the block allocation table.
    TABLE_TRUNCATED = "parallels-table-truncated", "the file ends before the end of the block allocation table", lacks "an entry of the block allocation table";
    /// A block is in the header or in the block allocation table.
    BLOCK_MISPLACED = "parallels-block-misplaced", "a block is before the start of the data";
    /// The image states that it has no data, but a block is allocated.
    NOT_EMPTY = "parallels-not-empty", "a block is allocated, but the header states that the image is empty";
    /// The file ends before or inside a block.
    BLOCK_TRUNCATED = "parallels-block-truncated", "the file ends before the end of a block", lacks "a block", outside BLOCK_OUTSIDE;
    /// A block is beyond any size that the complete file can have.
    BLOCK_OUTSIDE = "parallels-block-outside", "a block is far beyond the end of the file";
    /// A plain image ends before its part of the disk.
    PLAIN_TRUNCATED = "parallels-plain-truncated", "a plain image is shorter than its part of the disk", lacks "a part of the disk";
}

async fn open(source: Rc<dyn Source>) -> Result<Rc<dyn Disk>> {
    let head = read_start(&*source, HEAD).await?;
    if !disk_descriptor::is_start(&head) {
        let header = ParallelsHeader::validated(&head, source.size())?;
        return Ok(Rc::new(Parallels::single(source, header)));
    }
    if source.size() > MAX_TEXT {
        let message = format!("The description of the Parallels disk has more than {MAX_TEXT} bytes");
        return Err(Error::new(ErrorKind::Limit, message));
    }
    let descriptor = DiskDescriptor::parse(&read_start(&*source, MAX_TEXT).await?)?;
    Ok(Rc::new(Parallels::described(source, descriptor)))
}

struct Parallels {
    /// The file that was opened: the only image, or the descriptor.
    source: Rc<dyn Source>,
    /// In bytes.
    size: u64,
    /// In guest order, without gaps.
    storages: Vec<Storage>,
    /// The files of the images.
    references: Vec<Reference>,
}

/// A range of the disk, in bytes, and its images: the current state's first, then its parent's, and so on.
struct Storage {
    start: u64,
    len: u64,
    images: Vec<Image>,
}

struct Image {
    /// An index into the references of the disk; `None` for the file that was opened.
    file: Option<usize>,
    content: Content,
}

enum Content {
    /// A raw file: its bytes are those of the storage.
    Plain,
    /// A file with a header and a block allocation table. The header is set when the file is attached.
    Blocks(OnceCell<ParallelsHeader>),
}

impl Parallels {
    /// Creates the disk of a single image.
    fn single(source: Rc<dyn Source>, header: ParallelsHeader) -> Self {
        let size = header.virtual_size();
        let image = Image { file: None, content: Content::Blocks(OnceCell::from(header)) };
        let storages = vec![Storage { start: 0, len: size, images: vec![image] }];
        Self { source, size, storages, references: Vec::new() }
    }

    /// Creates the disk of a bundle.
    fn described(source: Rc<dyn Source>, descriptor: DiskDescriptor) -> Self {
        let mut references = Vec::new();
        let mut image = |ImageFile { name, is_plain }, start: u64| {
            let begins_disk = is_plain && start == 0;
            references.push(Reference { begins_disk, ..Reference::new(Role::Extent, name, None) });
            let content = if is_plain { Content::Plain } else { Content::Blocks(OnceCell::new()) };
            Image { file: Some(references.len() - 1), content }
        };
        let storages = descriptor
            .storages
            .into_iter()
            .map(|disk_descriptor::Storage { start, len, images }| {
                let images = images.into_iter().map(|file| image(file, start)).collect();
                Storage { start, len, images }
            })
            .collect();
        Self { source, size: descriptor.size, storages, references }
    }

    /// The headers that were read.
    fn headers(&self) -> impl Iterator<Item = &ParallelsHeader> {
        let images = self.storages.iter().flat_map(|storage| &storage.images);
        images.filter_map(|image| match &image.content {
            Content::Blocks(header) => header.get(),
            Content::Plain => None,
        })
    }

    /// Reads the headers of the images in `files`. Fails as reading one does, and with `corrupt` if the virtual size of an
    /// image is not the size of its storage.
    async fn read_headers(&self, files: &[Option<PartFile>]) -> Result<()> {
        for Storage { len, images, .. } in &self.storages {
            for Image { file, content } in images {
                let (Some(file), Content::Blocks(known)) = (file, content) else { continue };
                let Some(Some(part)) = files.get(*file) else { continue };
                let within = |error: Error| error.within(Place::file(&part.name));
                let head = read_start(&*part.source, ParallelsHeader::LEN as u64).await.map_err(within)?;
                let header = ParallelsHeader::validated(&head, part.source.size()).map_err(within)?;
                let size = header.virtual_size();
                if size != *len {
                    let what =
                        format!("the image has a virtual size of {size} bytes, but the descriptor states {len} bytes");
                    return Err(within(Error::corrupt(what, HostOffset(ParallelsHeader::nb_sectors))));
                }
                let _ = known.set(header);
            }
        }
        Ok(())
    }
}

impl Disk for Parallels {
    fn virtual_size(&self) -> u64 {
        self.size
    }

    fn info(&self) -> Info {
        let dirty = self.headers().any(ParallelsHeader::is_dirty).then(|| "dirty".to_owned());
        // `qemu-img info` shows the same, and the block size.
        Info { features: dirty.into_iter().collect(), ..Info::default() }
    }

    fn references(&self) -> &[Reference] {
        &self.references
    }

    fn attach<'a>(&'a self, files: &'a [Option<PartFile>]) -> LocalBoxFuture<'a, Result<()>> {
        self.read_headers(files).boxed_local()
    }

    fn walk(self: Rc<Self>, setup: WalkSetup) -> Box<dyn ExtentWalk> {
        Box::new(parallels_walk::ParallelsWalk::new(self, setup))
    }

    /// Counts leaks in a single image only: a bundle has several files.
    fn check(self: Rc<Self>, _progress: CheckProgress) -> FileChecking {
        let single = self.headers().next().filter(|_| self.references.is_empty());
        FileChecking::ByWalk(WalkedCheck {
            structures: single
                .and_then(|header| ByteRange::new(HostOffset(0), header.data_start()))
                .into_iter()
                .collect(),
            leaked_unit: single.map(ParallelsHeader::block_size),
            is_unclean: self.headers().any(ParallelsHeader::is_dirty),
        })
    }
}
