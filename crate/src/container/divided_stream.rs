//! Decodes a compressed file by parts, several at once. If that fails, decodes the rest in order, which also reports any
//! damage.

use super::decoder_buffers::CompressedInput;
use super::part::{ContainerNumber, DecodedPart, PartDecoder, size_of};
use super::{Container, Decode};
use crate::error::Result;
use crate::io::source::zeroed;
use crate::io::stream::{ByteStream, Ended};
use decant_module::{LARGEST_PART, StreamDecoder, StreamState};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::rc::Rc;

/// Upper bound on the parts in flight, in bytes: their input and their data. One part may exceed it.
const IN_FLIGHT: u64 = 64 << 20;
/// Length of one read of the data that is skipped, in bytes.
const SKIPPED: usize = 256 << 10;

/// Creates a divider; returns `None` if memory runs out.
pub(crate) type Divide = fn() -> Option<Box<dyn StreamDecoder>>;

/// The data of a compressed file.
pub(crate) struct DividedStream {
    file: Rc<dyn Fn() -> Box<dyn ByteStream>>,
    container: ContainerNumber,
    decode: Decode,
    input: DividedInput,
    has_ended: bool,
    decoder: Rc<dyn PartDecoder>,
    in_flight: Vec<InFlight>,
    /// The decoded part that the reader is at, and how many of its bytes the reader has.
    current: Option<DecodedPart>,
    taken: u64,
    /// How many bytes of the data the reader has.
    given: u64,
    /// The file offset of the end of the current part.
    position: u64,
    /// The rest of the file, if it is decoded in order.
    in_order: Option<Box<dyn ByteStream>>,
}

/// A part that is being decoded.
struct InFlight {
    decoded: LocalBoxFuture<'static, Result<DecodedPart>>,
    /// The memory that it takes, in bytes.
    weight: u64,
    /// The file offset of the end of the part.
    position: u64,
}

impl DividedStream {
    /// Decodes a file, which `file` streams from its start, packed by `container`, by `decoder`. Returns `None` if files of its kind
    /// cannot be divided, or memory runs out.
    pub(crate) fn begin(
        file: Rc<dyn Fn() -> Box<dyn ByteStream>>,
        container: &Container,
        decoder: Rc<dyn PartDecoder>,
    ) -> Option<Box<dyn ByteStream>> {
        let compression = container.compression()?;
        let (divider, decode) = (compression.divide?()?, compression.decode);
        let input = DividedInput::new(file(), divider).ok()?;
        Some(Box::new(Self {
            file,
            container: ContainerNumber::of(container),
            decode,
            input,
            has_ended: false,
            decoder,
            in_flight: Vec::new(),
            current: None,
            taken: 0,
            given: 0,
            position: 0,
            in_order: None,
        }))
    }

    async fn fill(&mut self, buf: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            if let Some(stream) = &mut self.in_order {
                done += stream.read(&mut buf[done..]).await?;
                break;
            }
            let taken = self.take(&mut buf[done..]);
            done += taken;
            self.given += taken as u64;
            if taken > 0 {
                continue;
            }
            match self.next_part().await {
                Ok(true) => {}
                Ok(false) => break,
                Err(Indivisible) => self.continue_in_order().await?,
            }
        }
        Ok(done)
    }

    /// Takes the next bytes of the current part, as many as there are. Returns their number.
    fn take(&mut self, buf: &mut [u8]) -> usize {
        let Some(part) = &self.current else { return 0 };
        let len = (part.facts.size - self.taken).min(buf.len() as u64) as usize;
        part.bytes.copy_to(self.taken as usize, &mut buf[..len]);
        self.taken += len as u64;
        len
    }

    /// Makes the next part the current one. Returns false after the last part.
    async fn next_part(&mut self) -> std::result::Result<bool, Indivisible> {
        self.current = None;
        self.send().await?;
        if self.in_flight.is_empty() {
            self.position = self.input.file_position();
            return Ok(false);
        }
        let InFlight { decoded, position, .. } = self.in_flight.remove(0);
        (self.current, self.taken, self.position) = (Some(decoded.await.map_err(|_| Indivisible)?), 0, position);
        self.send().await?;
        Ok(true)
    }

    /// Starts to decode parts, until enough are in flight.
    async fn send(&mut self) -> std::result::Result<(), Indivisible> {
        while !self.has_ended
            && self.in_flight.len() < self.decoder.depth()
            && self.in_flight.iter().map(|part| part.weight).sum::<u64>() < IN_FLIGHT
        {
            let Some(part) = self.input.next().await? else {
                self.has_ended = true;
                break;
            };
            let weight = size_of(&part).saturating_add(part.len() as u64);
            let mut sent = self.decoder.begin();
            sent.add(&part).map_err(|_| Indivisible)?;
            let decoded = sent.decode(self.container);
            self.in_flight.push(InFlight { decoded, weight, position: self.input.file_position() });
        }
        Ok(())
    }

    /// Starts to decode the file in order, and skips the bytes that were read before.
    async fn continue_in_order(&mut self) -> Result<()> {
        self.in_flight.clear();
        let mut stream = (self.decode)((self.file)())?;
        let mut skipped = zeroed(SKIPPED)?;
        let mut left = self.given;
        while left > 0 {
            let len = left.min(SKIPPED as u64) as usize;
            stream.read(&mut skipped[..len]).await?;
            left -= len as u64;
        }
        self.in_order = Some(stream);
        Ok(())
    }
}

impl ByteStream for DividedStream {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        self.fill(buf).boxed_local()
    }

    fn file_position(&self) -> u64 {
        match &self.in_order {
            Some(stream) => stream.file_position().max(self.position),
            None => self.position,
        }
    }

    fn ended(&self) -> Ended {
        self.in_order.as_ref().map_or(Ended::default(), |stream| stream.ended())
    }
}

/// Maximum length of the input of a step, in bytes: it is copied to the module.
const INPUT: usize = 64 << 10;
/// Maximum length of the output of a step, in bytes.
const OUTPUT: usize = 64 << 10;

/// A compressed file that is being divided.
struct DividedInput {
    input: CompressedInput,
    divider: Box<dyn StreamDecoder>,
}

impl DividedInput {
    /// Divides `stream` by `divider`. Fails with `internal` if memory runs out.
    pub(super) fn new(stream: Box<dyn ByteStream>, divider: Box<dyn StreamDecoder>) -> Result<Self> {
        Ok(Self { input: CompressedInput::new(stream, 0)?, divider })
    }

    /// Returns the next part; `None` at the end.
    pub(super) async fn next(&mut self) -> std::result::Result<Option<Vec<u8>>, Indivisible> {
        let mut part = Vec::new();
        loop {
            let start = part.len();
            if start as u64 > LARGEST_PART {
                return Err(Indivisible);
            }
            part.try_reserve(OUTPUT).map_err(|_| Indivisible)?;
            part.resize(start + OUTPUT, 0);
            let buffered = self.input.buffered();
            let input = &buffered[..buffered.len().min(INPUT)];
            let step = self.divider.decode(input, &mut part[start..]);
            let has_input = !input.is_empty();
            part.truncate(start + step.written as usize);
            self.input.consume(step.consumed as usize).map_err(|_| Indivisible)?;
            match step.state {
                StreamState::Failed(_) => return Err(Indivisible),
                StreamState::Whole if !part.is_empty() => return Ok(Some(part)),
                _ if step.consumed > 0 || step.written > 0 => {}
                StreamState::Whole if self.input.has_ended() && !has_input => return Ok(None),
                _ if has_input => return Err(Indivisible),
                _ => self.input.read_more().await.map_err(|_| Indivisible)?,
            }
        }
    }

    /// See [`ByteStream::file_position`].
    pub(super) fn file_position(&self) -> u64 {
        self.input.file_position()
    }
}

/// The file cannot be divided. Decoding it in order also reports any damage.
pub(super) struct Indivisible;
