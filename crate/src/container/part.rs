//! Parts of a compressed file that decode independently.

use super::{CONTAINERS, Container};
use crate::compress::is_zero;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::zeroed;
use crate::io::stream::ByteStream;
use crate::modules::prepare;
use decant_module::{LARGEST_PART, PART_SIZE_LEN, USUAL_WINDOW};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

/// Maximum length of the data that one step decodes, in bytes.
const STEP: usize = 256 << 10;

/// Decodes parts beside the caller, several at once.
pub trait PartDecoder {
    /// The number of parts to have in flight.
    fn depth(&self) -> usize;

    /// Begins to collect a part: the size of its data ([`PART_SIZE_LEN`]), then a complete file.
    fn begin(&self) -> Box<dyn SentPart>;
}

/// A part on its way to a decoder.
pub trait SentPart {
    /// Appends `bytes`. Fails with `internal` if memory runs out.
    fn add(&mut self, bytes: &[u8]) -> Result<()>;

    /// Decodes the part, which is packed by `container`. Begins before the future is polled. Fails as the decoder does, and with
    /// `internal` if the decoder has ended.
    fn decode(self: Box<Self>, container: ContainerNumber) -> LocalBoxFuture<'static, Result<DecodedPart>>;
}

/// The number of a container in [`CONTAINERS`].
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct ContainerNumber(u8);

impl ContainerNumber {
    /// Makes the module of the container ready. Fails as loading it does.
    pub(crate) async fn prepare(self) -> Result<()> {
        match self.get().compression().and_then(|compression| compression.module) {
            Some(module) => prepare(module).await,
            None => Ok(()),
        }
    }

    fn get(self) -> &'static Container {
        &CONTAINERS[usize::from(self.0)]
    }

    pub(super) fn of(container: &Container) -> Self {
        let number = CONTAINERS.iter().position(|other| other.name == container.name);
        Self(number.expect("it is registered") as u8)
    }
}

/// The size of the data of `part` in bytes, as its start states it; 0 if it is unknown.
pub(super) fn size_of(part: &[u8]) -> u64 {
    part.first_chunk::<PART_SIZE_LEN>().map_or(0, |size| u64::from_le_bytes(*size))
}

/// Facts about the data of a part.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub(crate) struct PartFacts {
    /// Its size in bytes.
    pub(crate) size: u64,
    /// See [`Ended::trailer`].
    pub(crate) trailer: u64,
}

/// The data of a part.
pub struct DecodedPart {
    pub(crate) facts: PartFacts,
    /// The data; nothing if it is all zeros.
    pub(crate) bytes: Box<dyn PartBytes>,
}

/// The bytes of a decoded part.
pub(crate) trait PartBytes {
    /// Fills `buf` with the bytes from `start`, or with zeros if there are none.
    fn copy_to(&self, start: usize, buf: &mut [u8]);
}

/// Room for the data of a part.
pub(crate) trait PartRoom {
    /// Extends the room to `len` bytes, and keeps its content. Fails with `internal` if memory runs out.
    fn resize(&mut self, len: usize) -> Result<()>;

    fn len(&self) -> usize;

    /// Fills the first `len` bytes with zeros.
    fn zero(&mut self, len: usize);

    /// Copies `bytes` to `start`.
    fn put(&mut self, start: usize, bytes: &[u8]);
}

/// A part that is being decoded.
pub(crate) struct PartDecoding<Room> {
    stream: Box<dyn ByteStream>,
    /// The expected size of the data in bytes.
    expected: usize,
    /// The data of a step. It is small enough to stay in the CPU cache.
    step: Vec<u8>,
    size: usize,
    /// The data, with room for more. Not used as long as all data is zeros.
    room: Room,
    is_zero: bool,
}

impl<Room: PartRoom> PartDecoding<Room> {
    /// Begins to decode `part` of `container`, whose module must be ready, to `room`. `part` must not wait for its bytes. Fails with
    /// `internal` if memory runs out.
    pub(crate) fn begin(container: ContainerNumber, mut part: Box<dyn ByteStream>, room: Room) -> Result<Self> {
        let mut size = [0; PART_SIZE_LEN];
        at_once(part.read(&mut size))?;
        let expected = u64::from_le_bytes(size).min(LARGEST_PART) as usize;
        let stream = (container.get().compression().expect("it is compressed").decode)(part)?;
        Ok(Self { stream, expected, step: zeroed(STEP)?, size: 0, room, is_zero: true })
    }

    /// Decodes another step. Returns whether the data has ended. Fails as the decoder does, and with `limit` if the data exceeds
    /// [`LARGEST_PART`].
    pub(crate) fn step(&mut self) -> Result<bool> {
        let len = at_once(self.stream.read(&mut self.step))?;
        let end = self.size + len;
        if end as u64 > LARGEST_PART {
            return Err(Error::new(ErrorKind::Limit, "A part of the compressed file is too large"));
        }
        // Several parts are decoded at once.
        if self.stream.window() > USUAL_WINDOW {
            return Err(Error::new(ErrorKind::Limit, "A part of the compressed file needs too much memory"));
        }
        let (bytes, room) = (&self.step[..len], self.room.len());
        if !self.is_zero || !is_zero(bytes) {
            if room < end {
                self.room.resize(end.max(self.expected).max(2 * room))?;
            }
            if self.is_zero {
                self.room.zero(self.size);
                self.is_zero = false;
            }
            self.room.put(self.size, bytes);
        }
        self.size = end;
        Ok(len < STEP)
    }

    /// Returns facts about the data, whether it is all zeros, and the room, which starts with the data unless that is all
    /// zeros. Must be called after the last step.
    pub(crate) fn finish(self) -> (PartFacts, bool, Room) {
        let facts = PartFacts { size: self.size as u64, trailer: self.stream.ended().trailer };
        (facts, self.is_zero, self.room)
    }
}

/// Returns the result of `read`, which must be ready at once.
fn at_once(read: LocalBoxFuture<'_, Result<usize>>) -> Result<usize> {
    read.now_or_never().expect("a decoder in memory waits for nothing")
}

#[cfg(any(feature = "threads", not(target_arch = "wasm32")))]
pub(crate) use in_memory::decode_part;

/// Decodes parts for workers that share the memory of the caller.
#[cfg(any(feature = "threads", not(target_arch = "wasm32")))]
mod in_memory {
    use super::*;
    use futures_util::future::ready;

    /// Decodes `part` of `container`, whose module must be ready. Returns facts about the data, and the data, or nothing if it is
    /// all zeros. Fails as [`PartDecoding`] does.
    pub(crate) fn decode_part(container: ContainerNumber, part: Vec<u8>) -> Result<(PartFacts, Vec<u8>)> {
        let mut decoding = PartDecoding::begin(container, Box::new(InMemory { bytes: part, taken: 0 }), Vec::new())?;
        while !decoding.step()? {}
        let (facts, is_zero, data) = decoding.finish();
        Ok((facts, if is_zero { Vec::new() } else { data }))
    }

    impl PartRoom for Vec<u8> {
        fn resize(&mut self, len: usize) -> Result<()> {
            decant_codec::resize(self, len).map_err(Error::no_room)
        }

        fn len(&self) -> usize {
            self.len()
        }

        fn zero(&mut self, len: usize) {
            self[..len].fill(0);
        }

        fn put(&mut self, start: usize, bytes: &[u8]) {
            self[start..start + bytes.len()].copy_from_slice(bytes);
        }
    }

    impl PartBytes for Vec<u8> {
        fn copy_to(&self, start: usize, buf: &mut [u8]) {
            match self.get(start..start + buf.len()) {
                Some(bytes) => buf.copy_from_slice(bytes),
                None => buf.fill(0),
            }
        }
    }

    /// Bytes as a stream.
    struct InMemory {
        bytes: Vec<u8>,
        taken: usize,
    }

    impl ByteStream for InMemory {
        fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
            let len = buf.len().min(self.bytes.len() - self.taken);
            buf[..len].copy_from_slice(&self.bytes[self.taken..self.taken + len]);
            self.taken += len;
            ready(Ok(len)).boxed_local()
        }

        fn file_position(&self) -> u64 {
            self.taken as u64
        }
    }
}
