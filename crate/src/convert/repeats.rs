//! Finds compressed units that repeat an earlier one, by position or by content, and decompresses them once. So the
//! time of a job depends on the stored data, not on what that expands to.

use super::job::{CompressedPart, Piece};
use crate::compress::DecompressError;
use crate::io::source::FileId;
use decant_codec::is_zero;
use std::cell::OnceCell;
use std::ops::Range;

/// Number of equal first bytes for which consecutive units are assumed to be equal, until the end of the first one is
/// known.
const SIMILAR: usize = 32;

/// A whole cluster to decompress.
pub(super) struct Unit<'a> {
    pub(super) piece: &'a Piece,
    pub(super) stored: CompressedPart,
    /// Its deflate data and the bytes after it, if it is inflated together with others.
    pub(super) deflate: Option<&'a [u8]>,
    /// The length of its deflate data, if that has an end; unset before it is decompressed.
    pub(super) result: OnceCell<Result<Option<usize>, DecompressError>>,
    is_zero: Option<bool>,
}

/// A piece that repeats a unit.
pub(super) struct Repeat<'a> {
    pub(super) piece: &'a Piece,
    pub(super) stored: CompressedPart,
    deflate: Option<&'a [u8]>,
    /// The index of the unit.
    of: usize,
    is_same_place: bool,
}

/// The result of a repeat.
pub(super) enum RepeatOutcome {
    /// The repeat equals the unit, which is at this range of the output.
    Same(Range<usize>),
    /// The repeat fails with the error of the unit.
    Fails(DecompressError),
    /// The repeat differs, and must be decompressed separately.
    Differs,
    /// The unit was not decompressed, because an earlier failure ended the job.
    Unknown,
}

/// The units of a job.
pub(super) struct Units<'a> {
    pub(super) units: Vec<Unit<'a>>,
    pub(super) repeats: Vec<Repeat<'a>>,
    /// Unit indices by file, host offset and length, sorted. It is a list because a map would allocate every few units.
    places: Vec<((FileId, u64, usize), usize)>,
}

impl<'a> Units<'a> {
    /// Creates an empty set, with room for `most` units.
    pub(super) fn of_most(most: usize) -> Self {
        Self { units: Vec::with_capacity(most), repeats: Vec::new(), places: Vec::with_capacity(most) }
    }

    /// Adds `piece`, a whole unit. Returns its index if it has to be decompressed; `None` if it repeats another unit.
    pub(super) fn add(&mut self, piece: &'a Piece, stored: CompressedPart, deflate: Option<&'a [u8]>) -> Option<usize> {
        let number = self.units.len();
        let place = (stored.file, stored.host.0, piece.input_len + stored.missing);
        let found = self.places.binary_search_by(|(other, _)| other.cmp(&place));
        let same_place = found.ok().map(|at| self.places[at].1).filter(|&at| {
            let unit = self.units[at].stored;
            unit.compression == stored.compression && unit.cluster == stored.cluster
        });
        let of = same_place.or_else(|| {
            let before = self.units.last().filter(|before| before.stored.cluster == stored.cluster)?;
            is_similar(before.deflate?, deflate?).then_some(number - 1)
        });
        if let Some(of) = of {
            self.repeats.push(Repeat { piece, stored, deflate, of, is_same_place: same_place.is_some() });
            return None;
        }
        match found {
            Ok(at) => self.places[at].1 = number,
            Err(at) => self.places.insert(at, (place, number)),
        }
        self.units.push(Unit { piece, stored, deflate, result: OnceCell::new(), is_zero: None });
        Some(number)
    }

    /// Returns the result of `repeat`, after all units were decompressed.
    pub(super) fn outcome(&self, repeat: &Repeat<'a>) -> RepeatOutcome {
        let unit = &self.units[repeat.of];
        match unit.result.get() {
            None => RepeatOutcome::Unknown,
            Some(Err(error)) if repeat.is_same_place => RepeatOutcome::Fails(error.clone()),
            Some(Ok(_)) if repeat.is_same_place => RepeatOutcome::Same(unit.output()),
            Some(Ok(Some(end))) if has_same_start(unit.deflate, repeat.deflate, *end) => {
                RepeatOutcome::Same(unit.output())
            }
            Some(_) => RepeatOutcome::Differs,
        }
    }

    /// Whether the unit that `repeat` equals is all zeros in `output`, that of the job.
    pub(super) fn is_zero(&mut self, repeat: &Repeat<'a>, output: &[u8]) -> bool {
        let unit = &mut self.units[repeat.of];
        let range = unit.output();
        *unit.is_zero.get_or_insert_with(|| is_zero(&output[range]))
    }
}

impl Unit<'_> {
    fn output(&self) -> Range<usize> {
        self.piece.output..self.piece.output + self.piece.output_len
    }
}

fn is_similar(a: &[u8], b: &[u8]) -> bool {
    let len = SIMILAR.min(a.len()).min(b.len());
    a[..len] == b[..len]
}

/// Whether both have at least `len` bytes and begin with the same `len` bytes.
fn has_same_start(a: Option<&[u8]>, b: Option<&[u8]>, len: usize) -> bool {
    let (a, b) = (a.and_then(|a| a.get(..len)), b.and_then(|b| b.get(..len)));
    a.is_some() && a == b
}

#[cfg(test)]
mod tests {
    use super::super::decoder::Decoder;
    use super::super::job::{Job, JobBuffers, Stored};
    use super::*;
    use crate::compress::{Compression, GrainFrame, GuestRun};
    use crate::offsets::{GuestOffset, HostOffset};

    const CLUSTER: usize = 1024;
    const UNIT: usize = 4096;

    fn part(host: u64) -> CompressedPart {
        CompressedPart {
            compression: Compression::Deflate,
            cluster: CLUSTER,
            skip: 0,
            file: FileId(0),
            host: HostOffset(host),
            missing: 0,
        }
    }

    /// A job of whole clusters, whose compressed data is at `places` of `input`.
    fn job(input: &[u8], places: &[(usize, usize)]) -> Job {
        let piece = |(number, &(input, input_len)): (usize, &(usize, usize))| Piece {
            input,
            input_len,
            output: number * CLUSTER,
            output_len: CLUSTER,
            stored: Stored::Compressed(part(input as u64)),
        };
        let pieces: Vec<_> = places.iter().enumerate().map(piece).collect();
        assert!(pieces.iter().all(|piece| piece.input + piece.input_len <= input.len()));
        let guest_ranges = vec![GuestRun { guest: GuestOffset(1 << 20), start: 0, len: places.len() * CLUSTER }];
        Job { pieces, guest_ranges, unit: UNIT as u64, ..Job::default() }
    }

    fn deflated(cluster: &[u8]) -> Vec<u8> {
        miniz_oxide::deflate::compress_to_vec(cluster, 6)
    }

    #[test]
    fn a_repeated_cluster_is_decompressed_once() {
        let text: Vec<u8> = (0..CLUSTER).map(|at| (at * at / 7) as u8).collect();
        // Two streams of stored blocks with the same start.
        let [mut one, mut other] = [vec![7; CLUSTER], vec![7; CLUSTER]];
        (one[900], other[900]) = (1, 2);
        let stored = |cluster: &[u8]| miniz_oxide::deflate::compress_to_vec(cluster, 0);
        let streams = [deflated(&text), deflated(&[0; CLUSTER]), stored(&one), stored(&other), vec![0xff; 70]];
        // (description, streams in guest order, each with the index of an earlier one if it shares its place; number of
        // units)
        type Order<'a> = &'a [(usize, Option<usize>)];
        let cases: &[(&str, Order, usize)] = &[
            ("different ones", &[(0, None), (1, None), (2, None)], 3),
            ("equal ones", &[(0, None); 9], 1),
            ("the same place", &[(0, None), (1, None), (0, Some(0)), (1, Some(1)), (0, Some(0))], 2),
            ("equal ones with another between", &[(0, None), (1, None), (0, None)], 3),
            ("similar ones", &[(2, None), (3, None), (2, None), (3, Some(1))], 1),
            ("what is invalid", &[(4, None), (4, Some(0)), (4, None)], 1),
        ];
        for (what, order, count) in cases {
            // Each stream is followed by bytes of others.
            let (mut input, mut places) = (Vec::new(), Vec::new());
            for (stream, place) in *order {
                match place {
                    Some(number) => places.push(places[*number]),
                    None => {
                        places.push((input.len(), streams[*stream].len()));
                        input.extend(&streams[*stream]);
                    }
                }
            }
            input.extend([0; 30]);
            for more in [0, 30] {
                let places: Vec<_> = places.iter().map(|&(at, len)| (at, len + more)).collect();
                let mut job = job(&input, &places);
                let mut units = Units::of_most(0);
                for piece in &job.pieces {
                    let Stored::Compressed(stored) = piece.stored else { unreachable!() };
                    units.add(piece, stored, Some(&input[piece.input..piece.input + piece.input_len]));
                }
                assert_eq!(units.units.len(), *count, "{what}");
                job.salvage = true;
                let mut buffers = JobBuffers { input: input.clone(), output: vec![9; 99_999] };
                let outcome = Decoder::default().decode(&job, &mut buffers).unwrap();
                let contents = [&text[..], &[0; CLUSTER], &one, &other, &[0; CLUSTER]];
                let expected = order.iter().flat_map(|(stream, _)| contents[*stream]).copied().collect::<Vec<_>>();
                assert!(covered(&outcome.runs, &buffers.output, expected.len()) == expected, "{what}: other bytes");
                let lost = order.iter().filter(|(stream, _)| *stream == 4).count();
                assert_eq!(outcome.lost.len(), lost, "{what}");
                job.salvage = false;
                let result = Decoder::default().decode(&job, &mut buffers);
                assert_eq!(result.is_err(), lost > 0, "{what}");
            }
        }
    }

    /// The bytes that `runs` cover, with zeros elsewhere.
    fn covered(runs: &[GuestRun], output: &[u8], len: usize) -> Vec<u8> {
        let mut disk = vec![0; len];
        for run in runs {
            let at = run.guest.0 as usize - (1 << 20);
            disk[at..at + run.len].copy_from_slice(&output[run.start..run.start + run.len]);
        }
        disk
    }

    /// Zeros that were not filled are outside of all runs, unless the run fills them.
    #[test]
    fn zeros_beside_data() {
        let zeros = deflated(&[0; CLUSTER]);
        let data = deflated(&[5; CLUSTER]);
        for pattern in 0..1u32 << 12 {
            let (mut input, mut places, mut expected) = (Vec::new(), Vec::new(), Vec::new());
            for number in 0..12 {
                let is_data = pattern >> number & 1 == 1;
                let stream = if is_data { &data } else { &zeros };
                places.push((input.len(), stream.len()));
                input.extend(stream);
                expected.extend([if is_data { 5 } else { 0 }; CLUSTER]);
            }
            for (dense, short_hole) in [(false, 0), (false, 8192), (true, 0)] {
                let job = Job { dense, short_hole, ..job(&input, &places) };
                let mut buffers = JobBuffers { input: input.clone(), output: vec![9; 12 * CLUSTER] };
                let outcome = Decoder::default().decode(&job, &mut buffers).unwrap();
                let bytes = covered(&outcome.runs, &buffers.output, expected.len());
                assert!(bytes == expected, "{pattern:b}, {dense}, {short_hole}");
            }
        }
    }

    #[test]
    fn units_at_one_place_differ_by_their_frames() {
        let framed = |sector| Compression::Grain(GrainFrame { sector: Some(sector), len: CLUSTER as u32 });
        let job = job(&[0; 10], &[(0, 5), (0, 5)]);
        let mut units = Units::of_most(0);
        let [first, second] = [0, 2].map(|sector| CompressedPart { compression: framed(sector), ..part(0) });
        assert_eq!(units.add(&job.pieces[0], first, None), Some(0));
        assert_eq!(units.add(&job.pieces[1], second, None), Some(1));
        assert_eq!(units.add(&job.pieces[1], second, None), None);
    }
}
