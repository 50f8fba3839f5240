//! The inverse of the Burrows-Wheeler transform.
//!
//! The rows of the matrix are the rotations of the text in their order. Each row links to the one that begins a byte
//! later, so the links from the first row of the text give the text. But each link is a miss of the cache, which the next
//! one waits for. So the links are followed from many rows at once, up to another of these rows, and the stretches of the
//! text that this gives are joined.
//!
//! `bzip2` follows as many links as the block has bytes, wherever they lead, and so does [`Inverse::join`]: the links may
//! return to the first row before, as those of a text that repeats do.

use super::memory::filled;
use decant_module::Fault;

/// A link is above the bits for the byte and for [`LAST`].
const LINK_SHIFT: u32 = 12;
/// Marks the last byte of a stretch.
const LAST: u32 = 1 << 8;
/// The distance of the rows at which stretches start; their average length in bytes.
const APART: usize = 1 << 9;
/// The number of stretches that are followed at once.
const LANES: usize = 16;
/// The bytes of a piece. After a piece of each lane, lanes whose stretch has ended take the next one.
const PIECE: usize = 64;

/// The most stretches of a block: from each row that is a multiple of [`APART`], and from the first row of the text.
const fn most_stretches(limit: usize) -> usize {
    limit / APART + 2
}

/// The most pieces of a block: each stretch may end with one that is not full.
const fn most_pieces(limit: usize) -> usize {
    limit / PIECE + most_stretches(limit)
}

/// Returns the length of the buffer for the last column of blocks of up to `limit` bytes. Pieces overwrite the column.
pub(super) const fn column_len(limit: usize) -> usize {
    most_pieces(limit) * PIECE
}

/// A stretch of the text.
#[derive(Clone, Copy, Default)]
struct Stretch {
    /// Its first row.
    start: u32,
    /// Its first piece.
    piece: u32,
    /// Its length in bytes.
    len: u32,
    /// The first row of the stretch after it.
    end: u32,
}

/// Stretches that are being followed.
#[derive(Default)]
struct Lanes {
    /// The index of the stretch of each lane that has one.
    stretches: [Option<usize>; LANES],
    /// The current row of each.
    rows: [u32; LANES],
    /// The last piece of each.
    pieces: [usize; LANES],
    /// The number of stretches that have begun, and of pieces in use.
    begun: usize,
    used: usize,
}

/// The memory for the transform.
pub(super) struct Inverse {
    links: Vec<u32>,
    /// By their first rows.
    stretches: Vec<Stretch>,
    /// The piece after each.
    following: Vec<u32>,
}

impl Inverse {
    /// Takes the memory for blocks of up to `limit` bytes.
    pub(super) fn new(limit: usize) -> Result<Self, Fault> {
        Ok(Self {
            links: filled(limit, 0)?,
            stretches: filled(most_stretches(limit), Stretch::default())?,
            following: filled(most_pieces(limit), 0)?,
        })
    }

    /// Writes to `text` the text whose last column is the first `len` bytes of `column`, and whose first row is `origin`,
    /// which must be less. Uses all of `column`.
    pub(super) fn invert(&mut self, column: &mut [u8], len: usize, counts: &[u32; 256], origin: u32, text: &mut [u8]) {
        self.stretches.clear();
        let starts = (0..len as u32).step_by(APART);
        let (before, after) = (starts.clone().filter(|&row| row < origin), starts.filter(|&row| row > origin));
        self.stretches.extend(before.chain([origin]).chain(after).map(|start| Stretch { start, ..Default::default() }));
        self.link(&column[..len], counts);
        self.follow(column);
        self.join(column, origin, &mut text[..len]);
    }

    /// Links each row, which has its first byte, to the next.
    fn link(&mut self, column: &[u8], counts: &[u32; 256]) {
        let mut sum = 0;
        let mut next = counts.map(|count| {
            sum += count;
            sum - count
        });
        let ends = self.stretches.iter().skip(1).map(|stretch| stretch.start as usize).chain([column.len()]);
        let mut start = 0;
        for end in ends {
            let mut last = LAST;
            for (row, &byte) in (start as u32..).zip(&column[start..end]) {
                let place = &mut next[usize::from(byte)];
                self.links[*place as usize] = row << LINK_SHIFT | u32::from(byte) | last;
                *place += 1;
                last = 0;
            }
            start = end;
        }
    }

    /// Follows all stretches, and writes them to `pieces`.
    fn follow(&mut self, pieces: &mut [u8]) {
        let (pieces, _) = pieces.as_chunks_mut::<PIECE>();
        let mut lanes = Lanes::default();
        while self.fill(&mut lanes) {
            let before = lanes.rows;
            let (bytes, marks) = round(&self.links, &mut lanes.rows);
            for at in 0..LANES {
                let Some(stretch) = lanes.stretches[at] else { continue };
                pieces[lanes.pieces[at]] = bytes[at];
                let stretch = &mut self.stretches[stretch];
                if marks[at] & LAST == 0 {
                    stretch.len += PIECE as u32;
                } else {
                    let (len, end) = end_of(&self.links, before[at]);
                    (stretch.len, stretch.end) = (stretch.len + len, end);
                    lanes.stretches[at] = None;
                }
            }
        }
    }

    /// Gives a new piece to each lane, and the next stretch to those that have none. Returns whether any has a stretch.
    fn fill(&mut self, lanes: &mut Lanes) -> bool {
        for at in 0..LANES {
            if lanes.stretches[at].is_some() {
                self.following[lanes.pieces[at]] = lanes.used as u32;
            } else if let Some(stretch) = self.stretches.get_mut(lanes.begun) {
                stretch.piece = lanes.used as u32;
                (lanes.stretches[at], lanes.rows[at]) = (Some(lanes.begun), stretch.start);
                lanes.begun += 1;
            } else {
                continue;
            }
            lanes.pieces[at] = lanes.used;
            lanes.used += 1;
        }
        lanes.stretches.iter().any(Option::is_some)
    }

    /// Joins the stretches from the one that starts at `origin`.
    fn join(&self, pieces: &[u8], origin: u32, mut text: &mut [u8]) {
        let mut start = origin;
        while !text.is_empty() {
            let found = self.stretches.binary_search_by_key(&start, |stretch| stretch.start);
            let stretch = self.stretches[found.expect("stretches end where others start")];
            let (mut piece, mut left) = (stretch.piece as usize, stretch.len as usize);
            while left > 0 && !text.is_empty() {
                let len = left.min(PIECE).min(text.len());
                let (head, rest) = text.split_at_mut(len);
                head.copy_from_slice(&pieces[piece * PIECE..][..len]);
                (text, left, piece) = (rest, left - len, self.following[piece] as usize);
            }
            start = stretch.end;
        }
    }
}

/// Follows each of `rows` by the bytes of a piece. Returns these, and their marks together.
#[inline(never)]
fn round(links: &[u32], rows: &mut [u32; LANES]) -> ([[u8; PIECE]; LANES], [u32; LANES]) {
    let mut bytes = [[0; PIECE]; LANES];
    let mut marks = [0; LANES];
    let mut at = *rows;
    for index in 0..PIECE {
        for ((row, bytes), marks) in at.iter_mut().zip(&mut bytes).zip(&mut marks) {
            let link = links[*row as usize];
            bytes[index] = link as u8;
            *marks |= link;
            *row = link >> LINK_SHIFT;
        }
    }
    *rows = at;
    (bytes, marks)
}

/// Returns the bytes from `row` to the end of its stretch, and the first row after it.
fn end_of(links: &[u32], mut row: u32) -> (u32, u32) {
    let mut len = 0;
    loop {
        let link = links[row as usize];
        (row, len) = (link >> LINK_SHIFT, len + 1);
        if link & LAST != 0 {
            return (len, row);
        }
    }
}
