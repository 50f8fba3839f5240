//! A decoder of raw deflate (RFC 1951) for whole buffers: all input is there, and the length of the output
//! is known. That is what a cluster is, and it makes the decoder simple and fast: no window, no state
//! between calls, and a loop that checks bounds once for several symbols.
//!
//! It uses nothing of the crate. [`Inflater::inflate`] fills one output and stops, [`Inflater::inflate_all`]
//! fills many, two at a time.
//!
//! # How it is fast
//!
//! - Two streams are decoded interleaved, a turn of the loop of one after a turn of the other: what limits one
//!   is that every code has to wait for the length of the one before it, and a processor does both at once.
//!   When one ends, the next stream takes its place (`lane`).
//! - One table for literals and lengths, indexed by 11 bits, and one for distances, by 8; longer codes
//!   have subtables. An entry of 4 bytes holds the base of a length or distance, how many bits the code
//!   has, and how many it has with its extra bits: no second table is looked at (`tables`).
//! - A buffer of 64 bits, refilled without a branch by one load of 8 bytes: once for up to three literals, or two
//!   and a length, and once for a distance. The next entry is looked up before that (`fast`).
//! - As long as input and output have room for the longest that a turn of the loop can do, nothing else is
//!   checked. Only the last bytes of a cluster are decoded with care (`careful`).
//! - Matches are copied in words of 16 bytes, past their end: what follows is overwritten.
//! - Tables are kept from cluster to cluster; those of the fixed codes are built only when others were.
//!
//! What did not help is in `docs/performance.md`.
//!
//! # What it is checked by
//!
//! Where it refuses a stream, zlib does so too: incomplete and over-full codes, a code without an end of
//! block, distances before the start. `tests/inflate.rs` and the fuzz target `inflate` compare with
//! miniz_oxide and zlib.

mod bits;
mod careful;
mod fast;
mod header;
mod lane;
mod tables;

use lane::Lane;
use tables::{DistanceTable, LiteralTable};

/// Why a stream could not be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InflateError {
    /// It breaks the rules of the format, or ends before the output is full.
    Invalid,
    /// The input ends before the stream does, and the output is not full.
    InputEnds,
}

/// What to inflate: the start of `input`, until `output` is full. What follows is not looked at: neither the
/// rest of the stream nor what stands behind it.
#[derive(Debug)]
pub struct Stream<'a> {
    /// Raw deflate, and perhaps more.
    pub input: &'a [u8],
    /// Where to. Before, and after a failure, it may hold anything.
    pub output: &'a mut [u8],
}

/// The two codes of a block.
#[derive(Default)]
struct Codes {
    literals: LiteralTable,
    distances: DistanceTable,
}

/// The codes of a lane, kept from one stream to the next.
#[derive(Default)]
struct Tables {
    codes: Box<Codes>,
    /// Whether they are the fixed ones (section 3.2.6).
    fixed: bool,
}

impl Tables {
    fn load_fixed(&mut self) {
        if !self.fixed {
            header::fixed(&mut self.codes);
            self.fixed = true;
        }
    }
}

/// Decoding tables, kept from one stream to the next.
#[derive(Default)]
pub struct Inflater {
    tables: [Tables; 2],
}

impl Inflater {
    /// Inflates one stream.
    pub fn inflate(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), InflateError> {
        let mut result = Ok(());
        self.inflate_all([((), Stream { input, output })], |(), _, answer| result = answer);
        result
    }

    /// Inflates all `streams`, two at a time, and tells `done` of each how it ended, with the mark that it came
    /// with. That may be in another order. The next stream is asked for when one has ended.
    pub fn inflate_all<'a, T>(
        &mut self,
        streams: impl IntoIterator<Item = (T, Stream<'a>)>,
        mut done: impl FnMut(T, Stream<'a>, Result<(), InflateError>),
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

/// Goes on to the next symbols in a lane, of its stream or of one that takes its place. Without any it is
/// empty.
fn proceed<'a, T>(
    lane: &mut Option<(T, Lane<'a>)>,
    tables: &mut Tables,
    streams: &mut impl Iterator<Item = (T, Stream<'a>)>,
    done: &mut impl FnMut(T, Stream<'a>, Result<(), InflateError>),
) {
    while let Some((mark, mut work)) = lane.take().or_else(|| streams.next().map(|(mark, it)| (mark, Lane::new(it)))) {
        let result = work.advance(tables);
        if result == Ok(true) {
            *lane = Some((mark, work));
            return;
        }
        done(mark, work.into_stream(), result.map(|_| ()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small enough for Miri, which checks what is unsafe: matches of several distances, literals in a row,
    /// stored and fixed blocks.
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
                inflater.inflate_all(streams, |(), _, result| result.unwrap());
                let mut alone = vec![0; text.len()];
                inflater.inflate(&stream, &mut alone).unwrap();
                for output in outputs.iter().chain([&alone]) {
                    assert!(*output == text[..output.len()], "period {period}, level {level}, {} bytes", output.len());
                }
            }
        }
    }
}
