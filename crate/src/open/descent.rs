//! Follows a stream through the containers around an image.

use crate::container::{Container, Deflated};
use crate::disk::info::{ContainerInfo, DiskList, MemberInfo};
use crate::error::Result;
use crate::format::{Format, HEAD, RAW, TAIL, disk_footer};
use crate::io::source::Source;
use crate::io::stream::{ByteStream, Peeked};
use crate::modules::prepare;
use crate::open::chain::{OpenOptions, empty_file};
use crate::open::guess::{REACH, has_sign};
use crate::open::identify::{FileType, identify_start};
use crate::open::members::ensure_guess;
use crate::open::metered::{InputBudget, metered};
use crate::open::raw_reason::RawReason;
use crate::open::streamed_image::{ContainerDecoder, Decoding, Guess};
use crate::open::unpack::{ensure_room, place_in};
use crate::open::{empty_stream, needs_spool, not_in_order};
use std::rc::Rc;

/// How a file is packed that is decoded in order.
pub(super) enum Packing {
    Container(&'static Container),
    /// As a member of a container.
    Deflated(Deflated),
}

impl Packing {
    /// Its container; `None` for a member of one.
    pub(super) fn container(&self) -> Option<&'static Container> {
        match self {
            Self::Container(container) => Some(container),
            Self::Deflated(_) => None,
        }
    }

    /// Returns the packed bytes of the file `source`.
    pub(super) fn of(&self, source: Rc<dyn Source>) -> Rc<dyn Source> {
        match self {
            Self::Container(_) => source,
            Self::Deflated(deflated) => deflated.source.clone(),
        }
    }
}

/// A format, or an archive, that needs random access.
pub(super) struct Packed {
    pub(super) name: &'static str,
    /// Its name for people; of an archive, with an article.
    pub(super) label: &'static str,
    pub(super) is_archive: bool,
}

impl Packed {
    pub(super) fn archive(container: &Container) -> Self {
        Self { name: container.name, label: container.label, is_archive: true }
    }

    pub(super) fn image(format: &Format) -> Self {
        Self { name: format.name, label: format.label, is_archive: false }
    }
}

/// What a stream holds.
pub(super) enum Content {
    /// A raw disk, and the grounds for its format unless the member's name states it or there is no container.
    Raw(Peeked, Option<Guess>),
    /// A file that needs random access.
    Packed(Peeked, Packed),
}

/// An archive that is decoded in order, but would have random access.
#[derive(Clone, Copy)]
pub(super) struct Archive {
    pub(super) container: &'static Container,
    /// The number of decoders before its own.
    pub(super) depth: usize,
}

/// The way from a first stream down to an image.
#[derive(Default)]
pub(super) struct Descent {
    pub(super) containers: Vec<ContainerInfo>,
    /// The decoders between the first stream and the current one, outermost first.
    pub(super) decoders: Vec<ContainerDecoder>,
    /// The outermost archive among them.
    pub(super) archive: Option<Archive>,
    /// The name and the size of its file.
    only: Option<(String, u64)>,
    /// Whether the content of the last container is stated to be a raw disk.
    pub(super) is_stated: bool,
    /// Why the image is read as a raw disk.
    pub(super) reason: RawReason,
    /// The largest window that a decoder has needed so far, in bytes; 0 if all are small by design.
    pub(super) window: u64,
    budget: InputBudget,
    /// Whether the file in the first containers is a raw disk, by its name or because the caller has chosen it.
    is_raw: bool,
}

impl Descent {
    /// Begins inside `containers`, with a raw disk if `is_raw`.
    pub(super) fn new(containers: Vec<ContainerInfo>, options: &OpenOptions, is_raw: bool) -> Self {
        Self { containers, is_stated: options.unpack, is_raw, ..Self::default() }
    }

    /// Decodes `stream`, which is packed by `packing`, as far as its content can be identified. Fails with `limit` if
    /// containers are nested too deeply or the budget is spent, with `unsupported` if the container needs random access,
    /// and as the decoder does.
    pub(super) async fn enter(&mut self, stream: Box<dyn ByteStream>, packing: Packing) -> Result<Peeked> {
        let outer = self.containers.last();
        let (decoding, container) = match packing {
            Packing::Deflated(deflated) => (Decoding::Deflated(deflated), None),
            Packing::Container(container) => {
                ensure_room(&self.containers)?;
                if container.decode.is_none() {
                    return Err(needs_spool(Packed::archive(container), &self.containers, None, self.window));
                }
                if container.list.is_some() && self.archive.is_none() {
                    self.archive = Some(Archive { container, depth: self.decoders.len() });
                }
                if let Some(module) = container.module {
                    prepare(module).await?;
                }
                (Decoding::Container(container), Some(container.name))
            }
        };
        let decoder = ContainerDecoder::new(decoding, outer);
        let what = container.or(outer.map(|outer| outer.name)).unwrap_or_default();
        let input = metered(stream, self.budget.clone(), what);
        let content = Peeked::new(decoder.begin(input)?, HEAD as usize).await?;
        self.decoders.push(decoder);
        self.window = self.window.max(content.window());
        if let Some(name) = container {
            let member = content.member().map(|(name, size)| (name.to_owned(), size));
            if self.only.is_none() {
                self.only.clone_from(&member);
            }
            self.containers.push(ContainerInfo { name, member: member.map(|(name, _)| name) });
        }
        Ok(content)
    }

    /// Follows `stream` down to an image. Fails with `unsupported` if the format of the content is not supported or it is
    /// named like a file that is never a disk, with `not-recognised` if it is empty or does not look like a disk, and as
    /// [`Self::enter`] does.
    pub(super) async fn follow(&mut self, mut stream: Peeked) -> Result<Content> {
        loop {
            if stream.head().is_empty() {
                let is_outermost = self.containers.is_empty();
                let file = || empty_file(None).within(place_in(&self.containers));
                return Err(if is_outermost { empty_stream() } else { file() });
            }
            let outer = self.containers.last();
            match identify_start(stream.head(), outer.and_then(|outer| outer.member.as_deref())) {
                FileType::Container(container) if container.decode.is_none() => {
                    self.budget.lift();
                    return Ok(Content::Packed(stream, Packed::archive(container)));
                }
                FileType::Container(container) => {
                    stream = self.enter(Box::new(stream), Packing::Container(container)).await?;
                }
                file_type if self.is_stated => {
                    self.budget.lift();
                    self.reason = RawReason::stated(file_type);
                    return Ok(Content::Raw(stream, None));
                }
                FileType::Image(format) if format.is_raw() => {
                    self.budget.lift();
                    return Ok(Content::Raw(stream, None));
                }
                FileType::Image(format) => {
                    self.budget.lift();
                    return Ok(Content::Packed(stream, Packed::image(format)));
                }
                FileType::Unsupported(format) => {
                    if format.is_no_image() {
                        ensure_guess(&self.containers)?;
                    }
                    return Err(not_in_order(format, outer.map(|outer| outer.name)));
                }
                FileType::Ambiguous(ambiguity) => return Err(ambiguity.of_image(&self.containers)),
                FileType::Unknown if outer.is_none() => {
                    self.budget.lift();
                    return Ok(Content::Raw(stream, None));
                }
                file_type @ (FileType::HybridIso | FileType::Unknown) => {
                    if !self.is_raw {
                        ensure_guess(&self.containers)?;
                    }
                    self.budget.lift();
                    self.reason = RawReason::guessed(file_type);
                    return self.guess(stream).await;
                }
            }
        }
    }

    /// Returns the only disk of an archive that is decoded in order, `guess` as for [`Content::Raw`]; none without an archive.
    pub(super) fn list(&mut self, guess: Option<&Guess>) -> DiskList {
        let format = guess.is_none().then_some(RAW.name);
        let disks = self.only.take().map(|(name, size)| MemberInfo { name, size, format, missing: false });
        DiskList { disks: disks.into_iter().collect(), ..DiskList::default() }
    }

    /// Checks that `stream`, in no known format, may be a raw disk, as far as its first bytes tell. Fails with
    /// `not-recognised` if not.
    async fn guess(&self, stream: Peeked) -> Result<Content> {
        let stream = Peeked::new(Box::new(stream), REACH as usize).await?;
        let start = stream.head();
        let guess = Guess { containers: self.containers.clone(), is_sure: self.is_raw || has_sign(start) };
        let size = start.len() as u64;
        let tail = &start[size.saturating_sub(TAIL) as usize..];
        // A footer, as of a fixed VHD, is not part of the disk.
        if size < REACH && disk_footer(tail).is_none() {
            guess.check_size(size)?;
        }
        Ok(Content::Raw(stream, Some(guess)))
    }
}
