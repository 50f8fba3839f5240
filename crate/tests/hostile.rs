//! Malformed, truncated and foreign files: right bytes or one clear error, never a panic.

use crate::common::small::*;
use crate::common::*;
use decant::{ErrorKind, OpenOptions};

fn patched(patches: Patch) -> Vec<u8> {
    changed(small(), patches)
}

fn convert(image: Vec<u8>) -> Result<Vec<u8>, decant::Error> {
    Case::new(image).bytes()
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
    assert!(error.message().contains("'telepat' (bit 9)"), "{error}");
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
        ("a.vmdk", at(0, b"# Disk DescriptorFile"), Corrupt, "no extent"),
        ("a.vhdx", at(0, b"vhdxfile"), Corrupt, "truncated"),
        ("a.vhd", at(0, b"conectix"), Corrupt, "checksum of the footer"),
        ("a.vhd", at((40 << 10) - 512, b"conectix"), Corrupt, "checksum of the footer"),
        ("a.hds", at(0, b"WithoutFreeSpace"), Unsupported, "Parallels"),
        ("a.iso", at(32_769, b"CD001"), Unsupported, "ISO 9660"),
        ("a.gz", at(0, &[0x1f, 0x8b, 8]), Corrupt, "compressed data is invalid"),
        ("a.xz", at(0, &[0xfd, b'7', b'z', b'X', b'Z', 0]), Corrupt, "checksum"),
        ("a.zst", at(0, &[0x28, 0xb5, 0x2f, 0xfd, 0, 0, 7]), Corrupt, "compressed data is invalid"),
        ("a.bz2", at(0, b"BZh91AY&SY"), Corrupt, "compressed data is invalid"),
        ("a.lz4", at(0, &[4, 0x22, 0x4d, 0x18, 0x64, 0x40]), Corrupt, "checksum"),
        ("a.lz4", at(0, &[2, 0x21, 0x4c, 0x18]), Corrupt, "compressed data is invalid"),
        ("a.zip", at(0, b"PK\x03\x04"), Corrupt, "truncated"),
        // An archive has a checksum too: text in an image that only looks like one decides nothing.
        ("a.ova", at(257, b"ustar"), NotRecognised, "not in a known disk image format"),
        ("a.img", at(0, b"LUKS\xba\xbe"), Unsupported, "LUKS"),
        (
            "a.img",
            at(0, b"Bochs Virtual HD Image"),
            Unsupported,
            "Bochs disk, which Decant does not read; make it raw with qemu-img convert",
        ),
        (
            "a.img",
            at(0, b"#!/bin/sh\n#V2.0 Format\nmodprobe cloop"),
            Unsupported,
            "a compressed loop image, which Decant does not read; make it raw",
        ),
        (
            "a.dmg",
            at((40 << 10) - 512, b"koly"),
            Unsupported,
            "DMG (Apple disk), which Decant does not read; make it raw with qemu-img convert",
        ),
        // A name decides nothing: a qcow2 by name only, and a VMDK that is called raw.
        ("a.qcow2", at(0, b"%PDF*1.7"), NotRecognised, "not in a known disk image format"),
        ("a.raw", at(0, b"KDMV"), Unsupported, "VMDK"),
        ("a.raw", at(0, b"%PDF*1.7"), NotRecognised, "state the format raw"),
        ("A.IMG", at(0, b""), NotRecognised, "state the format raw"),
        (
            "a.bin",
            vec![0; 100],
            NotRecognised,
            "Decant reads qcow2, VDI, VMDK, QED, VHD, VHDX, Parallels, LUKS, and archives with one",
        ),
        ("a", vec![0; 512], NotRecognised, "and archives with one; if it is a raw disk, state the format raw"),
        ("a-flat.vmdk", vec![0; 512], NotRecognised, "open the descriptor"),
        ("a.img", vec![], NotRecognised, "'a.img' is empty"),
        ("notes", "Grüße\n".into(), NotRecognised, "The file is a text file, not a disk image; open one instead"),
        ("notes", b"text\x01\n".to_vec(), NotRecognised, "not in a known disk image format"),
    ];
    for (name, content, kind, part) in cases {
        let options = OpenOptions { name: Some((*name).to_owned()), ..OpenOptions::default() };
        let error = open_bytes(content.clone(), options).err().unwrap_or_else(|| panic!("{name} was opened"));
        assert_eq!(error.kind, *kind, "{name}: {error}");
        assert!(error.message().contains(part), "{name}: {error}");
    }
    let stated = OpenOptions { format: Some("bochs".to_owned()), ..OpenOptions::default() };
    assert_eq!(open_bytes(small(), stated).err().unwrap().kind, Usage);
}

#[test]
fn codes_tell_failures_apart() {
    let gz = |bytes: &[u8]| filter("gzip", &["-c"], bytes);
    let mut wrong_sum = gz(&[0x55; 4096]);
    let sum = wrong_sum.len() - 8;
    wrong_sum[sum] ^= 1;
    let compressed = patched(&[(L2, &(COMPRESSED | DATA as u64).to_be_bytes()), (DATA, &[0xff; CLUSTER])]);
    // (name, content, code, a field and its value)
    type Expected = (&'static str, Vec<u8>, &'static str, Option<(&'static str, &'static str)>);
    let cases: &[Expected] = &[
        ("note.txt", vec![b'a'; 513], "not-recognised", None),
        ("disk", vec![b'a'; 512], "state-format", Some(("format", "raw"))),
        ("disk.img", vec![b'a'; 513], "state-format", Some(("format", "raw"))),
        ("disk-flat.vmdk", vec![b'a'; 512], "maybe-extent", Some(("format", "vmdk"))),
        ("note.txt.gz", gz(&[b'a'; 513]), "not-a-disk", None),
        ("a.qcow2.gz", gz(&small()), "needs-spool", Some(("container", "gzip"))),
        ("a.img.gz", wrong_sum, "gzip-damaged", None),
        ("a.qcow2", patched(&[(4, &9u32.to_be_bytes())]), "unknown-version", Some(("version", "9"))),
        ("a.qcow2", patched(&[(78, &[2])]), "unknown-feature", Some(("bit", "9"))),
        ("a.qcow2", compressed, "corrupt", Some(("damage", "compressed-invalid"))),
    ];
    for (name, content, code, field) in cases {
        let case = Case { name: Some((*name).to_owned()), ..Case::new(content.clone()) };
        let error = case.bytes().err().unwrap_or_else(|| panic!("{name} was converted"));
        assert_eq!(&*error.code, *code, "{name}: {error}");
        if let Some((field, value)) = field {
            let fields = format!("{:?}", error.fields);
            assert!(fields.contains(field) && fields.contains(value), "{name}: {fields}");
        }
    }
    let stated = OpenOptions { format: Some("qcow2".to_owned()), ..OpenOptions::default() };
    assert_eq!(&*open_bytes(vec![0; 512], stated).err().unwrap().code, "other-format");
}

#[test]
fn an_id_wins_over_a_name() {
    let entry = |l1: usize, id: &[u8], name: &[u8]| {
        let lens = [id.len() as u16, name.len() as u16].map(u16::to_be_bytes).concat();
        let extra = [[0; 8], (4 * CLUSTER as u64).to_be_bytes()].concat();
        let head = [&(l1 as u64).to_be_bytes()[..], &1u32.to_be_bytes(), &lens, &[0; 20]].concat();
        let mut bytes = [&head[..], &(extra.len() as u32).to_be_bytes(), &extra, id, name].concat();
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    };
    let table = [entry(SNAPSHOT_L1, b"1", b"2"), entry(L1, b"2", b"one")].concat();
    let image = changed(with_snapshot(), &[(60, &2u32.to_be_bytes()), (SNAPSHOTS, &table)]);
    // (what is asked for, the first byte of the disk)
    for (snapshot, first) in [("1", 0xbb), ("2", 0xaa), ("one", 0xaa)] {
        let case = Case { snapshot: Some(snapshot.to_owned()), ..Case::new(image.clone()) };
        assert_eq!(case.bytes().unwrap()[0], first, "{snapshot}");
    }
}
