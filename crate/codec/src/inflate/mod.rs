//! A decoder of raw deflate (RFC 1951) for whole buffers: all input is available, and the length of the output is
//! known, as for clusters. This makes the decoder simple and fast: it needs no window and no state between calls, and
//! its loop checks bounds once for several symbols.
//!
//! It uses nothing else of the crate. [`Inflater::inflate`] fills one output, [`Inflater::inflate_all`] fills many, two
//! at a time. [`pausing::PausingInflater`] decodes a long stream in parts, by the same loop.
//!
//! # How it is fast
//!
//! - Two streams are decoded alternately, one turn of the loop each. Within a stream, every code waits for the length
//!   of the code before it; a processor works on two streams at once. When one ends, the next stream takes its place
//!   (`lane`).
//! - One table for literals and lengths is indexed by 11 bits, and one for distances by 8; longer codes have subtables.
//!   An entry of 4 bytes has the base of a length or distance, the number of bits of the code, and that number with the
//!   extra bits, so no second table is needed (`tables`).
//! - A buffer of 64 bits is refilled without a branch by one load of 8 bytes: once for up to three literals, or two and
//!   a length, and once for a distance. The next entry is looked up before that (`fast`).
//! - While input and output have room for the longest turn of the loop, nothing else is checked. Only the last bytes of
//!   a cluster are decoded with all checks (`careful`).
//! - Matches are copied in words of 16 bytes, past their end: later output overwrites the excess.
//! - Tables are kept from cluster to cluster; those of the fixed codes are rebuilt only after others were used.
//!
//! `docs/performance.md` lists what did not help.
//!
//! # How it is checked
//!
//! It accepts and rejects the same streams as zlib in the way QEMU calls it: one `inflate(Z_FINISH)`, with an output of
//! a cluster, which must become full. `tests/inflate.rs` and the fuzz target `inflate` compare the bytes and the
//! verdict with zlib's.

mod bit_reader;
mod block_codes;
mod careful;
mod fast;
mod lane;
pub mod pausing;
mod tables;

use lane::Lane;
use tables::{DistanceTable, LiteralTable};

/// An error in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InflateError {
    /// The stream violates the format, or ends before the output is full.
    Invalid,
    /// The input ends before the stream does, and the output is not full.
    InputEnds,
}

/// The state of a stream when its output is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// The stream ends at this offset of the input.
    At(usize),
    /// The stream has more output.
    HasMore,
    /// Unknown: the input ends first.
    InputEnds,
}

/// A stream to inflate: the start of `input`, until `output` is full.
///
/// If the stream continues after that, it is read as far as zlib reads it: over the end of its block, over empty
/// blocks, to the first symbol without room. A violation of the format up to there is `Invalid`; the end of the stream
/// or of the input is not an error. Later bytes are not read.
#[derive(Debug)]
pub struct Stream<'a> {
    /// Raw deflate data, possibly followed by other bytes.
    pub input: &'a [u8],
    /// The output. Its content is undefined before, and after a failure.
    pub output: &'a mut [u8],
}

/// The two codes of a block.
#[derive(Default)]
struct BlockTables {
    literals: LiteralTable,
    distances: DistanceTable,
}

/// The codes of a lane, kept for the next stream.
#[derive(Default)]
struct Tables {
    codes: Box<BlockTables>,
    /// Whether they are the fixed ones (section 3.2.6).
    fixed: bool,
}

impl Tables {
    fn load_fixed(&mut self) {
        if !self.fixed {
            block_codes::fixed(&mut self.codes);
            self.fixed = true;
        }
    }
}

/// A decoder. It keeps its tables for the next stream.
#[derive(Default)]
pub struct Inflater {
    tables: [Tables; 2],
}

impl Inflater {
    /// Inflates one stream. Returns its state when the output is full.
    pub fn inflate(&mut self, input: &[u8], output: &mut [u8]) -> Result<StreamEnd, InflateError> {
        let mut result = Ok(StreamEnd::InputEnds);
        self.inflate_all([((), Stream { input, output })], |(), _, answer| result = answer);
        result
    }

    /// Inflates all `streams`, two at a time. Calls `done` with each stream's mark, the stream, and the result of
    /// [`Self::inflate`], in any order. Takes the next stream from the iterator when one has ended.
    pub fn inflate_all<'a, T>(
        &mut self,
        streams: impl IntoIterator<Item = (T, Stream<'a>)>,
        mut done: impl FnMut(T, Stream<'a>, Result<StreamEnd, InflateError>),
    ) {
        let mut streams = streams.into_iter().fuse();
        let mut lanes = [None, None];
        loop {
            for (lane, tables) in lanes.iter_mut().zip(&mut self.tables) {
                proceed(lane, tables, &mut streams, &mut done);
            }
            let [left_codes, right_codes] = self.tables.each_ref().map(|tables| &*tables.codes);
            match &mut lanes {
                [Some((_, left)), Some((_, right))] => fast::run_both([left, right], [left_codes, right_codes]),
                [Some((_, left)), None] => fast::run(left, left_codes),
                [None, Some((_, right))] => fast::run(right, right_codes),
                [None, None] => return,
            }
        }
    }
}

/// Advances a lane to the next symbols of its stream, or of the next stream. Leaves the lane empty if there are no more
/// streams.
fn proceed<'a, T>(
    lane: &mut Option<(T, Lane<'a>)>,
    tables: &mut Tables,
    streams: &mut impl Iterator<Item = (T, Stream<'a>)>,
    done: &mut impl FnMut(T, Stream<'a>, Result<StreamEnd, InflateError>),
) {
    while let Some((mark, mut active)) = lane.take().or_else(|| streams.next().map(|(mark, it)| (mark, Lane::new(it))))
    {
        let result = active.advance(tables);
        if result == Ok(true) {
            *lane = Some((mark, active));
            return;
        }
        let end = active.end();
        done(mark, active.into_stream(), result.map(|_| end));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small enough for Miri, which checks the unsafe code: matches of several distances, consecutive literals, stored
    /// and fixed blocks.
    #[test]
    fn every_way_of_the_loop() {
        let mut inflater = Inflater::default();
        for period in [1, 2, 3, 7, 8, 9, 15, 16, 17, 40, 300] {
            let text: Vec<u8> = (0..1200).map(|at| (at % period * 37 + at / 400 * 3) as u8).collect();
            for level in [0, 1, 9] {
                let stream = miniz_oxide::deflate::compress_to_vec(&text, level);
                let lens = [text.len(), text.len() - 7, 293, 294, 1];
                let mut outputs = lens.map(|len| vec![0; len]);
                let streams = outputs.iter_mut().map(|output| ((), Stream { input: &stream, output }));
                inflater.inflate_all(streams, |(), _, result| assert!(result.is_ok()));
                let mut alone = vec![0; text.len()];
                assert_eq!(inflater.inflate(&stream, &mut alone), Ok(StreamEnd::At(stream.len())));
                for output in outputs.iter().chain([&alone]) {
                    assert!(*output == text[..output.len()], "period {period}, level {level}, {} bytes", output.len());
                }
            }
        }
    }
}
