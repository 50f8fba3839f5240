//! Clusters compressed by deflate: streams with all kinds of ends, compared with qemu-img, and clusters that are
//! referred to twice.

use crate::common::small::*;
use crate::common::*;
use decant::ErrorKind;
use decant::compress::decoding_damage::COMPRESSED_INVALID;
use decant::disk::losses::Lost;
use decant::io::target::Abilities;
use decant::offsets::GuestOffset;
use miniz_oxide::deflate::compress_to_vec;
use std::path::Path;
use std::process::Command;

/// A stored block (RFC 1951, 3.2.4).
fn stored(bytes: &[u8], last: bool) -> Vec<u8> {
    let len = bytes.len() as u16;
    [&[u8::from(last)][..], &len.to_le_bytes(), &(!len).to_le_bytes(), bytes].concat()
}

/// The bytes after a stream in the file.
#[derive(Clone, Copy, Debug)]
enum After {
    /// The end of the file.
    Nothing,
    Zeros,
    Noise,
    /// The stream ends at the end of its range in the L2 entry; noise follows.
    NextSector,
}

const AFTER: [After; 4] = [After::Nothing, After::Zeros, After::Noise, After::NextSector];
/// The end of the stream's range, which has two sectors.
const RANGE_END: usize = END + CLUSTER + 2 * CLUSTER;

/// `small` whose first cluster is compressed to `stream`. It has an empty refcount table: without one qemu-img opens no
/// image.
fn image(stream: &[u8], after: After) -> Vec<u8> {
    let start = match after {
        After::NextSector => RANGE_END - stream.len(),
        _ => END + CLUSTER + 100,
    };
    assert!(start < END + 2 * CLUSTER && start + stream.len() <= RANGE_END);
    let entry = COMPRESSED | start as u64 | 1 << 61;
    let mut image = changed(
        small(),
        &[
            (48, &(END as u64).to_be_bytes()),
            (56, &1u32.to_be_bytes()),
            (END, &[0; CLUSTER]),
            (L2, &entry.to_be_bytes()),
            (start, stream),
        ],
    );
    match after {
        After::Nothing => {}
        After::Zeros => image.resize(RANGE_END, 0),
        After::Noise => image.resize(RANGE_END, 0xff),
        After::NextSector => image.resize(RANGE_END + CLUSTER, 0xff),
    }
    image
}

/// The output of qemu-img for the image, if it succeeds.
fn qemu_reads_it(image: &[u8], folder: &Path) -> Option<Vec<u8>> {
    let (path, raw) = (folder.join("image.qcow2"), folder.join("raw"));
    std::fs::write(&path, image).unwrap();
    let output = Command::new("qemu-img").args(["convert", "-O", "raw", text(&path), text(&raw)]).output().unwrap();
    output.status.success().then(|| std::fs::read(raw).unwrap())
}

/// Whether the stream of a row is valid, for each of `AFTER`.
type Good = [bool; 4];

#[test]
fn streams_that_end_in_every_way() {
    let folder = tempfile::tempdir().unwrap();
    let full = [0x5a; CLUSTER];
    let then = |bytes: &[u8]| [&stored(&full, false)[..], bytes].concat();
    let deflated = compress_to_vec(&full, 9);
    let (yes, no) = ([true; 4], [false; 4]);
    // After a full cluster without an end, zlib expects headers: only a stream at the end of the file is valid.
    let only_at_the_end = [false, false, false, true];
    // (what, stream, whether the cluster reads as 0x5a)
    let cases: &[(&str, Vec<u8>, Good)] = &[
        ("whole", stored(&full, true), yes),
        ("compressed", [&deflated[..], &[0; CLUSTER]].concat(), yes),
        ("two blocks", [stored(&full[..7], false), stored(&full[7..], true)].concat(), yes),
        ("no end mark", stored(&full, false), only_at_the_end),
        ("an empty block", then(&stored(&[], true)), yes),
        ("an empty block, not the last one", then(&stored(&[], false)), only_at_the_end),
        ("a broken header", then(&[6]), no),
        ("a broken header after an empty block", then(&[&stored(&[], false)[..], &[6]].concat()), no),
        (
            "codes without an end of block",
            then(&[
                4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            ]),
            no,
        ),
        ("more than a cluster", then(&stored(&[0x5a; 300], true)), yes),
        ("less than a cluster", [stored(&full[..500], true), vec![0; 20]].concat(), no),
        ("no stream", vec![0xff; 900], no),
    ];
    let mut good_disk = small_disk();
    good_disk[..CLUSTER].fill(0x5a);
    let mut wrong = Vec::new();
    for (what, stream, good) in cases {
        for (after, good) in AFTER.into_iter().zip(good) {
            let image = image(stream, after);
            let ours = Case::new(image.clone()).bytes();
            let right = match &ours {
                Ok(disk) => *good && *disk == good_disk,
                Err(error) => !good && error.kind == ErrorKind::Corrupt,
            };
            if !right {
                wrong.push(format!("{what}, {after:?}: {:?}", ours.as_ref().map(|_| "converted")));
            }
            let theirs = qemu_reads_it(&image, folder.path());
            if theirs != ours.ok() {
                wrong.push(format!("{what}, {after:?}: qemu-img {:?}", theirs.map(|disk| disk == good_disk)));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_stream_that_the_file_has_not_all_of_is_truncated() {
    let full = [0x5a; CLUSTER];
    let cut = &[stored(&full[..300], false), stored(&full[300..], true)].concat()[..400];
    for stream in [cut, &stored(&full, false)[..516], &stored(&full, false)] {
        let error = Case::new(image(stream, After::Nothing)).bytes().unwrap_err();
        assert!(error.kind == ErrorKind::Corrupt && error.message().contains("truncated"), "{error}");
    }
}

/// The length of a compressed cluster comes from its entry, regardless of other entries for the same position, of the
/// requested part, and of the job.
#[test]
fn one_place_with_two_lengths() {
    const SIZE: usize = 4096;
    const PLACE: usize = 3 * SIZE;
    let text: Vec<u8> = (0..SIZE).map(|at| (at / 7) as u8 | 1).collect();
    let entry = |sectors: u64| (COMPRESSED | PLACE as u64 | (sectors - 1) << 58).to_be_bytes();
    // All of the stream, and all but its last bytes.
    let (long, short) = (entry(9), entry(8));
    let size = 2 * SIZE as u64;
    for (entries, lost) in [([long, short], 1), ([short, long], 0)] {
        let base = changed(
            small()[..CLUSTER].to_vec(),
            &[
                (20, &12u32.to_be_bytes()),
                (24, &size.to_be_bytes()),
                (40, &(SIZE as u64).to_be_bytes()),
                (SIZE, &(2 * SIZE as u64).to_be_bytes()),
                (2 * SIZE, &entries.concat()),
                (PLACE, &stored(&text, true)),
                (PLACE + 9 * CLUSTER - 1, &[0]),
            ],
        );
        // Alone, and below an overlay with an allocated sector in each cluster, so that parts are read.
        let over = changed(
            overlay("base", Some("qcow2")),
            &[(24, &size.to_be_bytes()), (L2 + 64, &(MORE as u64).to_be_bytes())],
        );
        let companions = vec![("base".to_owned(), base.clone())];
        for (own, image, companions) in [(0, base, Vec::new()), (CLUSTER, over, companions)] {
            for job in [512, 4096, 8192, 1 << 20] {
                let case = Case { salvage: true, companions: companions.clone(), ..Case::new(image.clone()) };
                let converted = case.convert(Answers::InOrder, Abilities::default(), job);
                converted.result.unwrap();
                let start = (lost * SIZE + own) as u64;
                let expected = Lost { start: GuestOffset(start), len: (SIZE - own) as u64, damage: COMPRESSED_INVALID };
                assert_eq!(converted.lost.listed, [expected], "{own}, jobs of {job}");
                let disk = converted.target.bytes.take();
                let whole = (1 - lost) * SIZE;
                assert!(disk[whole + own..][..SIZE - own] == text[own..], "{own}, jobs of {job}: other bytes");
                assert!(disk[lost * SIZE + own..][..SIZE - own].iter().all(|&byte| byte == 0));
                assert_eq!(Case { salvage: false, ..case }.bytes().unwrap_err().kind, ErrorKind::Corrupt);
            }
        }
    }
}
