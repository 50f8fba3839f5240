//! Virtual machines in archives: their configurations decide which files are disks. `crate/src/open/machine/` has the tests of the
//! configurations.

use crate::common::small::{CLUSTER, DATA, changed, overlay, small, small_disk};
use crate::common::vmdk::SECTOR;
use crate::common::zip::{Entry, Zip};
use crate::common::*;
use crate::tar::{archive, member, summed};
use decant::error::fields::{Field, Fields};
use decant::io::target::Abilities;
use decant::open::disk_choice::DiskChoice;
use decant::{Error, ErrorKind};
use decant_text::folded;

fn zip(entries: &[Entry]) -> Vec<u8> {
    Zip::default().made_of(entries).0
}

/// Converts the disk `raw` with qemu-img.
fn qemu_converts(raw: &[u8], format: &str, options: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("raw"), folder.path().join("image"));
    std::fs::write(&from, raw).unwrap();
    qemu("qemu-img", &["convert", "-f", "raw", "-O", format, "-o", options, text(&from), text(&to)]);
    std::fs::read(&to).unwrap()
}

type Files<'a> = Vec<(&'a str, Vec<u8>)>;

/// An image whose disk begins with `byte`.
fn image(byte: u8) -> Vec<u8> {
    changed(small(), &[(DATA, &[byte; CLUSTER])])
}

fn disk(byte: u8) -> Vec<u8> {
    let mut disk = small_disk();
    disk[..CLUSTER].fill(byte);
    disk
}

fn tar_of(files: &Files<'_>) -> Vec<u8> {
    archive(&files.iter().map(|(name, bytes)| member(name, b'0', bytes)).collect::<Vec<_>>())
}

/// The same files in every kind of archive that is read at any position.
fn archives(files: &Files<'_>) -> Vec<(&'static str, Vec<u8>)> {
    let entries =
        |entry: fn(&str, &[u8]) -> Entry| files.iter().map(|(name, bytes)| entry(name, bytes)).collect::<Vec<_>>();
    let tar = tar_of(files);
    vec![
        ("zip", zip(&entries(Entry::stored))),
        ("a tar in a tar", archive(&[member("outer/vm.tar", b'0', &tar)])),
        ("a tar in a zip", zip(&[Entry::stored("vm.tar", &tar)])),
        ("tar", tar),
    ]
}

fn vmx(lines: &str) -> Vec<u8> {
    format!(".encoding = \"UTF-8\"\nconfig.version = \"8\"\ndisplayName = \"A machine\"\n{lines}").into_bytes()
}

/// A `.vbox` whose current disks, and those of a snapshot, are at these paths.
fn vbox(current: &[&str], snapshot: &[&str]) -> Vec<u8> {
    let all = || current.iter().chain(snapshot);
    let media: String = all().map(|path| format!("<HardDisk uuid='{{{path}}}' location='{path}'/>")).collect();
    let attached = |paths: &[&str]| -> String {
        paths
            .iter()
            .map(|path| format!("<AttachedDevice type='HardDisk'><Image uuid='{{{path}}}'/></AttachedDevice>"))
            .collect()
    };
    format!(
        "<?xml version='1.0'?><VirtualBox version='1'><Machine name='A machine'>{media}<Snapshot uuid='{{s}}' name='Before'>{}</Snapshot>{}</Machine></VirtualBox>",
        attached(snapshot),
        attached(current)
    )
    .into_bytes()
}

/// A `.vbox` whose registry lacks the disk at `path`.
fn unregistered(vbox: Vec<u8>, path: &str) -> Vec<u8> {
    let medium = format!("<HardDisk uuid='{{{path}}}' location='{path}'/>");
    String::from_utf8(vbox).unwrap().replace(&medium, "").into_bytes()
}

/// An OVF descriptor with `disks`: the ID, the path, and other attributes of the `Disk` element.
fn ovf(disks: &[(&str, &str, &str)]) -> Vec<u8> {
    let files: String = disks.iter().map(|(id, path, _)| format!("<File ovf:id='{id}' ovf:href='{path}'/>")).collect();
    let disks: String =
        disks.iter().map(|(id, _, other)| format!("<Disk ovf:diskId='d{id}' ovf:fileRef='{id}' {other}/>")).collect();
    format!("<Envelope>{files}{disks}<VirtualSystem ovf:id='A machine'/></Envelope>").into_bytes()
}

/// The names of the disks that the error lists; the missing ones have a mark.
fn listed(error: &Error) -> Vec<String> {
    let Some(Field::List(disks)) = error.fields.get("disks") else { panic!("{error}: no list") };
    let name = |disk: &Fields| match (disk.get("name"), disk.get("missing")) {
        (Some(Field::Text(name)), None) => name.clone(),
        (Some(Field::Text(name)), Some(Field::Flag(true))) => format!("{name} (missing)"),
        _ => panic!("{error}: no name"),
    };
    disks.iter().map(name).collect()
}

/// What of a machine is read: the bytes of the disk, or the disks to choose from.
#[derive(Debug, PartialEq)]
enum Read {
    Disk(Vec<u8>),
    Disks(&'static [&'static str]),
    Missing(&'static str),
}

fn named(name: &str) -> Option<DiskChoice> {
    Some(DiskChoice::Name(name.to_owned()))
}

#[test]
fn the_disks_that_a_configuration_names() {
    use Read::{Disk, Disks, Missing};
    let over_base = Case {
        companions: vec![("base.qcow2".to_owned(), image(1))],
        ..Case::new(overlay("base.qcow2", Some("qcow2")))
    };
    let over_base = over_base.bytes().unwrap();
    let current = |path: &str| vmx(&format!("scsi0:0.fileName = \"{path}\"\n"));
    let chain = || vec![("vm/base.qcow2", image(1)), ("vm/base-000001.qcow2", overlay("base.qcow2", Some("qcow2")))];
    let with = |config: &'static str, text: Vec<u8>, files: Files<'static>| [files, vec![(config, text)]].concat();
    let two = || vec![("vm/a.qcow2", image(1)), ("vm/b.qcow2", image(2)), ("vm/left.qcow2", image(3))];
    // (what, files, choice, expected)
    let rows: Vec<(&str, Files<'_>, Option<DiskChoice>, Read)> = vec![
        ("VMware: a left-over layer", with("vm/vm.vmx", current("base.qcow2"), chain()), None, Disk(disk(1))),
        (
            "VMware: a snapshot's layer",
            with("vm/vm.vmx", current("base-000001.qcow2"), chain()),
            None,
            Disk(over_base.clone()),
        ),
        ("VirtualBox: a left-over layer", with("vm/vm.vbox", vbox(&["base.qcow2"], &[]), chain()), None, Disk(disk(1))),
        ("OVF: a left-over layer", with("vm/vm.ovf", ovf(&[("1", "base.qcow2", "")]), chain()), None, Disk(disk(1))),
        ("no configuration", chain(), None, Disk(over_base.clone())),
        (
            "OVF: another folder and case",
            with("vm/vm.ovf", ovf(&[("1", "disks/BASE.qcow2", "")]), chain()),
            None,
            Disk(disk(1)),
        ),
        (
            "OVF: a missing file with the name of another disk",
            vec![("vm.ovf", ovf(&[("1", "x/a.qcow2", ""), ("2", "y/a.qcow2", "")])), ("x/a.qcow2", image(1))],
            None,
            Missing("y/a.qcow2"),
        ),
        (
            "OVF: a disk of an unknown file",
            vec![
                ("vm.ovf", [ovf(&[("1", "a.qcow2", "")]), b"<Disk ovf:fileRef='9'/>".to_vec()].concat()),
                ("a.qcow2", image(1)),
            ],
            None,
            Missing("9"),
        ),
        (
            "VirtualBox: a disk that is not registered",
            with("vm/vm.vbox", unregistered(vbox(&["a.qcow2", "b.qcow2"], &[]), "b.qcow2"), two()),
            None,
            Disks(&["vm/a.qcow2", "{b.qcow2} (missing)"]),
        ),
        (
            "VirtualBox: no disk is registered",
            with("vm/vm.vbox", unregistered(vbox(&["a.qcow2"], &[]), "a.qcow2"), vec![("vm/b.qcow2", image(2))]),
            None,
            Disk(disk(2)),
        ),
        (
            "an absolute path",
            with("vm/vm.vmx", current("/vmfs/volumes/1/other/BASE.qcow2"), chain()),
            None,
            Disk(disk(1)),
        ),
        (
            "a path in another folder",
            with("config/vm.vbox", vbox(&["..\\vm\\base.qcow2"], &[]), chain()),
            None,
            Disk(disk(1)),
        ),
        ("an upper-case suffix", with("vm/VM.VMX", current("base.qcow2"), chain()), None, Disk(disk(1))),
        (
            "the order",
            with("vm/vm.vmx", vmx("scsi0:1.fileName = \"b.qcow2\"\nscsi0:0.fileName = \"a.qcow2\""), two()),
            None,
            Disks(&["vm/b.qcow2", "vm/a.qcow2"]),
        ),
        (
            "the second",
            with("vm/vm.vmx", vmx("scsi0:1.fileName = \"b.qcow2\"\nscsi0:0.fileName = \"a.qcow2\""), two()),
            Some(DiskChoice::Number(2)),
            Disk(disk(1)),
        ),
        (
            "a file that it does not name",
            with("vm/vm.vmx", current("a.qcow2"), two()),
            named("left.qcow2"),
            Disk(disk(3)),
        ),
        ("one of several files", with("vm/vm.vmx", current("b.qcow2"), two()), None, Disk(disk(2))),
        (
            "a missing one keeps its number",
            with("vm/vm.vbox", vbox(&["gone.vdi", "b.qcow2"], &[]), two()),
            None,
            Disks(&["gone.vdi (missing)", "vm/b.qcow2"]),
        ),
        (
            "the other",
            with("vm/vm.vbox", vbox(&["gone.vdi", "b.qcow2"], &[]), two()),
            Some(DiskChoice::Number(2)),
            Disk(disk(2)),
        ),
        (
            "the missing one",
            with("vm/vm.vbox", vbox(&["gone.vdi", "b.qcow2"], &[]), two()),
            Some(DiskChoice::Number(1)),
            Missing("gone.vdi"),
        ),
        ("none is there", with("vm/vm.vmx", current("gone.vmdk"), two()), None, Missing("gone.vmdk")),
        (
            "none is there, another is chosen",
            with("vm/vm.vmx", current("gone.vmdk"), two()),
            named("vm/a.qcow2"),
            Disk(disk(1)),
        ),
        ("no disks", with("vm/vm.vmx", vmx(""), vec![("vm/a.qcow2", image(1))]), None, Disk(disk(1))),
        (
            "a damaged configuration",
            with("vm/vm.vbox", b"<VirtualBox ".to_vec(), vec![("vm/a.qcow2", image(1))]),
            None,
            Disk(disk(1)),
        ),
        (
            "two machines",
            vec![
                ("one/a.qcow2", image(1)),
                ("one/left.qcow2", image(5)),
                ("one/vm.vmx", current("a.qcow2")),
                ("two/a.qcow2", image(2)),
                ("two/vm.vbox", vbox(&["a.qcow2"], &[])),
            ],
            None,
            Disks(&["one/a.qcow2", "two/a.qcow2"]),
        ),
        (
            "two machines, their disks by the last part of absolute paths",
            vec![
                ("one/a.qcow2", image(1)),
                ("one/vm.vmx", current("/vmfs/one/a.qcow2")),
                ("two/a.qcow2", image(2)),
                ("two/vm.vmx", current("/vmfs/two/A.qcow2")),
            ],
            None,
            Disks(&["one/a.qcow2", "two/a.qcow2"]),
        ),
        (
            "two machines, the first without its disk",
            vec![
                ("one/vm.vmx", current("a.qcow2")),
                ("two/a.qcow2", image(2)),
                ("two/vm.vbox", vbox(&["a.qcow2"], &[])),
            ],
            None,
            Disks(&["a.qcow2 (missing)", "two/a.qcow2"]),
        ),
        (
            "GBK",
            with(
                "vm/vm.vmx",
                [&b".encoding = \"GBK\"\nconfig.version = \"8\"\nscsi0:0.fileName = \"\xb4\xc5\xc5\xcc.qcow2\""[..]]
                    .concat(),
                vec![("vm/磁盘.qcow2", image(4)), ("vm/left.qcow2", image(3))],
            ),
            None,
            Disk(disk(4)),
        ),
    ];
    for (what, files, choice, expected) in rows {
        let is_configuration = |(name, _): &&(&str, Vec<u8>)| folded(name).ends_with(".vmx") || name.ends_with(".vbox");
        let are_several = files.iter().filter(is_configuration).count() > 1;
        for (kind, packed) in archives(&files) {
            let found = (Case { disk: choice.clone(), ..Case::new(packed) }).bytes();
            match &expected {
                Disk(bytes) => assert!(found.as_ref() == Ok(bytes), "{what}, {kind}: {:?}", found.err()),
                Disks(names) => {
                    let error = found.unwrap_err();
                    assert_eq!(
                        (error.kind, &*error.code),
                        (ErrorKind::Usage, "several-images"),
                        "{what}, {kind}: {error}"
                    );
                    assert_eq!(listed(&error), *names, "{what}, {kind}");
                    let has = |field| error.fields.get(field).is_some();
                    assert_eq!((has("machine"), has("machines")), (!are_several, are_several), "{what}, {kind}");
                }
                Missing(name) => {
                    let error = found.unwrap_err();
                    assert_eq!(
                        (error.kind, &*error.code),
                        (ErrorKind::MissingFile, "missing-file"),
                        "{what}, {kind}: {error}"
                    );
                    assert_eq!(error.fields.get("file"), Some(&Field::Text((*name).to_owned())), "{what}, {kind}");
                }
            }
        }
    }
}

/// The files of a machine whose names in the archive are in another encoding: that of the configuration, as zip archives of Windows have
/// them, and as tar keeps them.
#[test]
fn names_in_other_encodings() {
    // (what, stated encoding, bytes of the name of the disk)
    let rows: [(&str, &str, &[u8]); 5] = [
        ("Chinese", "GBK", b"\xb4\xc5\xc5\xcc.vmdk"),
        ("Japanese", "Shift_JIS", b"\x83\x66\x83\x42\x83\x58\x83\x4e.vmdk"),
        ("Korean", "windows-949", b"\xb5\xf0\xbd\xba\xc5\xa9.vmdk"),
        ("Russian", "windows-1251", b"\xe4\xe8\xf1\xea.vmdk"),
        ("German", "windows-1252", b"Gr\xf6\xdfe.vmdk"),
    ];
    let flat = disk(4);
    for (what, encoding, name) in rows {
        let extent = [&name[..name.len() - 5], b"-flat.vmdk"].concat();
        let sectors = flat.len() / 512;
        let start = format!(
            "# Disk DescriptorFile\nversion=1\nencoding=\"{encoding}\"\nCID=fffffffe\nparentCID=ffffffff\n\
             createType=\"monolithicFlat\"\nRW {sectors} FLAT \""
        );
        let descriptor = [start.as_bytes(), &extent, b"\" 0\n"].concat();
        let start = format!(".encoding = \"{encoding}\"\nconfig.version = \"8\"\nscsi0:0.fileName = \"");
        let configuration = [start.as_bytes(), name, b"\""].concat();
        let files: [(&[u8], &[u8]); 4] =
            [(b"vm.vmx", &configuration), (name, &descriptor), (&extent, &flat), (b"left.qcow2", &image(3))];
        let entry = |&(name, bytes): &(&[u8], &[u8])| Entry { name: name.to_vec(), ..Entry::stored("", bytes) };
        let tarred = |&(name, bytes): &(&[u8], &[u8])| {
            let mut tarred = member("", b'0', bytes);
            tarred[..name.len()].copy_from_slice(name);
            let header = summed(tarred[..512].to_vec());
            tarred[..512].copy_from_slice(&header);
            tarred
        };
        let packed = [
            ("zip", zip(&files.iter().map(entry).collect::<Vec<_>>())),
            ("tar", archive(&files.iter().map(tarred).collect::<Vec<_>>())),
        ];
        for (kind, packed) in packed {
            let found = Case::new(packed).bytes();
            assert!(found.as_ref() == Ok(&flat), "{what}, {kind}: {:?}", found.err());
        }
    }
}

#[test]
fn the_states_of_a_machine() {
    let vmsd =
        b"snapshot0.uid = \"3\"\nsnapshot0.displayName = \"Before\"\nsnapshot0.disk0.fileName = \"base.qcow2\"\n"
            .to_vec();
    let chain = [("vm/base.qcow2", image(1)), ("vm/now.qcow2", overlay("base.qcow2", Some("qcow2")))];
    let of_vmware =
        [&chain[..], &[("vm/vm.vmx", vmx("scsi0:0.fileName = \"now.qcow2\"")), ("vm/vm.vmsd", vmsd)]].concat();
    let of_virtual_box = [&chain[..], &[("vm/vm.vbox", vbox(&["now.qcow2"], &["base.qcow2"]))]].concat();
    for (what, files, id) in [("VMware", of_vmware, "3"), ("VirtualBox", of_virtual_box, "{s}")] {
        for (kind, packed) in archives(&files) {
            let case = |snapshot: &str| Case { snapshot: Some(snapshot.to_owned()), ..Case::new(packed.clone()) };
            for snapshot in [id, "Before"] {
                assert!(case(snapshot).bytes() == Ok(disk(1)), "{what}, {kind}: {snapshot}");
            }
            let info = Case::new(packed.clone()).info().unwrap();
            assert_eq!(info.machine.as_deref(), Some("A machine"), "{what}, {kind}");
            let snapshots: Vec<_> = info.snapshots.iter().map(|snapshot| (&*snapshot.id, &*snapshot.name)).collect();
            assert_eq!(snapshots, [(id, "Before")], "{what}, {kind}");
            let error = case("After").bytes().unwrap_err();
            assert_eq!(error.kind, ErrorKind::Usage, "{what}, {kind}: {error}");
            assert!(error.message().contains("no snapshot 'After'"), "{what}, {kind}: {error}");
        }
    }
}

/// Delta disks: what the file of a disk lacks is that of its parent.
#[test]
fn parents_that_a_descriptor_states() {
    let sparse = |byte: u8, start: usize, len: usize| {
        let mut raw = vec![0; 1 << 20];
        raw[start..start + len].fill(byte);
        raw
    };
    let (base, delta, last) = (sparse(1, 0, 300_000), sparse(2, 131_072, 65_536), sparse(3, 458_752, 65_536));
    let vmdk = |raw: &[u8]| qemu_converts(raw, "vmdk", "subformat=streamOptimized");
    let over = |below: &[u8], above: &[u8], start: usize| {
        let mut both = below.to_vec();
        both[start..start + 65_536].copy_from_slice(&above[start..start + 65_536]);
        both
    };
    let of_two = over(&base, &delta, 131_072);
    let of_three = over(&of_two, &last, 458_752);
    let files = |text: Vec<u8>| {
        vec![
            ("vm/vm.ovf", text),
            ("vm/base.vmdk", vmdk(&base)),
            ("vm/a%20delta.vmdk", vmdk(&delta)),
            ("vm/last.vmdk", vmdk(&last)),
        ]
    };
    let two = [("1", "base.vmdk", ""), ("2", "a%20delta.vmdk", "ovf:parentRef='d1'")];
    let three = [two[0], two[1], ("3", "last.vmdk", "ovf:parentRef='d2'")];
    let empty = [("1", "base.vmdk", "ovf:parentRef=''")];
    let unknown = [("2", "a%20delta.vmdk", "ovf:parentRef='d1'")];
    let elsewhere = [("1", "disks/BASE.vmdk", ""), ("2", "A%20delta.vmdk", "ovf:parentRef='d1'")];
    // (what, disks, choice, the disk or the missing file)
    type Row<'a> = (&'a str, &'a [(&'a str, &'a str, &'a str)], Option<DiskChoice>, Result<&'a [u8], &'a str>);
    let rows: &[Row<'_>] = &[
        ("one parent", &two, named("a%20delta.vmdk"), Ok(&of_two)),
        ("two parents", &three, named("last.vmdk"), Ok(&of_three)),
        ("other folders and cases", &elsewhere, named("a%20delta.vmdk"), Ok(&of_two)),
        ("the base", &two, named("base.vmdk"), Ok(&base)),
        ("an empty parent", &empty, named("base.vmdk"), Ok(&base)),
        ("an unknown parent", &unknown, named("a%20delta.vmdk"), Err("d1")),
    ];
    for (what, disks, choice, expected) in rows {
        for (kind, packed) in archives(&files(ovf(disks))) {
            let found = Case { disk: choice.clone(), ..Case::new(packed) }.bytes();
            match expected {
                Ok(bytes) => assert!(found.as_deref() == Ok(*bytes), "{what}, {kind}: {:?}", found.err()),
                Err(file) => {
                    let error = found.unwrap_err();
                    assert_eq!(
                        (error.kind, error.fields.get("file")),
                        (ErrorKind::MissingFile, Some(&Field::Text((*file).to_owned()))),
                        "{what}, {kind}: {error}"
                    );
                }
            }
        }
    }
    // Without a choice: the parents do not count as disks of the machine.
    let only = vec![("vm.ovf", ovf(&two)), ("base.vmdk", vmdk(&base)), ("a%20delta.vmdk", vmdk(&delta))];
    for (kind, packed) in archives(&only) {
        assert!(Case::new(packed).bytes().as_deref() == Ok(&of_two[..]), "{kind}");
    }
    let circle = ovf(&[("1", "base.vmdk", "ovf:parentRef='d2'"), ("2", "a%20delta.vmdk", "ovf:parentRef='d1'")]);
    let circle = [&circle[..], b"<HostResource>ovf:/disk/d2</HostResource>"].concat();
    for (kind, packed) in archives(&files(circle)) {
        let error = Case { disk: named("a%20delta.vmdk"), ..Case::new(packed) }.bytes().unwrap_err();
        assert_eq!(error.kind, ErrorKind::Corrupt, "{kind}: {error}");
    }
}

/// A parent is read in the format that the descriptor states, else in that of its content; one that is compressed is refused.
#[test]
fn the_formats_of_stated_parents() {
    const RAW: &str = "ovf:format='http://example.com/raw'";
    let delta =
        qemu_converts(&[&[0; 131_072][..], &[2; 65_536], &[0; 851_968]].concat(), "vmdk", "subformat=streamOptimized");
    let over = |below: &[u8]| {
        let mut both = below.to_vec();
        both.resize(1 << 20, 0);
        both[131_072..196_608].fill(2);
        both
    };
    let base = vec![1; 1 << 20];
    let mut like_qcow2 = small();
    like_qcow2.resize(1 << 20, 0);
    let vmdk = qemu_converts(&base, "vmdk", "subformat=streamOptimized");
    let vhd = qemu_converts(&base[..1 << 19], "vpc", "subformat=fixed,force_size=on");
    // (what, the parent, its attributes, the disk, or the code of the error)
    type Row<'a> = (&'a str, Vec<u8>, &'a str, Result<Vec<u8>, &'a str>);
    let rows: Vec<Row<'_>> = vec![
        ("VMDK", vmdk.clone(), "", Ok(over(&base))),
        ("raw that begins as a qcow2", like_qcow2.clone(), RAW, Ok(over(&like_qcow2))),
        ("a smaller fixed VHD", vhd, "", Ok(over(&base[..1 << 19]))),
        ("gzip", filter("gzip", &["-cn"], &vmdk), "", Err("not-in-order")),
        ("xz", filter("xz", &["-c"], &vmdk), "", Err("not-in-order")),
    ];
    for (what, parent, attributes, expected) in rows {
        let descriptor = ovf(&[("1", "base", attributes), ("2", "delta.vmdk", "ovf:parentRef='d1'")]);
        for (kind, packed) in archives(&vec![("vm.ovf", descriptor), ("base", parent), ("delta.vmdk", delta.clone())]) {
            let found = Case::new(packed).bytes().map_err(|error| error.code.to_string());
            assert!(found == expected.clone().map_err(str::to_owned), "{what}, {kind}: {:?}", found.err());
        }
    }
}

/// A package with several disks lists the one that it lacks, which cannot be chosen.
#[test]
fn a_disk_that_a_package_lacks() {
    let disks = [("1", "a.qcow2", ""), ("2", "b.qcow2", ""), ("3", "c.qcow2", "")];
    let files = vec![("vm.ovf", ovf(&disks)), ("a.qcow2", image(1)), ("c.qcow2", image(3))];
    for (kind, packed) in archives(&files) {
        let error = Case::new(packed.clone()).bytes().unwrap_err();
        assert_eq!(listed(&error), ["a.qcow2", "b.qcow2 (missing)", "c.qcow2"], "{kind}");
        for (number, expected) in [(1, Ok(disk(1))), (2, Err(ErrorKind::MissingFile)), (3, Ok(disk(3)))] {
            let case = Case { disk: Some(DiskChoice::Number(number)), ..Case::new(packed.clone()) };
            assert!(case.bytes().map_err(|error| error.kind) == expected, "{kind}, {number}");
        }
    }
}

/// Two machines with the same names: the extent of one is none of the other.
#[test]
fn a_missing_extent_with_a_namesake() {
    let descriptor = format!(
        "# Disk DescriptorFile\nversion=1\nCID=12345678\nparentCID=ffffffff\ncreateType=\"monolithicFlat\"\n\
         RW {} FLAT \"disk-flat.vmdk\" 0\n",
        small_disk().len() / SECTOR
    );
    let descriptor = descriptor.into_bytes();
    let (one, two) = (("one/disk.vmdk", descriptor.clone()), ("two/disk.vmdk", descriptor));
    let (extent, elsewhere) = (("two/disk-flat.vmdk", disk(2)), ("extents/disk-flat.vmdk", disk(3)));
    let missing = Err(ErrorKind::MissingFile);
    // (files, disk, expected)
    for (files, chosen, expected) in [
        (vec![one.clone(), two.clone(), extent.clone()], "one/disk.vmdk", missing.clone()),
        (vec![one.clone(), two, extent], "two/disk.vmdk", Ok(disk(2))),
        (vec![one, elsewhere], "one/disk.vmdk", Ok(disk(3))),
    ] {
        for (kind, packed) in archives(&files) {
            let found = Case { disk: named(chosen), ..Case::new(packed) }.bytes();
            assert!(found.map_err(|error| error.kind) == expected, "{chosen}, {kind}");
        }
    }
}

#[test]
fn many_long_configurations() {
    let long = vmx(&"# A comment\n".repeat(80_000));
    let entry = |number: usize| Entry::deflated(&format!("{number}/vm.vmx"), &long);
    let files = |count: usize| (0..count).map(entry).chain([Entry::stored("0/a.qcow2", &image(1))]).collect::<Vec<_>>();
    let read = |count: usize| Case::new(zip(&files(count))).bytes();
    assert!(read(2) == Ok(disk(1)));
    assert_eq!(read(20).map_err(|error| error.kind), Err(ErrorKind::Limit));
}

/// Compressed pieces must be unpacked together.
#[test]
fn a_disk_in_compressed_pieces() {
    let raw: Vec<u8> = (0..9 << 20).map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let pieces: Vec<_> = raw.chunks(4 << 20).enumerate().collect();
    let entries = |entry: fn(&str, &[u8]) -> Entry| {
        let descriptor = Entry::stored("vm.ovf", &ovf(&[("1", "a.img", "ovf:format='raw'")]));
        let pieces = pieces.iter().map(|&(at, piece)| entry(&format!("a.img.{at:09}"), piece));
        zip(&std::iter::once(descriptor).chain(pieces).collect::<Vec<_>>())
    };
    assert!(Case::new(entries(Entry::stored)).bytes() == Ok(raw.clone()));
    let error = Case::new(entries(Entry::deflated)).bytes().unwrap_err();
    assert_eq!(&*error.code, "needs-spool", "{error}");
}

/// A disk that a descriptor names is a disk, whatever it looks like.
#[test]
fn disks_in_other_formats() {
    let raw = vec![0x5a; 70_000 / 512 * 512];
    let raw_uri = "ovf:format='http://example.com/formats#raw'";
    let both = ovf(&[("1", "a.qcow2", ""), ("2", "b.bin", "")]);
    let files = |text: &[u8]| {
        vec![
            ("m.ovf", text.to_vec()),
            ("a.qcow2", image(1)),
            ("b.bin", raw.clone()),
            ("c.bin", vec![7; 512]),
            ("notes", b"text".to_vec()),
        ]
    };
    for (kind, packed) in archives(&files(&both)) {
        let error = Case::new(packed.clone()).bytes().unwrap_err();
        assert_eq!(listed(&error), ["a.qcow2", "b.bin"], "{kind}");
        assert!(Case { disk: Some(DiskChoice::Number(2)), ..Case::new(packed) }.bytes() == Ok(raw.clone()), "{kind}");
    }
    for (kind, packed) in archives(&files(&ovf(&[("2", "b.bin", ""), ("3", "c.bin", "")]))) {
        let error = Case::new(packed.clone()).bytes().unwrap_err();
        assert_eq!(listed(&error), ["b.bin", "c.bin", "a.qcow2"], "{kind}");
        assert!(Case { disk: Some(DiskChoice::Number(1)), ..Case::new(packed) }.bytes() == Ok(raw.clone()), "{kind}");
    }
    // The stated format wins over what the guest may have written.
    let image = image(1);
    for (kind, packed) in
        archives(&vec![("m.ovf", ovf(&[("1", "a", raw_uri)])), ("a", image.clone()), ("notes", b"text".to_vec())])
    {
        let case = Case::new(packed);
        assert!(
            case.bytes() == Ok([&image[..], &vec![0; image.len().next_multiple_of(512) - image.len()]].concat()),
            "{kind}"
        );
        let info = case.info().unwrap();
        assert!(info.format == "raw" && info.safety.iter().any(|notice| notice.code == "packed-as-raw"), "{kind}");
    }
}

#[test]
fn encrypted_machines() {
    let key = "<Property name='CRYPT/KeyId' value='a'/>";
    let text = String::from_utf8(vbox(&["a.qcow2", "b.qcow2"], &[])).unwrap();
    let text = text.replacen("location='a.qcow2'/>", &format!("location='a.qcow2'>{key}</HardDisk>"), 1);
    let files = vec![("vm.vbox", text.into_bytes()), ("a.qcow2", image(1)), ("b.qcow2", image(2))];
    for (kind, packed) in archives(&files) {
        let chosen = |number| Case { disk: Some(DiskChoice::Number(number)), ..Case::new(packed.clone()) }.bytes();
        let error = chosen(1).unwrap_err();
        assert_eq!((error.kind, &*error.code), (ErrorKind::Unsupported, "encrypted"), "{kind}: {error}");
        assert!(chosen(2) == Ok(disk(2)), "{kind}");
    }
    let hidden = vec![("vm.vmx", vmx("encryption.keySafe = \"vmware:key/list/(a)\"")), ("a.qcow2", image(1))];
    for (kind, packed) in archives(&hidden) {
        let error = Case::new(packed).bytes().unwrap_err();
        assert_eq!((error.kind, &*error.code), (ErrorKind::Unsupported, "encrypted"), "{kind}: {error}");
    }
}

/// Loose files: the configuration is opened, and its disk is found among the companions.
#[test]
fn loose_files() {
    let case = |config: &str, text: Vec<u8>, files: &Files<'_>, disk: Option<DiskChoice>| Case {
        name: Some(config.to_owned()),
        companions: files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.clone())).collect(),
        disk,
        ..Case::new(text)
    };
    let two = vec![("vm/a.qcow2", image(1)), ("vm/b.qcow2", image(2))];
    let of_two = vmx("scsi0:0.fileName = \"a.qcow2\"\nscsi0:1.fileName = \"b.qcow2\"");
    for (choice, expected) in [
        (Some(DiskChoice::Number(1)), Ok(disk(1))),
        (named("b.qcow2"), Ok(disk(2))),
        (None, Err("several-images")),
        (Some(DiskChoice::Number(3)), Err("no-such-disk")),
        (named("c.qcow2"), Err("no-such-disk")),
    ] {
        let found = case("vm/vm.vmx", of_two.clone(), &two, choice.clone()).bytes();
        assert!(
            found.as_ref().map_err(|error| &*error.code) == expected.as_ref().map_err(|code| *code),
            "{choice:?}: {found:?}"
        );
    }
    let bare = qemu_converts(&vec![0; small_disk().len()], "qcow2", "cluster_size=4096");
    let over = ovf(&[("1", "base.qcow2", ""), ("2", "delta.qcow2", "parentRef='d1'")]);
    let files = vec![("base.qcow2", image(1)), ("delta.qcow2", bare)];
    assert!(case("m.ovf", over.clone(), &files, None).bytes() == Ok(disk(1)), "a delta disk");
    let error = case("m.ovf", over, &vec![files[1].clone()], None).bytes().unwrap_err();
    assert_eq!(
        (error.kind, error.fields.get("file")),
        (ErrorKind::MissingFile, Some(&Field::Text("base.qcow2".to_owned())))
    );
    let raw = vec![7; 4096];
    let smaller = ovf(&[("1", "d.raw.gz", "capacity='8192'")]);
    let gz = filter("gzip", &["-cn"], &raw);
    let converted =
        case("m.ovf", smaller, &vec![("d.raw.gz", gz)], None).convert(Answers::InOrder, Abilities::default(), 4096);
    converted.result.unwrap();
    assert!(converted.notices.iter().any(|notice| notice.code == "ovf-capacity"), "{:?}", converted.notices);
    let utf16: Vec<u8> =
        String::from_utf8(ovf(&[("1", "a.qcow2", "")])).unwrap().encode_utf16().flat_map(u16::to_le_bytes).collect();
    let files = vec![("a.qcow2", image(1))];
    for (what, text) in [("without a mark", utf16.clone()), ("with a mark", [&b"\xff\xfe"[..], &utf16].concat())] {
        assert!(case("m.ovf", text, &files, None).bytes() == Ok(disk(1)), "UTF-16 {what}");
    }
}

/// A raw disk in a compressed tar archive, which is read in order: a configuration decides about it, wherever it is.
#[test]
fn archives_in_order() {
    let signed = |byte: u8| {
        let mut raw = vec![byte; 2 << 20];
        raw[510..512].copy_from_slice(&[0x55, 0xaa]);
        raw[..510].fill(0);
        raw
    };
    let (one, two) = (signed(1), signed(2));
    let packed = |files: Files<'_>| filter("gzip", &["-cn1"], &tar_of(&files));
    let of = |name: &str, size: usize| ovf(&[("1", name, &format!("capacity='{size}'"))]);
    let flat = b"# Disk DescriptorFile\nversion=1\nCID=fffffffe\nparentCID=ffffffff\ncreateType=\"monolithicFlat\"\nRW 4096 FLAT \"a-flat.vmdk\" 0\n".to_vec();
    // (what, files, whether the capacity differs, or the code)
    let rows: Vec<(&str, Files<'_>, Result<bool, &str>)> = vec![
        ("before", vec![("m.ovf", of("a.img", one.len())), ("a.img", one.clone())], Ok(false)),
        ("before, another capacity", vec![("m.ovf", of("a.img", 4096)), ("a.img", one.clone())], Ok(true)),
        ("after", vec![("a.img", one.clone()), ("m.ovf", of("a.img", one.len()))], Ok(false)),
        ("after, another capacity", vec![("a.img", one.clone()), ("m.ovf", of("a.img", 4096))], Ok(true)),
        ("another disk, before", vec![("m.ovf", of("b.img", 4096)), ("a.img", one.clone())], Err("needs-spool")),
        ("another disk, after", vec![("a.img", one.clone()), ("m.ovf", of("b.img", 4096))], Err("several-files")),
        (
            "two disks",
            vec![("m.ovf", ovf(&[("1", "a.img", ""), ("2", "b.img", "")])), ("a.img", one.clone()), ("b.img", two)],
            Err("needs-spool"),
        ),
        ("an extent before its descriptor", vec![("a-flat.vmdk", one.clone()), ("a.vmdk", flat)], Err("needs-spool")),
    ];
    // A file that is stated to be raw is not taken for an extent.
    let stated =
        Case { format: Some("raw".to_owned()), unpack: true, ..Case::new(packed(vec![("a-flat.vmdk", one.clone())])) };
    assert!(stated.bytes().unwrap() == one);
    for (what, files, expected) in rows {
        let converted = Case::new(packed(files)).convert(Answers::InOrder, Abilities::default(), 64 << 10);
        match expected {
            Ok(differs) => {
                converted.result.unwrap_or_else(|error| panic!("{what}: {error}"));
                assert!(*converted.target.bytes.borrow() == one, "{what}");
                assert_eq!(converted.notices.iter().any(|notice| notice.code == "ovf-capacity"), differs, "{what}");
            }
            Err(code) => assert_eq!(&*converted.result.unwrap_err().code, code, "{what}"),
        }
    }
}

/// A disk in several compressed files of a zip archive: the archive is unpacked as a whole.
#[test]
fn disks_in_several_compressed_files() {
    let raw: Vec<u8> = (0..1 << 20).map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let (first, second) = raw.split_at(raw.len() / 2);
    let descriptor = format!(
        "# Disk DescriptorFile\nversion=1\nCID=fffffffe\nparentCID=ffffffff\ncreateType=\"twoGbMaxExtentFlat\"\nRW {0} FLAT \"d-f001.vmdk\" 0\nRW {0} FLAT \"d-f002.vmdk\" 0\n",
        first.len() / 512
    );
    let long = "x".repeat(150);
    let files = [
        (format!("vm/{long}.txt"), b"text".to_vec()),
        ("vm/d.vmdk".to_owned(), descriptor.into_bytes()),
        ("vm/d-f001.vmdk".to_owned(), first.to_vec()),
        ("vm/d-f002.vmdk".to_owned(), second.to_vec()),
        ("vm/empty".to_owned(), Vec::new()),
        ("vm/vm.vmx".to_owned(), vmx("scsi0:0.fileName = \"d.vmdk\"")),
    ];
    let entries: Vec<_> = files.iter().map(|(name, bytes)| Entry::deflated(name, bytes)).collect();
    let packed = Case { spool: true, ..Case::new(zip(&entries)) };
    assert_eq!(packed.info().unwrap().format, "zip");
    let unpacked = packed.bytes().unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.tar"), &unpacked).unwrap();
    let listed = std::process::Command::new("tar").arg("-tf").arg(folder.path().join("a.tar")).output().unwrap();
    let names: Vec<_> = files.iter().map(|(name, _)| &**name).collect();
    assert_eq!(String::from_utf8(listed.stdout).unwrap().lines().collect::<Vec<_>>(), names);
    assert!(Case::new(unpacked).bytes() == Ok(raw.clone()));
    // Without room for it, the file that is compressed is named; a disk in one file is unpacked alone.
    let error = Case::new(zip(&entries)).bytes().unwrap_err();
    assert!(error.message().contains("'vm/d-f001.vmdk' is compressed in the zip archive"), "{error}");
    let big = qemu_converts(&vec![5; 1 << 20], "qcow2", "cluster_size=4096");
    let alone = zip(&[Entry::deflated("a.qcow2", &big), Entry::deflated("notes.bin", &first[..200_000])]);
    assert_eq!(Case { spool: true, ..Case::new(alone) }.info().unwrap().format, "qcow2");
}

/// A compressed overlay is read in order as far as it needs to be for the name of its base, which may be anywhere in its first cluster.
#[test]
fn compressed_overlays() {
    let noise: Vec<u8> = (0..1 << 20).map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let zeros = vec![0; 4 << 20];
    let base_disk = [&zeros[..], &vec![5; 4 << 20]].concat();
    let expected = [&noise.repeat(4)[..], &base_disk[4 << 20..]].concat();
    let base = qemu_converts(&base_disk, "qcow2", "cluster_size=65536");
    let name = b"base.qcow2";
    for (cluster_size, at) in [(65_536, 1000), (65_536, 60_000), (2 << 20, (2 << 20) - name.len())] {
        let what = format!("a name at {at}, clusters of {cluster_size}");
        let whole =
            qemu_converts(&[&noise.repeat(4)[..], &zeros].concat(), "qcow2", &format!("cluster_size={cluster_size}"));
        let (offset, len) = ((at as u64).to_be_bytes(), (name.len() as u32).to_be_bytes());
        let top = changed(whole, &[(8, &offset), (16, &len), (at, name)]);
        let files = [Entry::deflated("base.qcow2", &base), Entry::deflated("top.qcow2", &top)];
        let packed = Case { spool: true, ..Case::new(zip(&files)) };
        assert_eq!(packed.info().unwrap().format, "zip", "{what}");
        assert!(Case::new(packed.bytes().unwrap()).bytes() == Ok(expected.clone()), "{what}");
        // Also if only the overlay is compressed.
        let files = [Entry::stored("base.qcow2", &base), Entry::deflated("top.qcow2", &top)];
        let packed = Case { spool: true, ..Case::new(zip(&files)) };
        assert!(Case::new(packed.bytes().unwrap()).bytes() == Ok(expected.clone()), "{what}, over a stored base");
    }
}

/// A disk in a recognised format wins over a raw disk in the same archive, which is named, unless it is a part of the image.
#[test]
fn a_raw_disk_beside_the_image() {
    let mut raw = vec![0; 4096];
    raw[510..512].copy_from_slice(&[0x55, 0xaa]);
    let vmdk = b"# Disk DescriptorFile\nversion=1\nCID=fffffffe\nparentCID=ffffffff\ncreateType=\"monolithicFlat\"\nRW 8 FLAT \"d-flat.vmdk\" 0\n";
    let notes = || ("notes", b"text".to_vec());
    // (what, files, the file of the notice)
    let rows: Vec<(&str, Files<'_>, Option<&str>)> = vec![
        ("a raw disk", vec![("a.qcow2", image(1)), notes(), ("vm/b.img", raw.clone())], Some("vm/b.img")),
        ("other files", vec![("a.qcow2", image(1)), notes()], None),
        ("a part of the image", vec![("d.vmdk", vmdk.to_vec()), notes(), ("d-flat.vmdk", raw.clone())], None),
        (
            "a part and a disk",
            vec![("d.vmdk", vmdk.to_vec()), ("b.img", raw.clone()), ("d-flat.vmdk", raw.clone())],
            Some("b.img"),
        ),
        (
            "a machine",
            vec![("a.qcow2", image(1)), ("b.img", raw), ("vm.vmx", vmx("scsi0:0.fileName = \"a.qcow2\""))],
            None,
        ),
    ];
    for (what, files, expected) in rows {
        for (kind, packed) in archives(&files) {
            let info = Case::new(packed).info().unwrap();
            let notice = info.safety.iter().find(|notice| notice.code == "raw-disk-beside");
            let file = notice.and_then(|notice| notice.fields.get("file"));
            assert_eq!(file, expected.map(|file| Field::Text(file.to_owned())).as_ref(), "{what}, {kind}");
        }
    }
}
