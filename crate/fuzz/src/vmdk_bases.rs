//! VMDK: valid images for changes.

use super::files::Files;
use super::vmdk_writer::*;

/// The number of images.
pub const BASES: u8 = 9;

fn grains(count: usize, last: usize) -> Vec<Grain> {
    let data = |number: usize, sectors: usize| Grain::Data(pattern(number as u8, sectors * SECTOR));
    let content = |number: usize| match number {
        _ if number == count - 1 => data(number, last),
        0 | 1 | 4 => data(number, 8),
        2 => Grain::Zero,
        _ => Grain::Absent,
    };
    (0..count).map(content).collect()
}

fn alone(image: Vec<u8>) -> Files {
    Files { image: image.into(), companions: Vec::new(), password: None }
}

/// An image whose one extent, in another file, is changed together with its descriptor.
fn split(lines: &str, files: Vec<(&str, Vec<u8>)>) -> Files {
    let companions = files.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect();
    Files { companions, ..alone(descriptor("custom", lines).into_bytes()) }
}

/// The image number `number`, modulo their number.
pub fn base(number: u8) -> Files {
    let file = Kdmv::default();
    let stream = Kdmv { packing: Packing::Marked, capacity: 61, ..file.clone() };
    let bare = Kdmv { descriptor: None, ..file.clone() };
    match number % BASES {
        0 => alone(file.build(&grains(8, 8))),
        1 => alone(Kdmv { redundant: true, grain: 8, table_entries: 2, ..file }.build(&grains(8, 8))),
        2 => alone(stream.build(&grains(8, 5))),
        3 => alone(Kdmv { footer: true, ..stream }.build(&grains(8, 8))),
        4 => alone(Kdmv { packing: Packing::Length, ..stream }.build(&grains(8, 5))),
        5 => split(
            "RW 5 FLAT \"a.bin\" 2\nRDONLY 3 ZERO\nRW 64 SPARSE \"b.bin\"\nRW 4 VMFS \"a.bin\" 1\n",
            vec![("a.bin", pattern(7, 9 * SECTOR)), ("b.bin", bare.build(&grains(8, 8)))],
        ),
        6 => split("RW 64 VMFSSPARSE \"c.bin\"\n", vec![("c.bin", cowd(64, 8, &grains(8, 8)))]),
        7 => split("RW 64 SESPARSE \"s.bin\"\n", vec![("s.bin", sesparse(64, &grains(8, 8)))]),
        _ => {
            let parent = Kdmv { capacity: 40, ..Kdmv::default() }.build(&grains(5, 8));
            let text = descriptor("monolithicSparse", "").replace("parentCID=ffffffff", "parentCID=11223344");
            let child = Kdmv { descriptor: Some(format!("{text}parentFileNameHint=\"p.vmdk\"\n")), ..file };
            let grains: Vec<Grain> = grains(8, 8).into_iter().rev().collect();
            Files { companions: vec![("p.vmdk".to_owned(), parent)], ..alone(child.build(&grains)) }
        }
    }
}
