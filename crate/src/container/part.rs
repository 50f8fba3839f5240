//! Parts of a compressed file that decode independently.

use super::{CONTAINERS, Container};
use crate::compress::is_zero;
use crate::error::{Error, ErrorKind, Result};
use crate::io::stream::ByteStream;
use crate::modules::prepare;
use decant_codec::resize;
use decant_module::{LARGEST_PART, PART_SIZE_LEN};
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};

/// Maximum length of the data that one step decodes, in bytes.
const STEP: usize = 256 << 10;

/// Decodes parts beside the caller, several at once.
pub trait PartDecoder {
    /// The number of parts to have in flight.
    fn depth(&self) -> usize;

    /// Decodes `part` of `container`; none if that fails. Begins before the future is polled.
    fn decode(&self, container: ContainerNumber, part: Vec<u8>) -> LocalBoxFuture<'static, Option<DecodedPart>>;
}

/// The number of a container in [`CONTAINERS`].
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct ContainerNumber(u8);

impl ContainerNumber {
    /// Makes the module of the container ready. Fails as loading it does.
    #[cfg_attr(feature = "threads", allow(dead_code, reason = "the thread that opened the file has loaded it"))]
    pub(crate) async fn prepare(self) -> Result<()> {
        match self.get().module {
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

/// The size of the data of `part` in bytes, as far as it is stated.
pub(super) fn size_of(part: &[u8]) -> u64 {
    part.first_chunk::<PART_SIZE_LEN>().map_or(0, |size| u64::from_le_bytes(*size))
}

/// The data of a part.
pub struct DecodedPart {
    /// Its size in bytes.
    pub(crate) size: u64,
    /// The data; nothing if it is all zeros.
    pub(crate) bytes: Box<dyn PartBytes>,
}

/// The bytes of a decoded part.
pub(crate) trait PartBytes {
    /// Fills `buf` with the bytes from `start`, or with zeros if there are none.
    fn copy_to(&self, start: usize, buf: &mut [u8]);
}

impl PartBytes for Vec<u8> {
    fn copy_to(&self, start: usize, buf: &mut [u8]) {
        match self.get(start..start + buf.len()) {
            Some(bytes) => buf.copy_from_slice(bytes),
            None => buf.fill(0),
        }
    }
}

/// A part that is being decoded.
pub(crate) struct PartDecoding {
    stream: Box<dyn ByteStream>,
    size: usize,
    bytes: Vec<u8>,
    /// The number of bytes of data in `bytes`: none until there is something else than zeros.
    filled: usize,
}

impl PartDecoding {
    /// Begins to decode `part` of `container`, whose module must be ready, to the buffer `bytes`. Fails with `internal` if memory
    /// runs out.
    pub(crate) fn begin(container: ContainerNumber, part: Vec<u8>, mut bytes: Vec<u8>) -> Result<Self> {
        let size = size_of(&part).min(LARGEST_PART) as usize + STEP;
        if bytes.len() < size {
            resize(&mut bytes, size).map_err(Error::no_room)?;
        }
        let decode = container.get().decode.expect("it is divided");
        let stream = decode(Box::new(InMemory { bytes: part, taken: PART_SIZE_LEN }))?;
        Ok(Self { stream, size: 0, bytes, filled: 0 })
    }

    /// Decodes more. Returns whether that was all. Fails as the decoder does, and with `limit` if the data exceeds [`LARGEST_PART`].
    pub(crate) fn step(&mut self) -> Result<bool> {
        let end = self.size + STEP;
        if self.bytes.len() < end {
            resize(&mut self.bytes, 2 * end).map_err(Error::no_room)?;
        }
        let output = &mut self.bytes[self.filled..self.filled + STEP];
        let read = self.stream.read(output).now_or_never();
        let len = read.expect("a decoder in memory waits for nothing")?;
        let is_data = self.filled > 0 || !is_zero(&output[..len]);
        if is_data && self.filled < self.size {
            // The first data, after zeros.
            self.bytes.copy_within(..len, self.size);
            self.bytes[..self.size].fill(0);
        }
        self.size += len;
        self.filled = if is_data { self.size } else { 0 };
        if self.size as u64 > LARGEST_PART {
            return Err(Error::new(ErrorKind::Limit, "A part of the compressed file is too large"));
        }
        Ok(len < STEP)
    }

    /// Returns the size of the data, and the data, or nothing if it is all zeros. Must be called after the last step.
    pub(crate) fn finish(mut self) -> (u64, Vec<u8>) {
        self.bytes.truncate(self.filled);
        (self.size as u64, self.bytes)
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
