//! Decodes a compressed file by parts, several at once. If that fails, decodes the rest in order, which also reports any
//! damage.

use super::divided_input::{DividedInput, Indivisible};
use super::part::{ContainerNumber, DecodedPart, PartDecoder, size_of};
use super::{Container, Decode};
use crate::error::Result;
use crate::format::TAIL;
use crate::io::passed::PassedBytes;
use crate::io::source::{Source, zeroed};
use crate::io::stream::{ByteStream, Ended, FileStream};
use decant_module::StreamDecoder;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::rc::Rc;

/// Upper bound on the parts in flight, in bytes: their input and their data. One part may exceed it.
const IN_FLIGHT: u64 = 64 << 20;
/// Length of one read of the data that is skipped, in bytes.
const SKIPPED: usize = 256 << 10;

/// Creates a decoder that divides; none if memory runs out.
pub(crate) type Divide = fn() -> Option<Box<dyn StreamDecoder>>;

/// The data of a compressed file.
pub(crate) struct DividedStream {
    source: Rc<dyn Source>,
    container: ContainerNumber,
    decode: Decode,
    input: DividedInput,
    has_ended: bool,
    decoder: Rc<dyn PartDecoder>,
    in_flight: Vec<InFlight>,
    /// Whether parts stay with their workers.
    passes: bool,
    /// The part after the current one, and the position in the file after it.
    next: Option<(DecodedPart, u64)>,
    /// The part that is being read or passed, and how much of it was.
    current: Option<DecodedPart>,
    taken: u64,
    /// The number of bytes that were read or passed.
    given: u64,
    /// The position in the file after the current part.
    position: u64,
    /// The rest of the file, if it is decoded in order.
    in_order: Option<Box<dyn ByteStream>>,
}

/// A part that is being decoded.
struct InFlight {
    decoded: LocalBoxFuture<'static, Option<DecodedPart>>,
    /// The memory that it takes, in bytes.
    weight: u64,
    /// The position in the file after it.
    position: u64,
}

impl DividedStream {
    /// Decodes `source`, packed by `container`, by `decoder`. Returns `None` if files of its kind cannot be divided, or memory runs
    /// out.
    pub(crate) fn begin(
        source: &Rc<dyn Source>,
        container: &Container,
        decoder: Rc<dyn PartDecoder>,
    ) -> Option<Box<dyn ByteStream>> {
        let (divider, decode) = (container.divide?()?, container.decode?);
        let input = DividedInput::new(Box::new(FileStream::new(source.clone())), divider).ok()?;
        Some(Box::new(Self {
            source: source.clone(),
            container: ContainerNumber::of(container),
            decode,
            input,
            has_ended: false,
            decoder,
            in_flight: Vec::new(),
            passes: false,
            next: None,
            current: None,
            taken: 0,
            given: 0,
            position: 0,
            in_order: None,
        }))
    }

    async fn fill(&mut self, buf: &mut [u8]) -> Result<usize> {
        self.passes = false;
        let mut done = 0;
        while done < buf.len() {
            if let Some(stream) = &mut self.in_order {
                done += stream.read(&mut buf[done..]).await?;
                break;
            }
            match self.take(&mut buf[done..]).await {
                Ok(0) => break,
                Ok(taken) => done += taken,
                Err(Indivisible) => self.go_on_in_order().await?,
            }
        }
        Ok(done)
    }

    /// Takes the next bytes of the current part, as many as there are. Returns their number; 0 at the end.
    async fn take(&mut self, buf: &mut [u8]) -> std::result::Result<usize, Indivisible> {
        let Some(PassedBytes { part, start, len }) = self.rest_of_part().await? else { return Ok(0) };
        let len = len.min(buf.len());
        let buf = &mut buf[..len];
        match part {
            Some(bytes) if !bytes.read(start, buf).await => return Err(Indivisible),
            Some(_) => {}
            None => buf.fill(0),
        }
        self.advance(len);
        Ok(len)
    }

    /// Passes the next bytes: see [`ByteStream::pass_part`].
    async fn pass(&mut self, unit: u64, most: u64) -> std::result::Result<Option<PassedBytes>, Indivisible> {
        let Some(rest) = self.rest_of_part().await? else { return Ok(None) };
        let len = (rest.len as u64).min(most);
        let left = rest.len as u64 - len;
        if !len.is_multiple_of(unit) || left <= TAIL && self.next_part().await?.is_none_or(|next| next.size <= TAIL) {
            return Ok(None);
        }
        self.advance(len as usize);
        Ok(Some(PassedBytes { len: len as usize, ..rest }))
    }

    fn advance(&mut self, len: usize) {
        self.taken += len as u64;
        self.given += len as u64;
    }

    /// Returns the bytes of the current part that are left, or those of the next one; `None` at the end.
    async fn rest_of_part(&mut self) -> std::result::Result<Option<PassedBytes>, Indivisible> {
        loop {
            if let Some(DecodedPart { size, bytes }) = self.current.as_ref().filter(|part| part.size > self.taken) {
                let (start, len) = (self.taken as usize, (size - self.taken) as usize);
                return Ok(Some(PassedBytes { part: bytes.clone(), start, len }));
            }
            self.current = None;
            self.next_part().await?;
            let Some((next, position)) = self.next.take() else {
                self.position = self.input.file_position();
                return Ok(None);
            };
            (self.current, self.taken, self.position) = (Some(next), 0, position);
        }
    }

    /// Returns the part after the current one, when it is decoded; `None` at the end.
    async fn next_part(&mut self) -> std::result::Result<Option<&DecodedPart>, Indivisible> {
        if self.next.is_none() {
            self.send().await?;
            if !self.in_flight.is_empty() {
                let InFlight { decoded, position, .. } = self.in_flight.remove(0);
                self.next = Some((decoded.await.ok_or(Indivisible)?, position));
                self.send().await?;
            }
        }
        Ok(self.next.as_ref().map(|(next, _)| next))
    }

    /// Has parts decoded until there are enough.
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
            let decoded = self.decoder.decode(self.container, part, self.passes);
            self.in_flight.push(InFlight { decoded, weight, position: self.input.file_position() });
        }
        Ok(())
    }

    /// Starts to decode the file in order, and skips the bytes that were read before.
    async fn go_on_in_order(&mut self) -> Result<()> {
        self.in_flight.clear();
        (self.current, self.next) = (None, None);
        let mut stream = (self.decode)(Box::new(FileStream::new(self.source.clone())))?;
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

    fn pass_part(&mut self, unit: u64, most: u64) -> LocalBoxFuture<'_, Result<Option<PassedBytes>>> {
        async move {
            if self.in_order.is_some() {
                return Ok(None);
            }
            self.passes = true;
            match self.pass(unit, most).await {
                Ok(passed) => Ok(passed),
                Err(Indivisible) => {
                    self.go_on_in_order().await?;
                    Ok(None)
                }
            }
        }
        .boxed_local()
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
