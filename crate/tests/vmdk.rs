//! VMDK: every kind is read, and compared with qemu-img where that is right.

use crate::common::vmdk::*;
use crate::common::*;
use decant::ErrorKind::{self, *};
use decant::io::target::{Abilities, Holes};
use decant::open::chain::Companion;
use decant::{Image, OpenOptions};
use std::path::Path;

const SUBFORMATS: [&str; 5] =
    ["monolithicSparse", "monolithicFlat", "twoGbMaxExtentSparse", "twoGbMaxExtentFlat", "streamOptimized"];

/// A raw disk of 5 MiB and a sector: data, data that hardly compresses, zeros, and a last grain that is short.
fn raw_disk() -> Vec<u8> {
    let mut disk = vec![0; (5 << 20) + SECTOR];
    let mut state = 1u32;
    for (at, byte) in disk.iter_mut().enumerate() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = match at >> 16 {
            0..9 => (at / 7) as u8 | 1,
            20..30 => (state >> 24) as u8,
            40 => b"a text that compresses well "[at % 28],
            80.. => 7,
            _ => 0,
        };
    }
    disk
}

/// The image `name` with all other files of its folder.
fn case_of(folder: &Path, name: &str) -> Case {
    let mut companions = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let file = entry.file_name().into_string().unwrap();
        if file != name && file.ends_with(".vmdk") {
            companions.push((file, std::fs::read(entry.path()).unwrap()));
        }
    }
    let image = std::fs::read(folder.join(name)).unwrap();
    Case { name: Some(name.to_owned()), companions, ..Case::new(image) }
}

/// Converts in every way; all results must equal `disk`.
fn assert_reads(case: &Case, disk: &[u8], what: &str) {
    let kinds = [
        Abilities::default(),
        Abilities { ascending: true, holes: Holes::WriteZeros, short_hole: 65_536, late_start: u64::MAX },
    ];
    for answers in ANSWERS {
        for (kind, job) in kinds.into_iter().flat_map(|kind| [(kind, 512), (kind, 100_000), (kind, 32 << 20)]) {
            let converted = case.convert(answers, kind, job);
            converted.result.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(converted.target.bytes.take() == disk, "{what}: other bytes, {answers:?}, {kind:?}, {job}");
        }
    }
    let salvaged = Case { salvage: true, ..case.clone() }.convert(Answers::Reverse, Abilities::default(), 65_536);
    assert!(salvaged.result.is_ok() && salvaged.lost.ranges == 0, "{what}: {:?}", salvaged.lost);
    assert!(salvaged.target.bytes.take() == disk, "{what}: other bytes salvaged");
}

#[test]
fn what_qemu_img_makes() {
    let raw = raw_disk();
    for subformat in SUBFORMATS {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| text(&folder.path().join(name)).to_owned();
        std::fs::write(path("disk.raw"), &raw).unwrap();
        let options = format!("subformat={subformat}");
        qemu("qemu-img", &["convert", "-f", "raw", "-O", "vmdk", "-o", &options, &path("disk.raw"), &path("a.vmdk")]);
        assert!(qemu_reads(Path::new(&path("a.vmdk")), Path::new(&path("again.raw"))) == raw, "{subformat}");
        assert_reads(&case_of(folder.path(), "a.vmdk"), &raw, subformat);
    }
}

#[test]
fn zeroed_grains_and_parents() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| text(&folder.path().join(name)).to_owned();
    std::fs::write(path("disk.raw"), raw_disk()).unwrap();
    qemu("qemu-img", &["convert", "-f", "raw", "-O", "vmdk", &path("disk.raw"), &path("base.vmdk")]);
    let create = |backing: &str, name: &str| {
        let args = ["create", "-q", "-f", "vmdk", "-o", "zeroed_grain=on", "-F", "vmdk", "-b"];
        qemu("qemu-img", &[&args[..], &[&path(backing), &path(name)]].concat());
    };
    let write = |name: &str, commands: &[&str]| {
        let commands = commands.iter().flat_map(|command| ["-c", command]);
        let args: Vec<_> = ["-f", "vmdk"].into_iter().chain(commands).collect();
        qemu("qemu-io", &[&args[..], &[&path(name)]].concat());
    };
    create("base.vmdk", "middle.vmdk");
    write("middle.vmdk", &["write -z 0 128k", "write -P 9 200k 100k"]);
    create("middle.vmdk", "top.vmdk");
    write("top.vmdk", &["write -P 3 1M 70000", "write -z 256k 64k"]);
    let disk = qemu_reads(Path::new(&path("top.vmdk")), Path::new(&path("top.raw")));
    let case = case_of(folder.path(), "top.vmdk");
    assert_reads(&case, &disk, "three layers");

    // A parent that was changed later.
    write("middle.vmdk", &["write -P 1 2M 64k"]);
    let error = case_of(folder.path(), "top.vmdk").bytes().unwrap_err();
    assert!(error.kind == Corrupt && error.message().contains("chain is broken"), "{error}");
    // qemu-img reports it, too.
    let mut theirs = std::process::Command::new("qemu-img");
    theirs.args(["convert", "-O", "raw", &path("top.vmdk"), &path("no.raw")]);
    assert!(!theirs.output().unwrap().status.success());

    let missing = Case { companions: Vec::new(), ..case.clone() }.bytes().unwrap_err();
    assert!(missing.kind == MissingFile && missing.message().contains("middle.vmdk"), "{missing}");

    // Found by its identity, with any name.
    let mut renamed = case;
    for (number, (name, _)) in renamed.companions.iter_mut().enumerate() {
        *name = format!("other {number}");
    }
    assert!(renamed.bytes().unwrap() == disk);

    // A qcow2 over a VMDK.
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", "-F", "vmdk", "-b", &path("base.vmdk"), &path("over.qcow2")]);
    let mut over = case_of(folder.path(), "base.vmdk");
    let base = ("base.vmdk".to_owned(), std::mem::replace(&mut over.image, std::fs::read(path("over.qcow2")).unwrap()));
    over.companions.push(base);
    assert!(Case { name: None, ..over }.bytes().unwrap() == raw_disk());
}

/// Grains of `sectors` sectors: data, absent, zero, data; then absent ones; the last one of `last` sectors.
fn some_grains(sectors: usize, count: usize, last: usize) -> Vec<Grain> {
    let mut grains = vec![Grain::Absent; count];
    for (number, grain) in grains.iter_mut().enumerate() {
        *grain = match number {
            _ if number == count - 1 => Grain::Data(pattern(number as u8, last * SECTOR)),
            0 | 3 | 4 => Grain::Data(pattern(number as u8, sectors * SECTOR)),
            2 => Grain::Zero,
            _ => Grain::Absent,
        };
    }
    grains
}

#[test]
fn sparse_files_of_every_shape() {
    let base = Kdmv::default();
    let stream = Kdmv { packing: Packing::Marked, version: 3, ..base.clone() };
    let export = "RDONLY 64 SPARSE \"call-me-stream.vmdk\"\n";
    let other = "RW 1000 SPARSE \"a.vmdk\"\n";
    // (what, file, bytes after it)
    let files = [
        ("plain", base.clone(), 0),
        // As exported by VMware's tools: neither the access nor the name matches this file.
        ("another name", Kdmv { descriptor: Some(descriptor("streamOptimized", export)), ..base.clone() }, 0),
        ("another size", Kdmv { descriptor: Some(descriptor("streamOptimized", other)), ..base.clone() }, 0),
        ("no extent in the descriptor", Kdmv { descriptor: Some(descriptor("custom", "")), ..base.clone() }, 0),
        ("version 2", Kdmv { version: 2, ..base.clone() }, 0),
        ("a last grain that is short", Kdmv { capacity: 61, ..base.clone() }, 0),
        ("grains of 1 sector", Kdmv { grain: 1, ..base.clone() }, 0),
        ("grains of 128 sectors", Kdmv { grain: 128, capacity: 1000, ..base.clone() }, 0),
        // qemu-img refuses more than 512.
        ("1024 entries", Kdmv { table_entries: 1024, grain: 1, capacity: 1500, ..base.clone() }, 0),
        ("1 entry", Kdmv { table_entries: 1, grain: 1, capacity: 4000, ..base.clone() }, 0),
        ("128 entries", Kdmv { table_entries: 128, grain: 1, capacity: 700, ..base.clone() }, 0),
        // qemu-img reads an error: sector 1 holds the descriptor, never a grain.
        ("zeroed grains without the flag", Kdmv { zeroed_flag: false, ..base.clone() }, 0),
        ("redundant", Kdmv { redundant: true, ..base.clone() }, 0),
        ("markers", stream.clone(), 0),
        ("markers and a short last grain", Kdmv { capacity: 61, ..stream.clone() }, 0),
        ("a length before each grain", Kdmv { packing: Packing::Length, ..stream.clone() }, 0),
        ("no markers", Kdmv { packing: Packing::Bare, ..stream.clone() }, 0),
        ("a footer", Kdmv { footer: true, ..stream.clone() }, 0),
        ("a footer, many tables", Kdmv { footer: true, grain: 1, capacity: 2000, ..stream.clone() }, 0),
        // qemu-img refuses any byte after the end.
        ("a footer and padding", Kdmv { footer: true, ..stream.clone() }, 200_000),
        ("a footer and half a sector", Kdmv { footer: true, ..stream }, 100),
    ];
    for (what, file, padding) in files {
        let (count, last) = (file.capacity.div_ceil(file.grain), file.capacity % file.grain);
        let full = file.grain as usize;
        // Of a short last grain, the whole grain or the part within the disk is stored.
        for last in [if last == 0 { full } else { last as usize }, full] {
            let grains = some_grains(full, count as usize, last);
            let mut image = file.build(&grains);
            image.resize(image.len() + padding, 0);
            let case = Case { name: Some("a.vmdk".to_owned()), ..Case::new(image) };
            assert_reads(&case, &disk(file.capacity, file.grain, &grains), what);
        }
    }
}

/// A disk of several extents: the descriptor's lines, and the files.
struct Split<'a> {
    what: &'a str,
    lines: String,
    files: Vec<(&'a str, Vec<u8>)>,
    /// The disk.
    disk: Vec<u8>,
}

fn split_disks() -> Vec<Split<'static>> {
    let bare = Kdmv { descriptor: None, ..Kdmv::default() };
    let grains = some_grains(8, 8, 8);
    let sparse_disk = disk(64, 8, &grains);
    let flat = |seed: u8, sectors: usize| pattern(seed, sectors * SECTOR);
    let zeros = |sectors: usize| vec![0; sectors * SECTOR];
    let one_sector = some_grains(1, 5000, 1);
    let se_grains = some_grains(8, 5000, 8);
    vec![
        Split {
            // qemu-img omits ZERO and RDONLY extents, and shifts later ones.
            what: "ZERO and RDONLY in the middle",
            lines:
                "RW 3 FLAT \"a.bin\" 0\nRW 5 ZERO\nRDONLY 2 FLAT \"b.bin\" 1\nNOACCESS 2 ZERO\nRW 4 FLAT \"a.bin\" 3\n"
                    .to_owned(),
            files: vec![("a.bin", flat(1, 7)), ("b.bin", flat(2, 3))],
            disk: [&flat(1, 7)[..3 * SECTOR], &zeros(5), &flat(2, 3)[SECTOR..], &zeros(2), &flat(1, 7)[3 * SECTOR..]]
                .concat(),
        },
        Split {
            // qemu-img refuses the offset.
            what: "VMFS with offsets",
            lines: "RW 3 VMFS \"a.bin\"\nRW 2 VMFS \"b.bin\" 4\n".to_owned(),
            files: vec![("a.bin", flat(1, 9)), ("b.bin", flat(2, 6))],
            disk: [&flat(1, 9)[..3 * SECTOR], &flat(2, 6)[4 * SECTOR..]].concat(),
        },
        Split {
            what: "names with spaces, quotes and signs",
            lines: "RW 1 FLAT \"a disk \"of\" two.bin\" 0\nRW 1 FLAT \"💾 b=c.bin\" 0 partUUID dev\n".to_owned(),
            files: vec![("a disk \"of\" two.bin", flat(1, 1)), ("💾 b=c.bin", flat(2, 1))],
            disk: [flat(1, 1), flat(2, 1)].concat(),
        },
        Split {
            what: "sparse extents between flat ones",
            lines: "RW 3 FLAT \"a.bin\" 0\nRW 64 SPARSE \"s1.vmdk\"\nRW 5000 VMFSSPARSE \"c.vmdk\"\nRW 1 ZERO\n\
                    RW 40000 SESPARSE \"se.vmdk\"\nRW 61 SPARSE \"s2.vmdk\"\n"
                .to_owned(),
            files: vec![
                ("a.bin", flat(1, 3)),
                ("s1.vmdk", bare.build(&grains)),
                ("c.vmdk", cowd(5000, 1, &one_sector)),
                ("se.vmdk", sesparse(40_000, &se_grains)),
                // Its capacity is rounded up to a grain.
                ("s2.vmdk", bare.build(&grains)),
            ],
            disk: [
                &flat(1, 3)[..],
                &sparse_disk,
                &disk(5000, 1, &one_sector),
                &zeros(1),
                &disk(40_000, 8, &se_grains),
                &sparse_disk[..61 * SECTOR],
            ]
            .concat(),
        },
        Split {
            what: "compressed extents in files of their own",
            lines: "RW 64 SPARSE \"s1.vmdk\"\nRW 64 SPARSE \"s2.vmdk\"\n".to_owned(),
            files: vec![
                ("s1.vmdk", Kdmv { packing: Packing::Marked, ..bare.clone() }.build(&grains)),
                ("s2.vmdk", Kdmv { packing: Packing::Marked, footer: true, ..bare.clone() }.build(&grains)),
            ],
            disk: [&sparse_disk[..], &sparse_disk].concat(),
        },
        Split {
            what: "extents without any length",
            lines: "RW 0 FLAT \"none.bin\" 0\nRW 1 FLAT \"a.bin\" 0\nRW 0 ZERO\n".to_owned(),
            files: vec![("a.bin", flat(1, 1))],
            disk: flat(1, 1),
        },
    ]
}

fn case_of_split(split: &Split, text: &str) -> Case {
    let companions = split.files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.clone())).collect();
    Case { name: Some("a.vmdk".to_owned()), companions, ..Case::new(text.as_bytes().to_vec()) }
}

#[test]
fn disks_of_many_extents() {
    for split in split_disks() {
        for create_type in ["custom", "2GbMaxExtentSparse", "vmfs", "something new"] {
            let text = descriptor(create_type, &split.lines);
            assert!(case_of_split(&split, &text).bytes().unwrap() == split.disk, "{}, {create_type}", split.what);
        }
        let text = descriptor("custom", &split.lines);
        let wrapped = Kdmv { capacity: 0, descriptor: Some(text.clone()), ..Kdmv::default() }.build(&[]);
        let texts: [(&str, Vec<u8>); 6] = [
            ("as it is", text.clone().into_bytes()),
            ("CR LF", text.replace('\n', "\r\n").into_bytes()),
            ("a byte order mark", format!("\u{feff}{text}").into_bytes()),
            ("comments and blank lines first", format!("\n# Made by hand\n \n{}", &text[22..]).into_bytes()),
            ("zeros after it", [text.as_bytes(), &[0; 700]].concat()),
            ("wrapped in a sparse file", wrapped),
        ];
        for (how, image) in texts {
            let case = Case { image, ..case_of_split(&split, &text) };
            assert_reads(&case, &split.disk, &format!("{}, {how}", split.what));
        }
    }
}

#[test]
fn names_in_windows_1252() {
    let text = descriptor("custom", "RW 1 FLAT \"Größe €.bin\" 0\n");
    let bytes: Vec<u8> = text.chars().map(|char| if char == '€' { 0x80 } else { char as u32 as u8 }).collect();
    let companions = vec![("Größe €.bin".to_owned(), pattern(1, SECTOR))];
    assert!(Case { companions, ..Case::new(bytes) }.bytes().unwrap() == pattern(1, SECTOR));
}

/// A descriptor is in the encoding that it states.
#[test]
fn names_in_other_encodings() {
    // (stated encoding, the bytes of the name, the name)
    let cases: &[(&str, &[u8], &str)] = &[
        ("encoding=\"GBK\"", b"\xb4\xc5\xc5\xcc.bin", "磁盘.bin"),
        // The second byte of a character is a backslash.
        ("encoding=\"Shift_JIS\"", b"\x83\x5c.bin", "ソ.bin"),
        ("Encoding = \"Big5\"", b"\xba\xcf\xba\xd0.bin", "磁碟.bin"),
        ("encoding=\"windows-1252\"", b"\xc3\xb6.bin", "Ã¶.bin"),
        ("encoding=\"UTF-8\"", "Größe.bin".as_bytes(), "Größe.bin"),
        // A wrong encoding is ignored.
        ("encoding=\"UTF-8\"", b"Gr\xf6\xdfe.bin", "Größe.bin"),
        ("encoding=\"GBK\"", b"\xff\xfe.bin", "ÿþ.bin"),
        ("encoding=\"nothing known\"", "磁盘.bin".as_bytes(), "磁盘.bin"),
        ("ddb.comment=\"encoding\"", "磁盘.bin".as_bytes(), "磁盘.bin"),
    ];
    for (stated, bytes, name) in cases {
        let text = descriptor("custom", "RW 1 FLAT \"NAME\" 0\n").replace("CID=1", &format!("{stated}\nCID=1"));
        let (before, after) = text.split_once("NAME").unwrap();
        let image = [before.as_bytes(), bytes, after.as_bytes()].concat();
        let companions = vec![((*name).to_owned(), pattern(1, SECTOR))];
        let read = Case { companions, ..Case::new(image) }.bytes();
        assert!(read.is_ok_and(|bytes| bytes == pattern(1, SECTOR)), "{stated}, {name}");
    }
}

#[test]
fn the_redundant_directory_replaces_a_damaged_one() {
    let file = Kdmv { redundant: true, grain: 1, capacity: 1500, ..Kdmv::default() };
    let grains = some_grains(1, 1500, 1);
    let image = file.build(&grains);
    let field = |at: usize| u64::from_le_bytes(image[at..at + 8].try_into().unwrap()) as usize * SECTOR;
    let (redundant, primary) = (field(48), field(56));
    let expected = disk(1500, 1, &grains);
    let beyond = 0x00ff_ffff_u32.to_le_bytes();
    // (what, patches)
    let damages: &[(&str, small::Patch)] = &[
        ("nothing", &[]),
        // qemu-img reads zeros.
        ("an entry of zero", &[(primary, &[0; 4])]),
        ("all entries of zero", &[(primary, &[0; 12])]),
        ("an entry beyond the end", &[(primary + 4, &beyond)]),
        ("a directory beyond the end", &[(56, &(1u64 << 40).to_le_bytes())]),
        ("the redundant one itself", &[(redundant, &[0; 12])]),
        ("the redundant one beyond the end", &[(48, &(1u64 << 40).to_le_bytes())]),
    ];
    for (what, patches) in damages {
        let image = small::changed(image.clone(), patches);
        assert_reads(&Case::new(image), &expected, what);
    }
    let both: small::Patch = &[(primary, &beyond), (redundant, &beyond)];
    let error = Case::new(small::changed(image.clone(), both)).bytes().unwrap_err();
    assert!(error.kind == Corrupt && error.message().contains("a grain table"), "{error}");
}

/// The entries of both tables are compared. The second one counts where the first one has nothing usable.
#[test]
fn the_copies_of_grain_tables_are_compared() {
    let image = Kdmv { redundant: true, ..Kdmv::default() };
    let grains: Vec<_> = (1..=8).map(|seed| Grain::Data(pattern(seed, 8 * SECTOR))).collect();
    let file = image.build(&grains);
    let [redundant, primary] = [TABLES, TABLES + SECTOR + 2048];
    let (copy, table) = (redundant + SECTOR, primary + SECTOR);
    let first = u32::from_le_bytes(file[table..table + 4].try_into().unwrap());
    let beyond = 0x00ff_ffff_u32.to_le_bytes();
    let without = |grain: usize, content: Grain| {
        let mut grains = grains.clone();
        grains[grain] = content;
        disk(64, 8, &grains)
    };
    let whole = disk(64, 8, &grains);
    // (what, patches, the disk, whether the copies differ)
    let rows: &[(&str, small::Patch, &[u8], bool)] = &[
        ("nothing", &[], &whole, false),
        ("an unclean shutdown", &[(72, &[1])], &whole, false),
        ("a first entry of zero, after an unclean shutdown", &[(72, &[1]), (table + 8, &[0; 4])], &whole, true),
        ("a first entry of zero", &[(table + 8, &[0; 4])], &whole, true),
        ("a first table of zeros", &[(table, &[0; 2048])], &whole, true),
        ("a first entry beyond the end", &[(table + 8, &beyond)], &whole, true),
        ("a second entry of zero", &[(copy + 8, &[0; 4])], &whole, true),
        ("a second entry beyond the end", &[(copy + 8, &beyond)], &whole, true),
        ("both entries of zero", &[(table, &[0; 4]), (copy, &[0; 4])], &without(0, Grain::Absent), false),
        ("a first entry of a grain of zeros", &[(table, &1u32.to_le_bytes())], &without(0, Grain::Absent), true),
        ("a second entry of a grain of zeros", &[(copy, &1u32.to_le_bytes())], &whole, true),
        ("a first directory of zeros", &[(primary, &[0; 4])], &whole, true),
        ("a second directory of zeros", &[(redundant, &[0; 4])], &whole, true),
        ("a first table beyond the end", &[(primary, &beyond)], &whole, true),
        ("one table in both directories", &[(redundant, &((table / SECTOR) as u32).to_le_bytes())], &whole, false),
        ("other grains, the first ones count", &[(copy + 4, &first.to_le_bytes())], &whole, true),
    ];
    for (what, patches, expected, differ) in rows {
        let case = Case::new(small::changed(file.clone(), patches));
        for salvage in [false, true] {
            let case = Case { salvage, ..case.clone() };
            let converted = case.convert(Answers::InOrder, Abilities::default(), 1 << 20);
            converted.result.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(*converted.target.bytes.borrow() == **expected, "{what}: other bytes");
            assert_eq!(converted.lost.ranges, 0, "{what}");
            let is_noticed = converted.notices.iter().any(|notice| notice.code == "copies-differ");
            assert_eq!(is_noticed, *differ, "{what}");
        }
    }
    let both: small::Patch = &[(table, &beyond), (copy, &beyond)];
    let error = Case::new(small::changed(file.clone(), both)).bytes().unwrap_err();
    assert!(error.kind == Corrupt && error.message().contains("but a grain is at"), "{error}");
    let source = HeldSource::new(file);
    source.extents();
    let reads = source.reads.take();
    for table in [copy, table] {
        let of_table = reads.iter().filter(|&&(start, len)| (start..start + len).contains(&(table as u64)));
        assert_eq!(of_table.count(), 1, "{reads:?}");
    }
}

#[test]
fn what_info_says() {
    let folder = tempfile::tempdir().unwrap();
    for subformat in SUBFORMATS {
        let path = folder.path().join(format!("{subformat}.vmdk"));
        let options = format!("subformat={subformat}");
        qemu("qemu-img", &["create", "-q", "-f", "vmdk", "-o", &options, text(&path), "10M"]);
        let theirs: serde_json::Value =
            serde_json::from_str(&qemu("qemu-img", &["info", "--output=json", text(&path)])).unwrap();
        let case = case_of(folder.path(), path.file_name().unwrap().to_str().unwrap());
        let info = case.with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap();
        let mut specific = serde_json::to_value(&info.specific).unwrap();
        let mut expected = theirs["format-specific"]["data"].clone();
        // qemu-img reports the image's path if the descriptor is embedded.
        if matches!(subformat, "monolithicSparse" | "streamOptimized") {
            expected["extents"][0].as_object_mut().unwrap().remove("filename");
        } else {
            let name = expected["extents"][0]["filename"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
            expected["extents"][0]["filename"] = name.into();
        }
        assert_eq!(specific.take(), expected, "{subformat}");
        assert_eq!(info.cluster_size, theirs["cluster-size"].as_u64(), "{subformat}");
        assert_eq!(info.compression, (subformat == "streamOptimized").then_some("zlib"));
        assert!(info.needs.is_empty() && info.virtual_size == Some(10 << 20));
    }
}

/// Refused images, and images that need another file: (what, descriptor's lines, kind, a part of the message).
#[test]
fn what_is_refused() {
    let many = "RW 1 ZERO\n".repeat(4097);
    let rows: &[(&str, &str, &str, ErrorKind, &str)] = &[
        ("no extent", "custom", "", Corrupt, "no extent"),
        ("a device", "fullDevice", "RW 10 FLAT \"/dev/sda\" 0\n", Unsupported, "physical disk"),
        ("a part of one", "partitionedDevice", "RW 10 FLAT \"/dev/sda\" 0\n", Unsupported, "physical disk"),
        ("a raw device mapping", "vmfsRawDeviceMap", "RW 10 VMFSRDM \"a-rdm.vmdk\"\n", Unsupported, "physical disk"),
        ("such an extent", "custom", "RW 10 VMFSRAW \"a.vmdk\"\n", Unsupported, "physical disk"),
        ("another type", "custom", "RW 10 MAGIC \"a.vmdk\"\n", Unsupported, "MAGIC"),
        ("no access", "custom", "NOACCESS 10 FLAT \"a.bin\" 0\n", Corrupt, "no access"),
        ("no number", "custom", "RW many FLAT \"a.bin\" 0\n", Corrupt, "line 8 of its descriptor"),
        ("too large a number", "custom", "RW 99999999999999999999 ZERO\n", Corrupt, "line 8"),
        ("too large together", "custom", "RW 9007199254740991 ZERO\n", Corrupt, "line 8"),
        ("no name", "custom", "RW 10 FLAT\n", Corrupt, "line 8"),
        ("an empty name", "custom", "RW 10 FLAT \"\" 0\n", Corrupt, "line 8"),
        ("half a name", "custom", "RW 10 FLAT \"a.bin 0\n", Corrupt, "line 8"),
        ("an offset that is none", "custom", "RW 10 FLAT \"a.bin\" x\n", Corrupt, "line 8"),
        ("another access", "custom", "RX 10 FLAT \"a.bin\" 0\n", Corrupt, "line 8"),
        ("too many", "custom", &many, Limit, "4096 extents"),
        ("a missing file", "custom", "RW 10 FLAT \"dir/b.bin\" 0\n", MissingFile, "'dir/b.bin', the extent"),
        // qemu-img silently pads it with zeros.
        (
            "a file that is too short",
            "custom",
            "RW 10 FLAT \"a.bin\" 0\n",
            Corrupt,
            "ends at byte 1536, but the end of the extent is at byte 5120",
        ),
        ("an offset after its end", "custom", "RW 1 FLAT \"a.bin\" 7\n", Corrupt, "end of the extent is at byte 4096"),
        ("a sparse extent that is none", "custom", "RW 10 SPARSE \"a.bin\"\n", Corrupt, "In 'a.bin'"),
        ("a sparse extent that is too short", "custom", "RW 80 SPARSE \"s.vmdk\"\n", Corrupt, "32768 bytes"),
        ("a sparse extent that is too long", "custom", "RW 50 SPARSE \"s.vmdk\"\n", Corrupt, "32768 bytes"),
    ];
    let sparse = Kdmv { descriptor: None, ..Kdmv::default() }.build(&some_grains(8, 8, 8));
    for (what, create_type, lines, kind, part) in rows {
        let image = descriptor(create_type, lines).into_bytes();
        let companions = vec![("a.bin".to_owned(), pattern(1, 3 * SECTOR)), ("s.vmdk".to_owned(), sparse.clone())];
        let error = Case { companions, ..Case::new(image) }.bytes().err().unwrap_or_else(|| panic!("{what} is read"));
        assert_eq!(error.kind, *kind, "{what}: {error}");
        assert!(error.message().contains(part), "{what}: {error}");
    }
    let bare = [("KDMV", sparse), ("COWD", cowd(8, 1, &[])), ("SESparse", sesparse(8, &[]))];
    for (what, image) in bare {
        let error = Case::new(image).bytes().unwrap_err();
        assert!(error.kind == MissingFile && error.message().contains("open the descriptor"), "{what}: {error}");
        // The name of the missing file is unknown.
        assert_eq!(error.code, "descriptor-missing", "{what}");
        assert_eq!(error.fields.iter().count(), 0, "{what}");
    }
}

/// A descriptor may name a file on many lines. Its header, and its footer after much padding, are read once.
#[test]
fn a_file_of_many_extents_is_read_once() {
    const LINES: usize = 4000;
    let kdmv = Kdmv { packing: Packing::Marked, footer: true, ..Kdmv::default() };
    let mut extent = kdmv.build(&few_grains());
    extent.resize(extent.len() + (8 << 20), 0);
    let len = extent.len() as u64;
    let text = descriptor("custom", &"RW 64 SPARSE \"s.vmdk\"\n".repeat(LINES));
    let source = HeldSource::new(text.into_bytes());
    let file = source.companion(extent);
    let companion = Companion { source: file.clone(), name: "s.vmdk".to_owned(), stands_for: None, is_image: false };
    let options = OpenOptions { companions: vec![companion], ..OpenOptions::default() };
    let reading = source.clone();
    let work = async move { Image::open(reading, &options).await.unwrap().virtual_size() };
    assert_eq!(drive(&source, Answers::InOrder, work), Some((LINES * 64 * SECTOR) as u64));
    let reads = file.reads.borrow();
    let bytes = reads.iter().map(|(_, len)| len).sum::<u64>();
    assert!(reads.len() <= 200 && bytes <= len + (1 << 20), "{} reads of {bytes} bytes, of {len}", reads.len());
}
