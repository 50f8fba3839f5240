//! Links between VMDKs, and descriptors whose disks cannot be read.

use crate::common::vdi::{Block, DIFFERENCING, Vdi, content};
use crate::common::vmdk::*;
use crate::common::*;
use decant::ErrorKind::{self, *};

const NULL: &str = "00000000-0000-0000-0000-000000000000";

/// `seed` sixteen times, as text.
fn uuid(seed: u8) -> String {
    let byte = format!("{seed:02x}");
    [4, 2, 2, 2, 6].map(|count| byte.repeat(count)).join("-")
}

/// The lines that VirtualBox adds to a descriptor: the UUIDs of the disk, its state, its parent, and the parent's
/// state.
fn uuids([disk, state, parent, parent_state]: [&str; 4]) -> String {
    format!(
        "ddb.uuid.image=\"{disk}\"\nddb.uuid.modification=\"{state}\"\nddb.uuid.parent=\"{parent}\"\n\
         ddb.uuid.parentmodification=\"{parent_state}\"\n"
    )
}

/// A sparse VMDK whose descriptor has `lines` besides its extent.
fn vmdk(lines: &str, grains: &[Grain]) -> Vec<u8> {
    let text = descriptor("monolithicSparse", "RW 64 SPARSE \"x.vmdk\"\n") + lines;
    Kdmv { descriptor: Some(text), ..Kdmv::default() }.build(grains)
}

fn grains(seeds: [u8; 8]) -> Vec<Grain> {
    let grain = |seed| if seed == 0 { Grain::Absent } else { Grain::Data(pattern(seed, 8 * SECTOR)) };
    seeds.map(grain).to_vec()
}

fn with(image: Vec<u8>, below: &[(&str, &[u8])]) -> Case {
    let companions = below.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect();
    Case { name: Some("top.vmdk".to_owned()), companions, ..Case::new(image) }
}

/// VirtualBox writes `parentCID=ffffffff` for every disk.
#[test]
fn snapshots_of_virtualbox() {
    let ids: Vec<String> = (1..=6).map(uuid).collect();
    let [a, ma, b, mb, c, mc] = [0, 1, 2, 3, 4, 5].map(|at| &ids[at][..]);
    let base = vmdk(&uuids([a, ma, NULL, NULL]), &grains([1, 2, 3, 4, 0, 6, 7, 8]));
    let middle = vmdk(&uuids([b, mb, a, ma]), &grains([0, 12, 0, 0, 15, 0, 0, 0]));
    let top = vmdk(&uuids([c, mc, b, mb]), &grains([0, 0, 23, 0, 0, 0, 0, 0]));
    let all = disk(64, 8, &grains([1, 12, 23, 4, 15, 6, 7, 8]));
    assert!(with(top.clone(), &[("x", &base), ("y", &middle)]).bytes().unwrap() == all);
    // In upper case, in braces; an unrecorded state is not compared.
    let spelled = vmdk(&uuids([c, mc, &format!("{{{}}}", b.to_uppercase()), NULL]), &grains([0, 0, 23, 0, 0, 0, 0, 0]));
    assert!(with(spelled, &[("x", &base), ("y", &middle)]).bytes().unwrap() == all);
    // The state identifies the parent among two files.
    let changed = vmdk(&uuids([b, uuid(9).as_str(), a, ma]), &grains([9; 8]));
    assert!(with(top.clone(), &[("old", &changed), ("x", &base), ("y", &middle)]).bytes().unwrap() == all);
    // A base is complete.
    assert!(with(base.clone(), &[]).bytes().unwrap() == disk(64, 8, &grains([1, 2, 3, 4, 0, 6, 7, 8])));
    let other = vmdk(&uuids([uuid(9).as_str(), mb, NULL, NULL]), &grains([9; 8]));
    type Below<'a> = &'a [(&'a str, &'a [u8])];
    let cases: &[(&str, Below, ErrorKind, &str)] = &[
        ("nothing below", &[], MissingFile, b),
        ("the base alone", &[("x", &base)], MissingFile, b),
        ("the middle alone", &[("y", &middle)], MissingFile, a),
        ("another disk", &[("y", &other)], MissingFile, b),
        ("changed since", &[("x", &base), ("y", &changed)], Corrupt, "changed since"),
        ("another disk by that name", &[(b, &other)], Corrupt, "not the parent"),
    ];
    for (what, below, kind, part) in cases {
        let error = with(top.clone(), below).bytes().unwrap_err();
        assert!(error.kind == *kind && error.message().contains(part), "{what}: {error}");
    }
    for text in ["66", "66666666-2222-4333-8444-55555555555", "66666666-2222-4333-8444-55555555555x"] {
        let error = with(vmdk(&uuids([c, mc, text, mb]), &[]), &[]).bytes().unwrap_err();
        assert!(error.kind == Corrupt && error.message().contains("line"), "{text}: {error}");
    }
}

/// VirtualBox makes snapshots of a disk in a format of its choice.
#[test]
fn parents_in_another_format() {
    let [a, ma, b, mb] = [1, 2, 3, 4].map(uuid);
    let vmdk_base = vmdk(&uuids([&a, &ma, NULL, NULL]), &grains([1, 2, 3, 4, 5, 6, 7, 8]));
    let size = 64 * SECTOR as u64;
    let blocks =
        [Block::Free, Block::Data(9), Block::Free, Block::Free, Block::Free, Block::Free, Block::Free, Block::Zero];
    let vdi_top = Vdi { kind: DIFFERENCING, parent: 1, parent_state: 2, size, ..Vdi::new(4096, &blocks) };
    let expected = vdi_top.disk(&disk(64, 8, &grains([1, 2, 3, 4, 5, 6, 7, 8])));
    assert!(with(vdi_top.file(), &[("base.vmdk", &vmdk_base)]).bytes().unwrap() == expected);

    let vdi_base = Vdi { id: 3, state: 4, size, ..Vdi::new(4096, &[Block::Data(9); 8]) };
    let top = vmdk(&uuids([&a, &ma, &b, &mb]), &grains([0, 2, 0, 0, 0, 0, 0, 0]));
    let mut expected = content(9, 4096).repeat(8);
    expected[4096..8192].copy_from_slice(&pattern(2, 4096));
    assert!(with(top, &[("base.vdi", &vdi_base.file())]).bytes().unwrap() == expected);
}

/// A companion that cannot be opened may be the parent: its error is reported, not a missing file.
#[test]
fn a_parent_that_cannot_be_opened() {
    let [a, ma, b, mb] = [1, 2, 3, 4].map(uuid);
    let top = vmdk(&uuids([&b, &mb, &a, &ma]), &grains([0, 12, 0, 0, 0, 0, 0, 0]));
    let base = vmdk(&uuids([&a, &ma, NULL, NULL]), &grains([1; 8]));
    let encrypted = vmdk(&format!("{}keyID=\"a\"\n", uuids([&a, &ma, NULL, NULL])), &grains([1; 8]));
    let (cut, huge) = (base[..300].to_vec(), small::changed(base.clone(), &[(12, &[0xff; 7])]));
    let cases: [(&str, &[u8], ErrorKind); 3] =
        [("cut off", &cut, Corrupt), ("encrypted", &encrypted, Unsupported), ("too large", &huge, Limit)];
    for (what, parent, kind) in cases {
        let error = with(top.clone(), &[("a file", &[0; 99]), ("x.vmdk", parent)]).bytes().unwrap_err();
        assert!(error.kind == kind && error.message().starts_with("In 'x.vmdk': "), "{what}: {error}");
        // If the parent is present, the others do not matter.
        let case = with(top.clone(), &[("x.vmdk", parent), ("y.vmdk", &base)]);
        assert!(case.bytes().unwrap()[..4096] == pattern(1, 4096), "{what}");
    }
    // An extent of another disk is not a parent.
    let extent = Kdmv { descriptor: None, ..Kdmv::default() }.build(&few_grains());
    let error = with(top, &[("x-s001.vmdk", &extent)]).bytes().unwrap_err();
    assert!(error.kind == MissingFile && error.message().contains(&a), "{error}");
    // If it is stated as the layer below, the error names it.
    let over = small::overlay("x-s001.vmdk", Some("vmdk"));
    let error = with(over, &[("x-s001.vmdk", &extent)]).bytes().unwrap_err();
    assert!(error.kind == MissingFile && error.message().starts_with("In 'x-s001.vmdk': "), "{error}");
}

/// A path is a link, with any content ID.
#[test]
fn a_path_without_a_content_id() {
    let base = vmdk("", &grains([1, 2, 3, 4, 5, 6, 7, 8]));
    let top = vmdk("parentFileNameHint=\"dir/base.vmdk\"\n", &grains([0, 12, 0, 0, 0, 0, 0, 0]));
    let error = with(top.clone(), &[]).bytes().unwrap_err();
    assert!(error.kind == MissingFile && error.message().contains("dir/base.vmdk"), "{error}");
    let expected = disk(64, 8, &grains([1, 12, 3, 4, 5, 6, 7, 8]));
    assert!(with(top, &[("base.vmdk", &base)]).bytes().unwrap() == expected);
}

#[test]
fn encrypted_disks_are_refused() {
    let lines = [
        "keyID=\"vmware:key/fqid/<VMWARE-NULL>/kms/1\"\n",
        "encryptionKeys = \"vmware:key/list/(pair/(fqid/a,AES-256,b))\"\n",
        "encryption.keySafe = \"vmware:key/list/(pair/(phrase/a,b,c))\"\n",
        "ddb.iofilters = \"vmwarevmcrypt\"\n",
        "DDB.IOFilters = \"some_filter,VMwareVMcrypt\"\n",
    ];
    let flat = descriptor("vmfs", "RW 8 VMFS \"a-flat.vmdk\"\n");
    for line in lines {
        for image in [vmdk(line, &few_grains()), (flat.clone() + line).into_bytes()] {
            for salvage in [false, true] {
                let below: &[(&str, &[u8])] = &[("a-flat.vmdk", &[7; 4096])];
                let error = Case { salvage, ..with(image.clone(), below) }.bytes().unwrap_err();
                assert!(error.kind == Unsupported && error.message().contains("encryption"), "{line}: {error}");
            }
        }
    }
    // Empty values count as absent.
    let empty = vmdk("keyID=\"\"\nencryptionKeys=\"\"\nddb.iofilters = \"\"\n", &few_grains());
    assert!(with(empty, &[]).bytes().unwrap() == disk(64, 8, &few_grains()));
}

#[test]
fn unknown_entries_of_a_descriptor_are_reported() {
    let codes = |lines: &str, version: &str| {
        let text = descriptor("custom", "RW 64 ZERO\n").replace("version=1", version) + lines;
        let case = Case::new(text.into_bytes());
        let info = case.with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap();
        info.safety.iter().map(|notice| notice.code).collect::<Vec<_>>()
    };
    assert_eq!(codes("", "version=1"), [""; 0]);
    assert_eq!(codes("", "version=3"), [""; 0]);
    assert_eq!(codes("", "version=4"), ["unknown-descriptor-version"]);
    assert_eq!(codes("", "version=0"), ["unknown-descriptor-version"]);
    assert_eq!(codes("ddb.iofilters = \"vmwarelwd, other\"\n", "version=2"), ["unknown-io-filter"]);
}

/// A truncated descriptor of three extents of zeros.
#[test]
fn descriptors_that_are_cut_off() {
    let whole = descriptor("custom", "RW 8 ZERO\nRW 16 ZERO\nRW 32 ZERO\n");
    let (first, database) = (whole.find("RW 16").unwrap(), whole.find("#DDB").unwrap());
    let zeroed = |from: usize, to: usize| {
        let mut bytes = whole.clone().into_bytes();
        bytes[from..to].fill(0);
        bytes
    };
    let padded = |len: usize| {
        let mut bytes = whole.clone().into_bytes();
        bytes.resize(len, 0);
        bytes
    };
    let end = whole.len();
    let comment_of_nuls = [whole.as_bytes(), &[0; 100], b"#"].concat();
    // (what, the file, the sectors of the disk or `None` if it is corrupt, whether there is a notice)
    let cases: &[(&str, Vec<u8>, Option<u64>, bool)] = &[
        ("whole", whole.clone().into_bytes(), Some(56), false),
        ("whole, with CR", whole.replace('\n', "\r\n").into_bytes(), Some(56), false),
        ("whole, in upper case", whole.replace("ddb.", "DDB.").into_bytes(), Some(56), false),
        ("whole, padded to 20 sectors", padded(20 * SECTOR), Some(56), false),
        ("whole, padded as QEMU does", padded(end.next_multiple_of(SECTOR)), Some(56), false),
        ("cut after an extent", whole[..first].into(), Some(8), true),
        ("cut in front of a line end", whole[..first - 1].into(), Some(8), true),
        ("cut in the comment that follows", whole[..database + 2].into(), Some(56), true),
        ("cut in the database", whole[..end - 1].into(), Some(56), true),
        ("zeros after an extent", zeroed(first, end), Some(8), true),
        (
            "zeros after an extent, to 20 sectors",
            {
                let mut bytes = zeroed(first, end);
                bytes.resize(20 * SECTOR, 0);
                bytes
            },
            Some(8),
            true,
        ),
        ("zeros and more extents", zeroed(first, first + 5), None, false),
        ("zeros and the database", zeroed(first, database), None, false),
        ("a zero for a line end", zeroed(first - 1, first), None, false),
        ("whole, zeros and a byte", comment_of_nuls, Some(56), false),
        ("whole, and the end of a longer one", [whole.as_bytes(), b"\0\"\n\0\0"].concat(), Some(56), false),
    ];
    for (what, file, sectors, has_notice) in cases {
        let case = Case { name: Some("top.vmdk".to_owned()), ..Case::new(file.clone()) };
        let info = case.with(Answers::InOrder, |image| async move { Ok(image.info()) });
        match (info, sectors) {
            (Err(error), None) => assert_eq!(error.kind, Corrupt, "{what}: {error}"),
            (Ok(info), &Some(sectors)) => {
                assert_eq!(info.virtual_size, Some(sectors * SECTOR as u64), "{what}");
                let codes: Vec<_> = info.safety.iter().map(|notice| notice.code).collect();
                assert_eq!(codes, ["descriptor-cut"][usize::from(!has_notice)..], "{what}");
            }
            (found, _) => panic!("{what}: {found:?}"),
        }
        // A salvage reads the rest.
        let salvage = Case { salvage: true, ..case };
        let info = salvage.with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap();
        let is_short = info.virtual_size < Some(56 * SECTOR as u64);
        assert_eq!(info.safety.is_empty(), !is_short && !has_notice, "{what}");
    }
}

/// The descriptor in a sparse file is followed only by NULs.
#[test]
fn descriptors_in_sparse_files_are_padded() {
    let image = vmdk("", &few_grains());
    let info = |image: &[u8]| {
        let case = Case { name: Some("top.vmdk".to_owned()), ..Case::new(image.to_vec()) };
        case.with(Answers::InOrder, |image| async move { Ok(image.info()) })
    };
    assert!(info(&image).unwrap().safety.is_empty());
    let line = image.windows(8).position(|window| window == b"parentCI").unwrap();
    let mut changed = image;
    changed[line..line + 10].fill(0);
    assert_eq!(info(&changed).unwrap_err().kind, Corrupt);
}

/// An extent without sectors is ignored, as by QEMU, and reported: the disk may have had more.
#[test]
fn extents_of_no_sectors() {
    for (lines, reported) in [
        ("RW 0 ZERO\nRW 1 ZERO\n", false),
        ("RW 0 FLAT \"a.bin\" 0\nRW 1 ZERO\n", true),
        ("RW 1 ZERO\nRW 0 SPARSE \"a.vmdk\"\n", true),
    ] {
        let case = Case { name: Some("top.vmdk".to_owned()), ..Case::new(descriptor("custom", lines).into_bytes()) };
        let info = case.with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap();
        let codes: Vec<_> = info.safety.iter().map(|notice| notice.code).filter(|&code| code != "extent").collect();
        assert_eq!(codes, ["extent-empty"][usize::from(!reported)..], "{lines}");
    }
}

/// A truncated parent is reported with its name.
#[test]
fn parents_that_are_cut_off() {
    let base = descriptor("custom", "RW 64 ZERO\n").replace("#DDB\n\nddb.adapterType = \"ide\"\n", "");
    let top = vmdk("", &few_grains()).clone();
    let text = String::from_utf8_lossy(&top[DESCRIPTOR..TABLES]).into_owned();
    let text = text.trim_end_matches('\0').replace("parentCID=ffffffff", "parentCID=11223344");
    let text = text.replace("#DDB", "parentFileNameHint=\"base.vmdk\"\n#DDB");
    let top = Kdmv { descriptor: Some(text), ..Kdmv::default() }.build(&few_grains());
    let case = with(top, &[("base.vmdk", base.as_bytes())]);
    let info = case.with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap();
    let cut = info.safety.iter().find(|notice| notice.code == "descriptor-cut").expect("no notice");
    assert!(cut.message.starts_with("'base.vmdk': "), "{}", cut.message);
}

/// A stated format that differs from the file's, at every size.
#[test]
fn files_that_are_no_vmdk() {
    for size in [0, 1, 511, 513, 1 << 20, (1 << 20) + 1, 5 << 20] {
        let case = Case { format: Some("vmdk".to_owned()), ..Case::new(vec![7; size]) };
        let error = case.bytes().unwrap_err();
        assert_eq!((error.kind, &*error.message()), (NotRecognised, "The file is not a VMDK image"), "{size}");
    }
    // A descriptor may not be as long.
    let long = descriptor("custom", "RW 8 ZERO\n") + &"#\n".repeat(1 << 19);
    let error = Case { format: Some("vmdk".to_owned()), ..Case::new(long.into_bytes()) }.bytes().unwrap_err();
    assert_eq!(error.kind, Limit, "{error}");
}
