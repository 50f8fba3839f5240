//! The origin of a disk that is read in order: a file with decoders, or a caller's stream. Limits what is decoded before the first byte of
//! the disk.

use crate::container::part::PartDecoder;
use crate::container::{Container, DividedStream, Member, StatedCrc, Unpack, blocks};
use crate::error::place::Place;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::Source;
use crate::io::stream::{ByteStream, Ended, FileStream, inspected};
use crate::open::as_tar::AsTar;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The file in which decoding begins.
pub(super) struct PackedFile {
    pub(super) source: Rc<dyn Source>,
    /// The checksum that is stated for its bytes.
    pub(super) stated_crc: Option<StatedCrc>,
}

/// Decodes the content of a container, or a member that is packed.
pub(super) struct Decoder {
    /// `None` for a member.
    pub(super) container: Option<&'static Container>,
    pub(super) decode: Rc<Unpack>,
    /// The file that is decoded, if it was found in a container.
    pub(super) place: Option<Place>,
}

impl Decoder {
    /// Decodes the bytes of `file` by parts. Returns `None` if that is impossible.
    fn decode_by_parts(
        &self,
        file: &Rc<dyn Fn() -> Box<dyn ByteStream>>,
        parts: Rc<dyn PartDecoder>,
    ) -> Option<Box<dyn ByteStream>> {
        DividedStream::begin(file.clone(), self.container?, parts).map(|stream| self.placed(stream))
    }

    /// Adds the place to the errors of `decoded`, the output of the decoder. Errors of its input pass through.
    pub(super) fn placed(&self, decoded: Box<dyn ByteStream>) -> Box<dyn ByteStream> {
        Box::new(Decoded { stream: decoded, place: self.place.clone() })
    }
}

/// The output of a decoder. Adds the container's place to the decoder's own errors.
struct Decoded {
    stream: Box<dyn ByteStream>,
    place: Option<Place>,
}

impl ByteStream for Decoded {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        async move { self.stream.read(buf).await.map_err(|error| error.within_stream(self.place.clone())) }
            .boxed_local()
    }

    fn file_position(&self) -> u64 {
        self.stream.file_position()
    }

    fn window(&self) -> u64 {
        self.stream.window()
    }

    fn member(&self) -> Option<(&str, u64)> {
        self.stream.member()
    }

    fn pass_hole(&mut self, unit: u64) -> u64 {
        self.stream.pass_hole(unit)
    }

    fn ended(&self) -> Ended {
        self.stream.ended()
    }
}

/// The origin of a disk's bytes.
pub(crate) enum Origin {
    /// A file, decoded anew by each conversion.
    File {
        /// The file, or the member of a container, from its start.
        file: Rc<dyn Fn() -> Box<dyn ByteStream>>,
        /// The same bytes, readable at any position; `None` for an archive that is put together while it is read.
        source: Option<Rc<dyn Source>>,
        /// Its size in bytes.
        size: u64,
        /// The decoders from the file to the disk, outermost first.
        decoders: Vec<Decoder>,
    },
    /// A caller's stream; `None` after the first conversion.
    Once(RefCell<Option<Box<dyn ByteStream>>>),
}

impl Origin {
    /// Creates the origin for `packed`, a file whose content `decoders` decode.
    pub(super) fn file(packed: PackedFile, decoders: Vec<Decoder>) -> Self {
        let PackedFile { source, stated_crc } = packed;
        let streamed = source.clone();
        let file = move || {
            let stream: Box<dyn ByteStream> = Box::new(FileStream::new(streamed.clone()));
            match &stated_crc {
                Some(stated) => stated.clone().checked(stream),
                None => stream,
            }
        };
        let size = source.size();
        Self::File { file: Rc::new(file), source: Some(source), size, decoders }
    }

    /// Creates the origin for a tar archive of `members`, all files of an archive.
    pub(super) fn archive(members: Rc<[Member]>) -> Self {
        let size = members.iter().map(|member| member.source.size()).sum();
        let file = move || Box::new(AsTar::new(members.clone())) as Box<dyn ByteStream>;
        Self::File { file: Rc::new(file), source: None, size, decoders: Vec::new() }
    }

    /// Creates the origin for `stream`, which yields the bytes of the disk.
    pub(super) fn once(stream: Box<dyn ByteStream>) -> Self {
        Self::Once(RefCell::new(Some(stream)))
    }

    /// The size of the file; `None` for a stream.
    pub(super) fn file_size(&self) -> Option<u64> {
        match self {
            Self::File { size, .. } => Some(*size),
            Self::Once(_) => None,
        }
    }

    /// Returns the size of the bytes, if a file states it that has no other container in it. Fails as reading the file does.
    pub(super) async fn stated_size(&self) -> Result<Option<u64>> {
        let Self::File { source: Some(source), decoders, .. } = self else { return Ok(None) };
        match &decoders[..] {
            [Decoder { container: Some(container), .. }] => blocks::stated_size(container, &**source).await,
            _ => Ok(None),
        }
    }

    /// Returns the bytes from the start, decoded by `parts` where that is given and possible. Fails with `usage` if they come from a
    /// caller's stream that was taken before.
    pub(super) fn begin(&self, parts: Option<Rc<dyn PartDecoder>>) -> Result<Box<dyn ByteStream>> {
        match self {
            Self::File { file, decoders, .. } => {
                let divided = parts.zip(decoders.first()).and_then(|(parts, first)| first.decode_by_parts(file, parts));
                let (stream, rest) = match divided {
                    Some(stream) => (stream, &decoders[1..]),
                    None => (file(), &decoders[..]),
                };
                let decode = |stream, decoder: &Decoder| Ok(decoder.placed((decoder.decode)(stream)?));
                rest.iter().try_fold(stream, decode)
            }
            Self::Once(stream) => stream.take().ok_or_else(|| {
                Error::new(ErrorKind::Usage, "The stream was read already; open the image again to convert it again")
            }),
        }
    }
}

/// Maximum input, in bytes, of all decoders of a stream together before the disk's first byte.
const MOST_WITHOUT_DATA: u64 = 64 << 20;

/// Input budget left, shared by a stream's decoders.
#[derive(Clone)]
pub(crate) struct InputBudget(Rc<Cell<Option<u64>>>);

impl Default for InputBudget {
    fn default() -> Self {
        Self(Rc::new(Cell::new(Some(MOST_WITHOUT_DATA))))
    }
}

impl InputBudget {
    pub(crate) fn lift(&self) {
        self.0.set(None);
    }

    /// Takes `len` bytes from the budget. Returns false if it had fewer left.
    fn take(&self, len: usize) -> bool {
        let Some(left) = self.0.get() else { return true };
        let rest = left.checked_sub(len as u64);
        self.0.set(Some(rest.unwrap_or(0)));
        rest.is_some()
    }
}

/// Limits `stream`, the input of a decoder of `container` files. A read beyond `budget` fails with `limit`.
pub(crate) fn metered(
    stream: Box<dyn ByteStream>,
    budget: InputBudget,
    container: &'static str,
) -> Box<dyn ByteStream> {
    inspected(stream, move |bytes, _| {
        if budget.take(bytes.len()) {
            return Ok(());
        }
        let message = format!(
            "The {container} file has more than {} MiB before the first byte of a disk; unpack it first",
            MOST_WITHOUT_DATA >> 20
        );
        // The input of all decoders is counted together, so no place is stated.
        Err(Error::new(ErrorKind::Limit, message).within_stream(None))
    })
}
