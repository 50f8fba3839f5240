//! Salvage of streams without their footer, by the markers of grains.

use crate::common::random::Random;
use crate::common::small::changed;
use crate::common::vmdk::*;
use crate::common::*;
use decant::ErrorKind::*;
use decant::compress::decoding_damage::GRAIN_CUT;
use decant::error::fields::Field;
use decant::format::vmdk::*;
use decant::io::target::Abilities;
use decant::offsets::GuestOffset;

fn le32(value: u32) -> [u8; 4] {
    value.to_le_bytes()
}

fn le64(value: u64) -> [u8; 8] {
    value.to_le_bytes()
}

/// Without its footer a stream is refused. A salvage finds the grains by their markers.
#[test]
fn a_lost_footer() {
    let small =
        Kdmv { grain: 1, capacity: 300, table_entries: 128, packing: Packing::Marked, footer: true, ..Kdmv::default() };
    let small_grains: Vec<Grain> =
        (0..300).map(|at| if at % 7 < 3 { Grain::Absent } else { Grain::Data(pattern(at as u8, SECTOR)) }).collect();
    let eight = Kdmv { grain: 8, capacity: 64, table_entries: 512, ..small.clone() };
    for (kdmv, grains) in [(eight, few_grains()), (small, small_grains)] {
        // No marker names a grain of zeros.
        let grains: Vec<Grain> =
            grains.into_iter().map(|grain| if grain == Grain::Zero { Grain::Absent } else { grain }).collect();
        let image = kdmv.build(&grains);
        let (disk, grain) = (disk(kdmv.capacity, kdmv.grain, &grains), kdmv.grain as usize * SECTOR);
        let mut ends = Vec::new();
        let mut at = TABLES;
        for (number, _) in grains.iter().enumerate().filter(|(_, grain)| **grain != Grain::Absent) {
            at += 12 + u32::from_le_bytes(image[at + 8..at + 12].try_into().unwrap()) as usize;
            ends.push((number, at));
            at = at.next_multiple_of(SECTOR);
        }
        let text = descriptor("custom", &format!("RW {} SPARSE \"s.vmdk\"\n", kdmv.capacity)).into_bytes();
        for len in (TABLES..image.len() - SECTOR).step_by(SECTOR * 5 + 13).chain([image.len() - 2 * SECTOR]) {
            let cut = image[..len].to_vec();
            let extent = vec![("s.vmdk".to_owned(), cut.clone())];
            for case in [Case::new(cut), Case { companions: extent, ..Case::new(text.clone()) }] {
                let error = case.clone().bytes().unwrap_err();
                assert!(error.kind == Corrupt && error.message().contains("footer"), "{len}: {error}");
                let converted = Case { salvage: true, ..case }.convert(Answers::InOrder, Abilities::default(), 1 << 20);
                converted.result.unwrap();
                let mut there: Vec<usize> =
                    ends.iter().filter(|(_, end)| *end <= len).map(|(number, _)| *number).collect();
                // After a hole, a grain counts only if a later marker or its table agrees.
                if let Some(&last) = there.last()
                    && last > 0
                    && !there.contains(&(last - 1))
                    && converted.lost.listed.first().is_some_and(|lost| lost.start.0 < (last * grain) as u64)
                {
                    assert!(ends.iter().all(|(number, end)| *number <= last || end.next_multiple_of(SECTOR) > len));
                    there.pop();
                }
                // A truncated grain is lost as such, and everything without a marker as the part after the last one.
                let known = there.last().map_or(0, |last| (last + 1) * grain);
                let bytes = converted.target.bytes.take();
                assert!(bytes[..known] == disk[..known], "{len}: other bytes");
                assert!(bytes[known..].iter().all(|&byte| byte == 0), "{len}: bytes that are lost");
                let (lost, unknown) = (converted.lost.bytes, (disk.len() - known) as u64);
                assert!(lost <= unknown && (lost > 0) == (unknown > 0), "{len}: {lost} of {unknown} bytes are lost");
                assert!(
                    converted.lost.listed.iter().all(|lost| [FOOTER_LOST, GRAIN_CUT].contains(&lost.damage)),
                    "{len}"
                );
            }
        }
    }
    // An invalid next grain ends the search: one before the last grain, one between grains, a huge one.
    let image = Kdmv { packing: Packing::Marked, footer: true, ..Kdmv::default() }.build(&few_grains());
    let cut = image[..image.len() - 2 * SECTOR].to_vec();
    let second = TABLES
        + (12 + u32::from_le_bytes(image[TABLES + 8..TABLES + 12].try_into().unwrap()) as usize)
            .next_multiple_of(SECTOR);
    for patch in [
        (second, &le64(0)[..]),
        (second, &le64(9)),
        (second, &le64(64)),
        (second, &le64(u64::MAX)),
        (second + 8, &le32(u32::MAX)),
    ] {
        let case = Case { salvage: true, ..Case::new(changed(cut.clone(), &[patch])) };
        let converted = case.convert(Answers::InOrder, Abilities::default(), 1 << 20);
        converted.result.unwrap();
        let lost: Vec<_> = converted.lost.listed.iter().map(|lost| (lost.start.0, lost.len, lost.damage)).collect();
        assert_eq!(lost, [(8 * SECTOR as u64, 56 * SECTOR as u64, FOOTER_LOST)], "{patch:?}");
    }
}

/// A header and a footer that describe two extents: one of them is wrong, and it is unknown which. A salvage uses the
/// markers.
#[test]
fn a_footer_of_another_extent() {
    let kdmv = Kdmv { packing: Packing::Marked, footer: true, ..Kdmv::default() };
    let grains: Vec<Grain> = few_grains()
        .into_iter()
        .map(|grain| match grain {
            Grain::Zero => Grain::Absent,
            grain => grain,
        })
        .collect();
    let image = kdmv.build(&grains);
    let footer = image.len() - 2 * SECTOR;
    // (what, offset in the header, value of four bytes)
    let fields = [
        ("half the capacity", 12, 32),
        ("twice the capacity", 12, 128),
        ("grains", 20, 4),
        ("tables", 44, 128),
        ("flags", 8, 1),
    ];
    for (what, at, value) in fields {
        for place in [0, footer] {
            let case = Case::new(changed(image.clone(), &[(place + at, &le32(value))]));
            let error = case.clone().bytes().unwrap_err();
            assert!(error.kind == Corrupt && error.message().contains("another extent"), "{what} at {place}: {error}");
            if place == footer {
                let bytes = Case { salvage: true, ..case }.bytes().unwrap();
                assert!(bytes == disk(64, 8, &grains), "{what}: other bytes");
            }
        }
    }
    // Fields that may differ: the version, the state.
    let same = changed(image, &[(footer + 4, &le32(3)), (footer + 72, &[1])]);
    assert!(Case::new(same).bytes().unwrap() == disk(64, 8, &grains));
}

/// Errors of a footer name the offsets of its fields in the file.
#[test]
fn errors_of_a_footer_name_its_fields() {
    let kdmv = Kdmv { packing: Packing::Marked, footer: true, ..Kdmv::default() };
    let image = kdmv.build(&few_grains());
    let footer = image.len() - 2 * SECTOR;
    // (what, offset in the header, value, whether the header has it too, offset in the footer that the error names)
    let fields: [(&str, usize, &[u8], bool, usize); 5] = [
        ("directory", 56, &le64(u64::MAX - 1), false, 56),
        ("redundant directory", 48, &le64(u64::MAX - 1), false, 48),
        ("line ends", 73, b"\n \n\n", false, 73),
        ("compression", 77, &[0, 0], true, 77),
        ("grains", 20, &le64(3), true, 0),
    ];
    for (what, at, value, is_in_both, named) in fields {
        let mut changes = vec![(footer + at, value)];
        if what == "redundant directory" {
            changes.push((footer + 8, &[7]));
        }
        changes.extend(is_in_both.then_some((at, value)));
        let error = Case::new(changed(image.clone(), &changes)).bytes().unwrap_err();
        let expected = Some(&Field::Number((footer + named) as u64));
        assert!(error.kind == Corrupt && error.fields.get("offset") == expected, "{what}: {error}");
    }
}

/// A stream of 64 grains of 4 sectors, with holes.
struct Marked {
    image: Vec<u8>,
    disk: Vec<u8>,
    /// The number of each present grain, and the position of its marker.
    markers: Vec<(usize, usize)>,
    /// The end of the last grain.
    end: usize,
}

impl Marked {
    fn new(tables_between: bool) -> Self {
        let grains: Vec<Grain> = (0..64)
            .map(|at| match at % 11 {
                3 | 7 | 8 => Grain::Absent,
                _ => Grain::Data(
                    (0..4 * SECTOR).map(|byte| ((at * 31 + byte * byte / 7) >> (at % 5)) as u8 | 1).collect(),
                ),
            })
            .collect();
        let packing = Packing::Marked;
        let kdmv = Kdmv {
            grain: 4,
            capacity: 256,
            table_entries: 16,
            packing,
            footer: true,
            tables_between,
            ..Kdmv::default()
        };
        let image = kdmv.build(&grains);
        let (mut markers, mut end) = (Vec::new(), TABLES);
        for number in (0..64).filter(|&number| grains[number] != Grain::Absent) {
            if image[end + 8..end + 12] == [0; 4] {
                // The marker of a table, and the table.
                end += 2 * SECTOR;
            }
            markers.push((number, end));
            end += 12 + u32::from_le_bytes(image[end + 8..end + 12].try_into().unwrap()) as usize;
            end = end.next_multiple_of(SECTOR);
        }
        Self { disk: disk(kdmv.capacity, kdmv.grain, &grains), image, markers, end }
    }

    /// The grains that could be at marker number `turn`, according to its neighbours.
    fn possible(&self, turn: usize) -> std::ops::Range<usize> {
        let first = if turn == 0 { 0 } else { self.markers[turn - 1].0 + 1 };
        first..self.markers.get(turn + 1).map_or(64, |next| next.0)
    }

    /// Salvages `cut`, which has no footer and is damaged: every wrong byte must be reported as lost. Returns whether
    /// any is wrong.
    fn check(&self, cut: Vec<u8>, what: &str) -> bool {
        let converted =
            Case { salvage: true, ..Case::new(cut) }.convert(Answers::InOrder, Abilities::default(), 1 << 20);
        converted.result.unwrap();
        let bytes = converted.target.bytes.take();
        let lost =
            |at: u64| converted.lost.listed.iter().any(|lost| (lost.start..lost.end()).contains(&GuestOffset(at)));
        let wrong = (0..self.disk.len()).find(|&at| bytes[at] != self.disk[at] && !lost(at as u64));
        assert_eq!(wrong, None, "{what}");
        converted.lost.bytes > 0
    }
}

/// If a marker of a stream without its footer is damaged, every wrong byte is reported as lost.
#[test]
fn damaged_markers_of_a_lost_footer() {
    let streams = [Marked::new(false), Marked::new(true)];
    let (mut rounds, mut with_loss) = (0, 0);
    let most = by_scope(300, 1200, 1200);
    for seed in 0.. {
        if rounds == most {
            break;
        }
        let mut random = Random::new(seed);
        let stream = &streams[random.below(2)];
        let Marked { image, markers, end, .. } = stream;
        // With all tables after the grains, with the last one, and with none.
        let mut cut = image[..if random.below(2) == 0 { *end } else { image.len() - 2 * SECTOR }].to_vec();
        let turn = random.below(markers.len());
        let (own, marker) = markers[turn];
        let byte =
            marker + [random.below(2), 8 + random.below(2), 8 + random.below(4), random.below(300)][random.below(4)];
        cut[byte] ^= 1 << random.below(8);
        // See `grains_that_are_moved`.
        let sector = u64::from_le_bytes(cut[marker..marker + 8].try_into().unwrap());
        if sector % 4 == 0 && sector != 4 * own as u64 && stream.possible(turn).contains(&((sector / 4) as usize)) {
            continue;
        }
        rounds += 1;
        let what = format!("byte {byte}, of the marker of grain {own} at {marker}");
        with_loss += usize::from(stream.check(cut, &what));
    }
    assert!(with_loss > most / 2, "{with_loss}");
}

/// A grain moved within the adjacent hole is contradicted only by its table, if that follows it.
#[test]
fn grains_that_are_moved() {
    let stream = Marked::new(true);
    let mut moves = 0;
    for (turn, &(own, marker)) in stream.markers.iter().enumerate() {
        for other in stream.possible(turn).filter(|&other| other != own) {
            let sector = le64(4 * other as u64);
            let image = &stream.image[..stream.image.len() - 2 * SECTOR];
            let cut = changed(image.to_vec(), &[(marker, &sector)]);
            assert!(stream.check(cut, &format!("grain {own} at {other}")), "grain {own} at {other}: nothing is lost");
            moves += 1;
        }
    }
    assert!(moves > 20, "{moves}");
}
