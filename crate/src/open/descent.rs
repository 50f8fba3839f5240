//! Descends from a file or a stream through its containers to an image.

use crate::container::block_source::BlockSource;
use crate::container::{Compression, Container, Content, Decode, List, MAX_NESTED, Member, StatedCrc, long_skippable};
use crate::disk::info::{ContainerInfo, DiskList, MemberInfo};
use crate::error::place::Place;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Format, HEAD};
use crate::io::source::Source;
use crate::io::stream::{ByteStream, FileStream, Peeked};
use crate::io::table_cache::TableCache;
use crate::modules::prepare;
use crate::open::chain::open_options::OpenOptions;
use crate::open::disk_choice::{self, Choice, Choosing};
use crate::open::disk_in_order::{DiskInOrder, several_files};
use crate::open::guess::REACH;
use crate::open::identify::{FileType, RawReason, identify, identify_start, is_raw_disk};
use crate::open::manifest::Manifest;
use crate::open::members::{Found, ImageIn, image_in};
use crate::open::origin::{Decoder, InputBudget, PackedFile, metered};
use crate::open::refusals::{empty_file, empty_stream, not_read_in_order};
use std::rc::Rc;

/// Where a descent has arrived: at a file of this type, or at a reason to stop.
#[allow(clippy::large_enum_variant, reason = "there is one for each image, and it is moved a few times")]
pub(super) enum Level {
    /// A file that is read at any position.
    File(Rc<dyn Source>, FileType),
    /// A file that is read in order.
    Stream(Peeked, FileType),
    /// A compressed companion, or one that its archive compresses. It is not decoded here.
    Packed(Rc<dyn Source>, FileType),
    /// An archive in a packed file. Its disk can be identified only if the archive is read at any position.
    UnclearArchive(&'static Container, PackedFile),
    /// An archive whose disk consists of several of these files, some of them packed. The caller has room to unpack them all.
    WholeArchive(&'static Container, Rc<[Member]>),
    /// The caller has to choose a disk.
    ToChoose(Choice),
}

/// How the innermost file is read.
pub(super) enum Reading {
    Raw(RawReason),
    Image(&'static Format),
    /// An archive that has to be read at any position.
    Archive(&'static Container),
}

/// A checksum that a container states for a stored file.
#[derive(Clone)]
pub(crate) enum Checksum {
    /// The checksum of the file itself.
    Of(StatedCrc),
    /// A checksum that cannot be compared, since its file is not read from start to end: a file around this one, a disk image,
    /// or a file whose start an earlier conversion has read.
    Around(StatedCrc),
}

/// A way down through containers, from the outermost one to the current file.
#[derive(Default)]
pub(super) struct Descent<'a> {
    /// How to open the image; `None` for a companion, where nothing is decoded.
    options: Option<&'a OpenOptions>,
    /// Whether an archive may end inside its last member.
    salvage: bool,
    choosing: Choosing<'a>,
    /// The cache through which heads and headers are read.
    pub(super) tables: Rc<TableCache>,
    /// The containers around the current file, outermost first.
    pub(super) containers: Vec<ContainerInfo>,
    /// The content of the outermost container, if that is a compressed file which is read in place.
    pub(super) blocks: Option<Rc<BlockSource>>,
    /// The innermost archive that is read at any position.
    pub(super) archive: Option<Found>,
    /// The disks that the caller can choose from: those of the outermost archive with several, or else of the innermost one. Empty for a
    /// companion.
    pub(super) list: DiskList,
    pub(super) checksum: Option<Checksum>,
    /// The file in which decoding begins; `None` for a caller's stream.
    pub(super) packed: Option<PackedFile>,
    /// The decoders from that file to the current stream, outermost first.
    pub(super) decoders: Vec<Decoder>,
    /// The outermost archive that is decoded in order, and the number of decoders before its own.
    in_order: Option<(&'static Container, usize)>,
    /// The disk in the outermost archive that is decoded in order.
    pub(super) only: Option<MemberInfo>,
    /// The largest window that a decoder has needed so far, in bytes; 0 if all are small by design.
    pub(super) window: u64,
    budget: InputBudget,
}

impl<'a> Descent<'a> {
    /// Starts a descent to the image that `options` describe.
    pub(super) fn to_image(options: &'a OpenOptions) -> Self {
        Self { options: Some(options), salvage: options.salvage, choosing: options.choosing(), ..Self::default() }
    }

    /// Starts a descent inside `container`, a compressed file whose `content` is read in place.
    pub(super) fn in_place(container: ContainerInfo, content: Rc<BlockSource>, options: &'a OpenOptions) -> Self {
        Self { containers: vec![container], blocks: Some(content), ..Self::to_image(options) }
    }

    /// Descends from the file `source`.
    ///
    /// Fails with `source`, with `limit` if containers are nested too deeply or too much input decodes to nothing, and as
    /// containers, their decoders and [`image_in`] do.
    pub(super) async fn follow_file(&mut self, source: Rc<dyn Source>) -> Result<Level> {
        let file_type = identify(&*self.tables.over(source.clone()), None).await?;
        self.follow(Level::File(source, file_type)).await
    }

    /// Descends from `stream`. Fails as [`Self::follow_file`] does, and with `not-recognised` if it is empty.
    pub(super) async fn follow_stream(&mut self, stream: Box<dyn ByteStream>) -> Result<Level> {
        let level = self.identified(Peeked::new(stream, HEAD as usize).await?).await?;
        self.follow(level).await
    }

    /// Descends from `level` through archives and compressed files, to a file that is neither, or to a reason to stop.
    async fn follow(&mut self, mut level: Level) -> Result<Level> {
        loop {
            if let Level::Stream(stream, _) = &level
                && stream.head().is_empty()
            {
                return Err(self.place().map_or_else(empty_stream, |place| empty_file(None).within(place)));
            }
            if self.options.is_some_and(|options| options.containers == Some(self.containers.len())) {
                level = match level {
                    Level::File(source, FileType::Container(_)) => Level::File(source, FileType::Unknown),
                    Level::Stream(stream, FileType::Container(_)) => Level::Stream(stream, FileType::Unknown),
                    other => other,
                };
            }
            let (Level::File(_, FileType::Container(container)) | Level::Stream(_, FileType::Container(container))) =
                level
            else {
                break;
            };
            level = match (level, &container.content) {
                (Level::File(source, _), Content::Members { list, .. }) => {
                    self.member(container, *list, source).await?
                }
                (Level::File(source, file_type), Content::Compressed(_)) if self.options.is_none() => {
                    return Ok(Level::Packed(source, file_type));
                }
                (Level::File(source, _), Content::Compressed(compression)) => {
                    let stream = self.begin(source);
                    self.content(container, compression, stream).await?
                }
                (Level::Stream(stream, _), Content::Compressed(compression)) => {
                    self.content(container, compression, Box::new(stream)).await?
                }
                (Level::Stream(stream, _), Content::Members { in_order: Some(files), .. }) => {
                    self.file_in_order(container, *files, Box::new(stream)).await?
                }
                (end, _) => return Ok(end),
            };
        }
        self.budget.lift();
        Ok(level)
    }

    /// Moves to the image among the files of `container`, which `list` lists in `source`.
    async fn member(&mut self, container: &'static Container, list: List, source: Rc<dyn Source>) -> Result<Level> {
        self.ensure_room()?;
        let place = self.place();
        let mut found = match self.image_in(container, list, source).await.map_err(|error| error.within(place))? {
            ImageIn::Found(found) => found,
            ImageIn::ToChoose(choice) => return Ok(Level::ToChoose(choice)),
        };
        if !matches!(self.choosing, Choosing::Impossible) {
            if found.list.disks.len() > 1 {
                self.choosing = Choosing::Impossible;
            }
            self.list = std::mem::take(&mut found.list);
        }
        let (image, file_type) = (found.image.clone(), found.file_type);
        self.checksum = match (image.stated_crc, self.checksum.take()) {
            (Some(stated), _) => Some(Checksum::Of(stated)),
            (None, Some(Checksum::Of(around) | Checksum::Around(around))) if image.packed.is_none() => {
                Some(Checksum::Around(around))
            }
            _ => None,
        };
        self.containers.push(ContainerInfo { name: container.name, member: Some(image.name) });
        let has_room = self.options.is_some_and(|options| options.spool);
        if found.is_in_packed_pieces || found.needs_all && has_room {
            return Ok(Level::WholeArchive(container, found.members));
        }
        let is_packed = image.packed.is_some() || matches!(file_type, FileType::Container(_));
        if is_packed && !found.stated.parents.is_empty() {
            return Err(packed_delta(container.name).within(self.place()));
        }
        self.archive = Some(found);
        match image.packed {
            None => Ok(Level::File(image.source, file_type)),
            Some(_) if self.options.is_none() => Ok(Level::Packed(image.source, file_type)),
            Some(packed) => {
                if !matches!(file_type, FileType::Container(_)) {
                    self.require_choice()?;
                }
                let decoder = Decoder { container: None, decode: packed.decode, place: self.place() };
                let input = metered(self.begin(packed.source), self.budget.clone(), container.name);
                let stream = (decoder.decode)(input)?;
                Ok(Level::Stream(self.decoded(decoder, stream).await?, file_type))
            }
        }
    }

    async fn image_in(&self, container: &Container, list: List, source: Rc<dyn Source>) -> Result<ImageIn> {
        let size = source.size();
        let contents = list(source, self.salvage).await?;
        let snapshot = self.options.and_then(|options| options.snapshot.as_deref());
        let snapshot = snapshot.filter(|_| !self.list.is_in_snapshot);
        image_in(container.name, contents, size, self.choosing, snapshot, &self.tables).await
    }

    /// Moves to the content of `container`, whose bytes are `stream`.
    async fn content(
        &mut self,
        container: &'static Container,
        compression: &Compression,
        stream: Box<dyn ByteStream>,
    ) -> Result<Level> {
        self.ensure_room()?;
        if let Some(module) = compression.module {
            prepare(module).await?;
        }
        let decoder = Decoder { container: Some(container), decode: Rc::new(compression.decode), place: self.place() };
        let stream = (compression.decode)(metered(stream, self.budget.clone(), container.name))?;
        let content = self.decoded(decoder, stream).await?;
        self.containers.push(ContainerInfo { name: container.name, member: None });
        self.identified(content).await
    }

    /// Moves to the disk in `container`, an archive whose bytes are `stream`. `files` decodes the archive to its files, in order.
    async fn file_in_order(
        &mut self,
        container: &'static Container,
        files: Decode,
        stream: Box<dyn ByteStream>,
    ) -> Result<Level> {
        self.ensure_room()?;
        self.in_order.get_or_insert((container, self.decoders.len()));
        let mut disk = DiskInOrder::new(files(metered(stream, self.budget.clone(), container.name))?);
        let is_stated = self.is_stated_raw();
        if !disk.find(is_stated).await.map_err(|error| error.within_stream(self.place()))? {
            // A caller's stream cannot be read again.
            let file = self.packed.take().ok_or_else(|| several_files().within_stream(self.place()))?;
            return Ok(Level::UnclearArchive(container, file));
        }
        let decode = move |stream| Ok(Box::new(DiskInOrder::new(files(stream)?)) as Box<dyn ByteStream>);
        let decoder = Decoder { container: Some(container), decode: Rc::new(decode), place: self.place() };
        let content = self.decoded(decoder, Box::new(disk)).await?;
        let member = content.member().map(|(name, size)| {
            let disk = MemberInfo { name: name.to_owned(), size, format: None, virtual_size: None, missing: false };
            self.only.get_or_insert(disk);
            name.to_owned()
        });
        self.containers.push(ContainerInfo { name: container.name, member });
        self.identified(content).await
    }

    /// Begins to read the file `source` in order.
    fn begin(&mut self, source: Rc<dyn Source>) -> Box<dyn ByteStream> {
        let stated_crc = match &self.checksum {
            Some(Checksum::Of(stated)) => Some(stated.clone()),
            _ => None,
        };
        self.packed = Some(PackedFile { source: source.clone(), stated_crc });
        Box::new(FileStream::new(source))
    }

    /// Reads the start of `stream`, the output of `decoder`, and adds `decoder` to the decoders.
    async fn decoded(&mut self, decoder: Decoder, stream: Box<dyn ByteStream>) -> Result<Peeked> {
        let content = Peeked::new(decoder.placed(stream), HEAD as usize).await?;
        self.decoders.push(decoder);
        self.window = self.window.max(content.window());
        Ok(content)
    }

    /// Identifies the file `stream` by its start.
    async fn identified(&self, mut stream: Peeked) -> Result<Level> {
        if long_skippable(stream.head()).is_some() {
            stream = Peeked::new(Box::new(stream), REACH as usize).await?;
        }
        let file_type = identify_start(stream.head(), self.name());
        Ok(Level::Stream(stream, file_type))
    }

    /// Fails with `limit` if no further container may be opened.
    fn ensure_room(&self) -> Result<()> {
        if self.containers.len() == MAX_NESTED {
            let message = format!("The image is packed in more than {MAX_NESTED} containers; unpack it first");
            return Err(Error::new(ErrorKind::Limit, message));
        }
        Ok(())
    }

    /// Whether the caller, or the configuration of a machine, states that the innermost file is a raw disk.
    fn is_stated_raw(&self) -> bool {
        self.options.is_some_and(|options| {
            options.unpack || self.archive.as_ref().map_or(&options.stated, |found| &found.stated).is_raw
        })
    }

    /// Decides how to read the innermost file, whose type is `file_type`. Fails with `usage` if the type is ambiguous.
    pub(super) fn reading(&self, file_type: FileType) -> Result<Reading> {
        Ok(match file_type {
            FileType::Container(container) => Reading::Archive(container),
            _ if self.is_stated_raw() => Reading::Raw(RawReason::stated(file_type)),
            FileType::Image(format) if format.is_raw() && is_raw_disk(self.name()) => Reading::Raw(RawReason::Stated),
            // Neither its content nor its name shows that it is a raw disk: the caller has chosen it.
            FileType::Image(format) if format.is_raw() => Reading::Raw(RawReason::Likely),
            FileType::Image(format) | FileType::Unsupported(format) => Reading::Image(format),
            FileType::Ambiguous(ambiguity) => return Err(ambiguity.of_image(&self.containers)),
            FileType::HybridIso => Reading::Raw(RawReason::HybridIso),
            FileType::Unknown => Reading::Raw(RawReason::Guessed),
        })
    }

    /// Fails with `usage` if the caller has chosen a disk that is not in the archives.
    pub(super) fn require_choice(&self) -> Result<()> {
        match self.choosing {
            Choosing::Stated(choice) => disk_choice::find(choice, &self.list).map(drop),
            _ => Ok(()),
        }
    }

    /// The manifest of the innermost archive, if there is one.
    pub(super) fn manifest(&self, options: &OpenOptions) -> Option<Manifest> {
        self.archive.as_ref().and_then(|found| {
            let is_decoded = self.blocks.as_ref().is_some_and(|content| content.is_one_block());
            Manifest::of_archive(found, is_decoded, options)
        })
    }

    /// Whether the current stream is in an archive that is decoded in order.
    pub(super) fn is_in_archive(&self) -> bool {
        self.in_order.is_some()
    }

    /// Goes back to the outermost archive that is decoded in order. Returns it, if there is one.
    pub(super) fn back_to_archive(&mut self) -> Option<&'static Container> {
        let (container, decoders) = self.in_order?;
        self.containers.truncate(self.containers.len() - (self.decoders.len() - decoders));
        self.decoders.truncate(decoders);
        Some(container)
    }

    /// The outermost container, if the first decoder decodes it.
    pub(super) fn outermost(&self) -> Option<&'static Container> {
        let first = self.decoders.first().filter(|decoder| decoder.place.is_none());
        first.and_then(|decoder| decoder.container)
    }

    /// The place of the current file, for errors; `None` outside of containers.
    pub(super) fn place(&self) -> Option<Place> {
        ContainerInfo::place_in(&self.containers)
    }

    /// The name of the current file in its container.
    pub(super) fn name(&self) -> Option<&str> {
        self.containers.last().and_then(|container| container.member.as_deref())
    }

    /// See [`Member::missing`].
    pub(super) fn missing(&self) -> u64 {
        self.archive.as_ref().map_or(0, |found| found.image.missing)
    }
}

/// The file of a companion, found inside the containers around it.
#[derive(Clone)]
pub(super) struct InnerFile {
    pub(super) source: Rc<dyn Source>,
    /// A container type means a file that is decoded in order.
    pub(super) file_type: FileType,
    /// See [`Member::missing`].
    pub(super) missing: u64,
    /// Its place, if it is in a container.
    pub(super) place: Option<Place>,
    /// Whether its archive has an end mark; true if it is in no archive.
    pub(super) is_ended: bool,
    /// The checksum that a container states for it, or for a file around it. It is not compared.
    pub(super) stated_crc: Option<StatedCrc>,
}

impl InnerFile {
    /// Finds the file in `companion`, whose head is read through `tables`. With `salvage`, an archive may end inside its last member. Fails
    /// as [`Descent::follow_file`] does.
    pub(super) async fn of(companion: Rc<dyn Source>, salvage: bool, tables: &Rc<TableCache>) -> Result<Self> {
        let mut descent = Descent { salvage, tables: tables.clone(), ..Descent::default() };
        match descent.follow_file(companion).await? {
            Level::File(source, file_type) | Level::Packed(source, file_type) => {
                let is_ended = descent.archive.as_ref().is_none_or(|found| found.is_ended);
                let (missing, place) = (descent.missing(), descent.place());
                let stated_crc = descent.checksum.map(|(Checksum::Of(stated) | Checksum::Around(stated))| stated);
                Ok(Self { source, file_type, missing, place, is_ended, stated_crc })
            }
            Level::ToChoose(choice) => Err(choice.refusal()),
            Level::Stream(..) | Level::UnclearArchive(..) | Level::WholeArchive(..) => {
                unreachable!("nothing is decoded on the way to a companion")
            }
        }
    }
}

/// The error for a compressed disk in `container` that must be read together with its parent.
pub(super) fn packed_delta(container: &str) -> Error {
    let message = "The virtual machine's description states a parent for this disk, so both must be read together, but the disk is \
                   compressed; unpack the files of the disk first";
    not_read_in_order(message.to_owned(), Some(container))
}
