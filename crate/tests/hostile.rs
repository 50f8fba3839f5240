//! Malformed, truncated and foreign files: right bytes or one clear error, never a panic.

mod common;

use common::*;
use decant::{ErrorKind, OpenOptions};
use std::fmt::Write as _;

const CLUSTER: usize = 512;
const L1: usize = 512;
const L2: usize = 1024;
/// The first data cluster, and the second one.
const DATA: usize = 1536;
const MORE: usize = 2048;
const COMPRESSED: u64 = 1 << 62;

/// The smallest image with all parts: version 3, clusters of 512 bytes, a disk of 8 clusters of
/// which the first two hold data.
fn small() -> Vec<u8> {
    let mut image = vec![0; MORE + CLUSTER];
    let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"QFI\xfb\0\0\0\x03");
    put(20, &9u32.to_be_bytes());
    put(24, &(8 * CLUSTER as u64).to_be_bytes());
    put(36, &1u32.to_be_bytes());
    put(40, &(L1 as u64).to_be_bytes());
    put(96, &4u32.to_be_bytes());
    put(100, &104u32.to_be_bytes());
    put(L1, &(L2 as u64 | 1 << 63).to_be_bytes());
    put(L2, &(DATA as u64 | 1 << 63).to_be_bytes());
    put(L2 + 8, &(MORE as u64 | 1 << 63).to_be_bytes());
    put(DATA, &[0xaa; CLUSTER]);
    put(MORE, &[0xbb; CLUSTER]);
    image
}

/// What `small` holds.
fn small_disk() -> Vec<u8> {
    let mut disk = vec![0; 8 * CLUSTER];
    disk[..CLUSTER].fill(0xaa);
    disk[CLUSTER..2 * CLUSTER].fill(0xbb);
    disk
}

fn patched(patches: &[(usize, &[u8])]) -> Vec<u8> {
    let mut image = small();
    for (at, bytes) in patches {
        if image.len() < at + bytes.len() {
            image.resize(at + bytes.len(), 0);
        }
        image[*at..at + bytes.len()].copy_from_slice(bytes);
    }
    image
}

fn convert(image: Vec<u8>) -> Result<Vec<u8>, decant::Error> {
    let converted = convert_bytes(image, None, Answers::InOrder, SinkKind::default(), 64 << 10);
    match converted.result {
        Ok(_) => Ok(converted.sink.bytes.take()),
        Err(error) => {
            assert!(!converted.sink.finished.get(), "a failed conversion was completed");
            Err(error)
        }
    }
}

type Patch<'a> = &'a [(usize, &'a [u8])];

#[test]
fn one_field_changed() {
    use ErrorKind::*;
    let be32 = |value: u32| value.to_be_bytes();
    let be64 = |value: u64| value.to_be_bytes();
    // (what, patches, the kind it must give or None where it does no harm, a part of the message)
    let cases: &[(&str, Patch, Option<ErrorKind>, &str)] = &[
        ("nothing", &[], None, ""),
        ("magic", &[(0, b"QFJ")], Some(NotRecognised), "no disk image format"),
        ("version 1", &[(4, &be32(1))], Some(Unsupported), "version 1"),
        ("version 4", &[(4, &be32(4))], Some(Unsupported), "version 4"),
        ("backing file", &[(8, &be64(200)), (16, &be32(8)), (200, b"base.img")], Some(MissingFile), "'base.img'"),
        ("backing name outside", &[(8, &be64(510)), (16, &be32(8))], Some(Corrupt), "name"),
        ("backing name too long", &[(8, &be64(1 << 60)), (16, &be32(u32::MAX))], Some(Corrupt), "name"),
        ("cluster_bits 8", &[(20, &be32(8))], Some(Corrupt), "cluster_bits"),
        ("cluster_bits 22", &[(20, &be32(22))], Some(Corrupt), "cluster_bits"),
        ("cluster_bits huge", &[(20, &be32(u32::MAX))], Some(Corrupt), "cluster_bits"),
        ("size above the L1 table", &[(24, &be64(1 << 20))], Some(Corrupt), "L1 table has 1 entries"),
        ("size near 2^63", &[(24, &be64(i64::MAX as u64))], Some(Limit), "2^53"),
        ("size 2^64-1", &[(24, &be64(u64::MAX))], Some(Limit), "2^53"),
        ("AES", &[(32, &be32(1))], Some(Password), "is encrypted"),
        ("LUKS without a header", &[(32, &be32(2))], Some(Corrupt), "LUKS header"),
        ("encryption 3", &[(32, &be32(3))], Some(Unsupported), "encryption method 3"),
        ("L1 too large", &[(36, &be32(u32::MAX))], Some(Limit), "L1 table"),
        ("L1 unaligned", &[(40, &be64(513))], Some(Corrupt), "L1 table is not aligned"),
        ("L1 past the end", &[(40, &be64(1 << 20))], Some(Corrupt), "truncated"),
        ("L1 near 2^64", &[(40, &be64(u64::MAX - 511))], Some(Corrupt), "L1 table"),
        ("L1 at the header", &[(40, &be64(0))], Some(Corrupt), ""),
        ("refcount table", &[(48, &be64(u64::MAX)), (56, &be32(u32::MAX))], None, ""),
        ("snapshots past the end", &[(60, &be32(1)), (64, &be64(1 << 30))], Some(Corrupt), "snapshot"),
        ("snapshots unaligned", &[(60, &be32(1)), (64, &be64(3))], Some(Corrupt), "snapshot"),
        ("too many snapshots", &[(60, &be32(65_537)), (64, &be64(512))], Some(Limit), "65537"),
        ("dirty", &[(79, &[1])], None, ""),
        ("corrupt bit", &[(79, &[2])], None, ""),
        ("data file", &[(79, &[4])], Some(Unsupported), "external data file"),
        ("zstd without compressed clusters", &[(79, &[8]), (100, &be32(112)), (104, &[1])], None, ""),
        ("compression 2", &[(79, &[8]), (100, &be32(112)), (104, &[2])], Some(Unsupported), "compression type 2"),
        ("compression bit alone", &[(79, &[8])], Some(Corrupt), "compression type"),
        ("compression type alone", &[(100, &be32(112)), (104, &[1])], Some(Corrupt), "compression type"),
        ("extended L2", &[(79, &[16])], Some(Corrupt), "extended L2"),
        ("unknown feature", &[(79, &[32])], Some(Unsupported), "bit 5"),
        ("unknown compatible feature", &[(87, &[0xfe])], None, ""),
        ("unknown autoclear feature", &[(95, &[0xff])], None, ""),
        ("refcount order", &[(99, &[7])], Some(Corrupt), "refcount order"),
        ("header length 100", &[(100, &be32(100))], Some(Corrupt), "header length"),
        ("header length huge", &[(100, &be32(u32::MAX))], Some(Corrupt), "header length"),
        ("unknown extension", &[(104, &be32(77)), (108, &be32(9))], None, ""),
        ("extension too long", &[(104, &be32(77)), (108, &be32(u32::MAX))], Some(Corrupt), "extension"),
        ("L1 entry: flags of no account", &[(L1, &[0xff])], None, ""),
        (
            "L1 entry unaligned",
            &[(20, &be32(10)), (24, &be64(512)), (40, &be64(1024)), (1024, &be64(0x600))],
            Some(Corrupt),
            "L2 table",
        ),
        ("L2 past the end", &[(L1, &be64(1 << 40))], Some(Corrupt), "truncated"),
        ("L2 at the end of what is possible", &[(L1, &be64(0x00ff_ffff_ffff_fe00))], Some(Corrupt), "truncated"),
        ("cluster past the end", &[(L2, &be64(1 << 40))], Some(Corrupt), "truncated"),
        ("compressed past the end", &[(L2, &be64(COMPRESSED | 1 << 40))], Some(Corrupt), "truncated"),
        ("compressed far past the end", &[(L2, &[0xff; 8])], Some(Corrupt), ""),
        ("compressed noise", &[(L2, &be64(COMPRESSED | DATA as u64))], Some(Corrupt), "does not decompress"),
        ("L2 reserved bits", &[(L2, &be64(DATA as u64 | 0x3f00_0000_0000_01fe))], None, ""),
        ("zero flag in version 2", &[(4, &be32(2)), (L2, &be64(1))], Some(Corrupt), "zero cluster"),
    ];
    let mut wrong = String::new();
    for (what, patches, kind, part) in cases {
        let result = convert(patched(patches));
        let right = match (&result, kind) {
            (Ok(disk), None) => *disk == small_disk(),
            (Err(error), Some(kind)) => error.kind == *kind && error.message.contains(part),
            _ => false,
        };
        if !right {
            writeln!(wrong, "{what}: {:?}", result.map(|disk| disk.len())).unwrap();
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

/// A stored block of deflate (RFC 1951, 3.2.4).
fn stored(bytes: &[u8], last: bool) -> Vec<u8> {
    let len = bytes.len() as u16;
    let mut block = vec![u8::from(last)];
    block.extend(len.to_le_bytes());
    block.extend((!len).to_le_bytes());
    block.extend(bytes);
    block
}

#[test]
fn compressed_clusters_of_every_shape() {
    let full = [0x5a; CLUSTER];
    let cut_short = {
        let mut stream = stored(&full[..300], false);
        stream.extend(&stored(&full[300..], true)[..100]);
        stream
    };
    // (what, stream, whether the cluster reads as 0x5a, a part of the message)
    let cases: &[(&str, Vec<u8>, bool, &str)] = &[
        ("whole", stored(&full, true), true, ""),
        ("no end mark", stored(&full, false), true, ""),
        ("two blocks", [stored(&full[..7], false), stored(&full[7..], true)].concat(), true, ""),
        ("more than a cluster", [stored(&full, false), stored(&full, true)].concat(), true, ""),
        ("noise behind the end", [stored(&full, true), vec![0xff; 300]].concat(), true, ""),
        ("less than a cluster", stored(&full[..500], true), false, "does not decompress"),
        ("no stream", vec![0xff; 900], false, "does not decompress"),
        ("the file ends inside", cut_short, false, "truncated"),
    ];
    for (what, stream, good, part) in cases {
        // The stream begins inside a sector and overhangs the end of the file.
        let start = MORE + CLUSTER + 100;
        // One sector besides the first.
        let entry = COMPRESSED | start as u64 | 1 << 61;
        let image = patched(&[(L2, &entry.to_be_bytes()), (start, stream)]);
        match convert(image) {
            Ok(disk) => {
                assert!(*good && disk[..CLUSTER] == full && disk[CLUSTER..] == small_disk()[CLUSTER..], "{what}")
            }
            Err(error) => {
                assert!(!good && error.kind == ErrorKind::Corrupt && error.message.contains(part), "{what}: {error}");
            }
        }
    }
}

#[test]
fn a_zero_flag_hides_stale_data() {
    let stale = (DATA as u64 | 1).to_be_bytes();
    let beyond = ((1u64 << 40) | 1).to_be_bytes();
    for entry in [stale, beyond, 1u64.to_be_bytes()] {
        let disk = convert(patched(&[(L2, &entry)])).unwrap();
        assert!(disk[..CLUSTER].iter().all(|&byte| byte == 0) && disk[CLUSTER..] == small_disk()[CLUSTER..]);
    }
}

#[test]
fn a_disk_that_ends_inside_a_sector_is_rounded_down() {
    for (size, expected) in [(1000u64, 512), (1023, 512), (1024, 1024), (511, 0), (0, 0)] {
        let disk = convert(patched(&[(24, &size.to_be_bytes())])).unwrap();
        assert_eq!(disk, small_disk()[..expected], "{size}");
    }
}

#[test]
fn an_unknown_feature_is_named_by_the_image() {
    let mut name = [0u8; 48];
    name[1] = 9;
    name[2..9].copy_from_slice(b"telepat");
    let length = 48u32.to_be_bytes();
    let image = patched(&[(78, &[2]), (104, &0x6803_f857u32.to_be_bytes()), (108, &length), (112, &name)]);
    let error = convert(image).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unsupported);
    assert!(error.message.contains("'telepat' (bit 9)"), "{error}");
}

/// A file that was cut must never read as zeros.
#[test]
fn every_truncation_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let (raw, path) = (folder.path().join("disk.raw"), folder.path().join("image.qcow2"));
    std::fs::write(&raw, (0..120_000u32).map(|at| (at % 251) as u8 | 1).collect::<Vec<_>>()).unwrap();
    for options in [&["-o", "cluster_size=4k"][..], &["-c", "-o", "cluster_size=16k"]] {
        let mut args = vec!["convert", "-f", "raw", "-O", "qcow2"];
        args.extend(options);
        args.extend([text(&raw), text(&path)]);
        qemu("qemu-img", &args);
        let image = std::fs::read(&path).unwrap();
        let expected = convert(image.clone()).unwrap();
        for len in (0..1024).step_by(8).chain((1024..image.len()).step_by(512)) {
            match convert(image[..len].to_vec()) {
                Ok(disk) => assert!(disk == expected, "other bytes from the first {len} of {}", image.len()),
                Err(error) if len < 4 => assert_eq!(error.kind, ErrorKind::NotRecognised),
                Err(error) => {
                    assert_eq!(error.kind, ErrorKind::Corrupt, "{len}: {error}");
                    assert!(error.message.contains("truncated"), "{len}: {error}");
                }
            }
        }
    }
}

#[test]
fn formats_are_recognised_by_content() {
    use ErrorKind::*;
    let at = |offset: usize, bytes: &[u8]| {
        let mut file = vec![0; 40 << 10];
        file[offset..offset + bytes.len()].copy_from_slice(bytes);
        file
    };
    // (name, content, kind, a part of the message)
    let cases: &[(&str, Vec<u8>, ErrorKind, &str)] = &[
        ("a.vmdk", at(0, b"KDMV"), Unsupported, "VMDK"),
        ("a.vmdk", at(0, b"# Disk DescriptorFile"), Unsupported, "VMDK"),
        ("a.vhdx", at(0, b"vhdxfile"), Unsupported, "VHDX"),
        ("a.vhd", at(0, b"conectix"), Unsupported, "VHD"),
        ("a.vhd", at((40 << 10) - 512, b"conectix"), Unsupported, "VHD"),
        ("a.vdi", at(64, &[0x7f, 0x10, 0xda, 0xbe]), Unsupported, "VDI"),
        ("a.qed", at(0, b"QED\0"), Unsupported, "QED"),
        ("a.hds", at(0, b"WithoutFreeSpace"), Unsupported, "Parallels"),
        ("a.iso", at(32_769, b"CD001"), Unsupported, "ISO 9660"),
        ("a.gz", at(0, &[0x1f, 0x8b, 8]), Unsupported, "gzip"),
        ("a.xz", at(0, &[0xfd, b'7', b'z', b'X', b'Z', 0]), Unsupported, "xz"),
        ("a.zst", at(0, &[0x28, 0xb5, 0x2f, 0xfd]), Unsupported, "zstd"),
        ("a.bz2", at(0, b"BZh91AY&SY"), Unsupported, "bzip2"),
        ("a.zip", at(0, b"PK\x03\x04"), Unsupported, "zip"),
        ("a.ova", at(257, b"ustar"), Unsupported, "tar"),
        // A name decides nothing: a qcow2 by name only, and a VMDK that is called raw.
        ("a.qcow2", at(0, b"%PDF-1.7"), NotRecognised, "no disk image format"),
        ("a.raw", at(0, b"KDMV"), Unsupported, "VMDK"),
        ("a.raw", at(0, b"%PDF-1.7"), NotRecognised, "state the format raw"),
        ("A.IMG", at(0, b""), NotRecognised, "state the format raw"),
        ("a.bin", vec![0; 100], NotRecognised, "no disk image format"),
        ("a.img", vec![], NotRecognised, "empty"),
    ];
    for (name, content, kind, part) in cases {
        let options = OpenOptions { name: Some((*name).to_owned()), ..OpenOptions::default() };
        let error = open_bytes(content.clone(), options).err().unwrap_or_else(|| panic!("{name} was opened"));
        assert_eq!(error.kind, *kind, "{name}: {error}");
        assert!(error.message.contains(part), "{name}: {error}");
    }
    let stated = OpenOptions { format: Some("vmdk".to_owned()), ..OpenOptions::default() };
    assert_eq!(open_bytes(small(), stated).err().unwrap().kind, Usage);
}

/// Fields set to random values: whatever comes of it comes soon, and without a panic.
#[test]
fn random_changes_do_no_harm() {
    let mut state = 0x2545_f491u32;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state
    };
    for _ in 0..if long() { 2_000_000 } else { 20_000 } {
        let mut image = small();
        for _ in 0..1 + random() % 4 {
            // The header, the L1 entry and the first L2 entries are what steers reading.
            let at = [random() % 112, L1 as u32 + random() % 8, L2 as u32 + random() % 64][random() as usize % 3];
            image[at as usize] = random() as u8;
        }
        let options = OpenOptions::default();
        let source = HeldSource::new(image);
        let reading = source.clone();
        let listed = drive(&source, Answers::InOrder, async move {
            let image = decant::Image::open(reading, &options).await?;
            let (mut walk, mut extents, mut steps) = (image.extents()?, Vec::new(), 0);
            while walk.next(&mut extents).await? {
                extents.clear();
                steps += 1;
                if steps > 100 {
                    break;
                }
            }
            Ok::<_, decant::Error>(image.info().virtual_size)
        })
        .expect("nothing waits for ever");
        // A disk that fits into memory is converted too.
        if listed.is_ok_and(|size| size <= 1 << 20) {
            let _ = convert(source.content());
        }
    }
}
