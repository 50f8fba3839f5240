//! The notice about disks with sectors of 4,096 bytes, in every kind of image that a conversion reads differently.

use crate::common::vhdx::{Block, Vhdx};
use crate::common::*;
use crate::outputs::vhdx;
use decant::io::target::Abilities;
use std::process::Command;

const SIZE: usize = 1 << 20;

/// An intact GPT header for sectors of `sector` bytes, in the second sector of `disk`.
fn add_gpt(disk: &mut [u8], sector: usize) {
    let header = &mut disk[sector..sector + 92];
    header.fill(0);
    header[..8].copy_from_slice(b"EFI PART");
    header[8..16].copy_from_slice(&[0, 0, 1, 0, 92, 0, 0, 0]);
    header[24] = 1;
    let sum = decant_codec::crc::crc32(header);
    header[16..20].copy_from_slice(&sum.to_le_bytes());
}

fn disk(sectors: &[usize]) -> Vec<u8> {
    let mut disk = vec![0; SIZE];
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    sectors.iter().for_each(|&sector| add_gpt(&mut disk, sector));
    disk
}

/// The codes of the notices of a conversion of `case` to a VHD.
fn notices(case: &Case) -> Vec<&'static str> {
    let converted = case.convert_to("vpc", Answers::InOrder, Abilities::default(), 1 << 20);
    converted.result.unwrap();
    converted.notices.iter().map(|notice| notice.code).filter(|code| *code == "sector-size").collect()
}

fn raw(image: Vec<u8>) -> Case {
    Case { format: Some("raw".to_owned()), ..Case::new(image) }
}

#[test]
fn by_the_partition_table() {
    let changed = |at: usize, byte: u8| {
        let mut disk = disk(&[4096]);
        disk[at] ^= byte;
        disk
    };
    // (what, disk, whether there is a notice)
    let rows = [
        ("a GPT for 4,096", disk(&[4096]), true),
        ("a GPT for 512", disk(&[512]), false),
        ("both", disk(&[512, 4096]), false),
        ("none", disk(&[]), false),
        ("another signature", changed(4096, 1), false),
        ("a wrong checksum", changed(4096 + 16, 1), false),
        ("another place", changed(4096 + 24, 3), false),
        ("a header of 0 bytes", changed(4096 + 12, 92), false),
        ("a header of more than a sector", changed(4096 + 15, 0x80), false),
        ("a disk that ends in the second sector", disk(&[4096])[..7680].to_vec(), true),
        ("a disk of two sectors", disk(&[4096])[..8192].to_vec(), true),
        ("an empty disk", Vec::new(), false),
    ];
    for (what, disk, expected) in rows {
        assert_eq!(notices(&raw(disk)).len(), usize::from(expected), "{what}");
    }
}

#[test]
fn in_each_kind_of_image() {
    let folder = tempfile::tempdir().unwrap();
    let (source, image) = (folder.path().join("disk.raw"), folder.path().join("image"));
    std::fs::write(&source, disk(&[4096])).unwrap();
    let arguments = [
        &["-O", "qcow2"][..],
        &["-O", "qcow2", "-o", "cluster_size=512"],
        &["-O", "qcow2", "-c", "-o", "compression_type=zstd"],
        &["-O", "vmdk", "-o", "subformat=streamOptimized"],
        &["-O", "vpc"],
        &["-O", "vdi"],
    ];
    for options in arguments {
        let convert = [&["convert", "-q", "-f", "raw"], options, &[text(&source), text(&image)]].concat();
        assert!(Command::new("qemu-img").args(&convert).status().unwrap().success(), "{options:?}");
        assert_eq!(notices(&Case::new(std::fs::read(&image).unwrap())), ["sector-size"], "{options:?}");
    }
    let stream = Case { as_stream: true, ..raw(disk(&[4096])) };
    let packed = Case { name: Some("disk.raw.gz".to_owned()), ..Case::new(filter("gzip", &["-c"], &disk(&[4096]))) };
    for (what, case) in [("a stream", stream), ("in gzip", packed)] {
        assert_eq!(notices(&case), ["sector-size"], "{what}");
    }
}

/// A VHDX gets the disk's sector size, whatever the format of the image, without a notice.
#[test]
fn kept_in_a_vhdx() {
    let stated = |sector_size| Case::new(Vhdx { sector_size, ..Vhdx::new(&[Block::Data(1)]) }.file());
    let packed = Case { name: Some("disk.raw.gz".to_owned()), ..Case::new(filter("gzip", &["-c"], &disk(&[4096]))) };
    // (what, image, sizes of logical and physical sectors, number of notices, size of the disk)
    let rows = [
        ("a GPT for 512", raw(disk(&[512])), [512, 512], 0, SIZE),
        ("a GPT for 4,096", raw(disk(&[4096])), [4096, 4096], 0, SIZE),
        ("not whole sectors", raw(disk(&[4096])[..SIZE - 512].to_vec()), [4096, 4096], 0, SIZE),
        ("a disk that ends in the second sector", raw(disk(&[4096])[..7680].to_vec()), [4096, 4096], 0, 8192),
        ("stated", stated(4096), [4096, 4096], 0, SIZE),
        ("512 and 4,096 stated", stated(512), [512, 4096], 0, SIZE),
        // The layout is made before the disk comes.
        ("in gzip", Case { size: Some(SIZE as u64), ..packed }, [512, 512], 1, SIZE),
    ];
    for (what, case, sectors, notices, size) in rows {
        let converted = case.convert_to("vhdx", Answers::InOrder, Abilities::default(), 1 << 20);
        converted.result.unwrap();
        let found = vhdx::read(&converted.target.bytes.take()).unwrap();
        assert_eq!((found.sectors, found.size), (sectors, size), "{what}");
        let count = converted.notices.iter().filter(|notice| notice.code == "sector-size").count();
        assert_eq!(count, notices, "{what}");
    }
}

/// The size that a VHDX states is a notice of `Info`, which the result repeats.
#[test]
fn stated_by_the_image() {
    let image = Vhdx { sector_size: 4096, ..Vhdx::new(&[Block::Data(1)]) }.file();
    assert_eq!(notices(&Case { name: Some("image.vhdx".to_owned()), ..Case::new(image) }), Vec::<&str>::new());
}
