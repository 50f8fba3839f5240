//! Files that begin as one format, or as a container, and end as a fixed VHD.

use crate::common::parallels::{Block, Parallels};
use crate::common::small::{changed, overlay, small, small_disk};
use crate::common::vdi::Vdi;
use crate::common::vhd::Block::Absent;
use crate::common::vhd::*;
use crate::common::vmdk::{Kdmv, descriptor, few_grains};
use crate::common::*;
use crate::tar::{archive, member};
use decant::ErrorKind::Usage;
use decant::error::fields::Field;
use decant::io::target::Abilities;

/// The guest of a fixed VHD can write what begins like another file, and the guest of an image the end of a VHD.
#[test]
fn a_start_and_an_end_of_two_formats_are_ambiguous() {
    const LEN: usize = 128 << 10;
    let text = descriptor("monolithicFlat", "RW 1 FLAT \"disk\" 0");
    let archive = archive(&[member("disk.img", b'0', &[7; 512])]);
    let sparse = Kdmv::default().build(&few_grains());
    let vdi = Vdi::new(4096, &[]).file();
    // (the start, its format or container, whether it is a container)
    let starts: &[(&[u8], &str, bool)] = &[
        (&small(), "qcow2", false),
        (b"QFI\xfb\0\0\0\x03", "qcow2", false),
        (&sparse, "vmdk", false),
        (text.as_bytes(), "vmdk", false),
        (&vdi, "vdi", false),
        (&qed::small(), "qed", false),
        (&Parallels::new(1, &[Block::Data(1)]).file(), "parallels", false),
        (&archive, "tar", true),
        (b"\x1f\x8b\x08", "gzip", true),
    ];
    for (start, name, is_container) in starts {
        let image = Vhd { kind: FIXED, size: LEN as u64, ..Vhd::new(LEN, &[Absent]) };
        let mut disk = start.to_vec();
        disk.resize(LEN, 0);
        for footer in [image.footer(), image.footer()[..511].to_vec()] {
            let case = Case::new([&disk[..], &footer].concat());
            let error = case.convert(Answers::InOrder, Abilities::default(), 1 << 20).result.unwrap_err();
            assert_eq!((error.kind, &*error.code), (Usage, "ambiguous-format"), "{name}: {error}");
            let field = |name: &str| error.fields.get(name).cloned();
            let expected = if *is_container { ("vpc", None, Some(*name)) } else { (*name, Some("vpc"), None) };
            let (format, other, container) = expected;
            let text = |text: Option<&str>| text.map(Field::from);
            assert_eq!(field("format"), text(Some(format)), "{name}");
            assert_eq!((field("otherFormat"), field("container")), (text(other), text(container)), "{name}");
            assert!(Case { format: Some("vpc".to_owned()), ..case }.bytes().unwrap() == disk, "{name}");
        }
    }
    let inner = small();
    let footer = |size: usize| Vhd { kind: FIXED, size: size as u64, ..Vhd::new(512, &[]) }.footer();
    let qcow2 = Case::new([&inner[..], &footer(inner.len())].concat());
    assert_eq!(&*qcow2.bytes().unwrap_err().code, "ambiguous-format");
    assert!(Case { format: Some("qcow2".to_owned()), ..qcow2 }.bytes().unwrap() == small_disk());
    // A VHD in the image: its footer states another size, or is damaged.
    for end in [footer(inner.len() - 512), changed(footer(inner.len()), &[(64, &[0])])] {
        assert!(Case::new([&inner[..], &end].concat()).bytes().unwrap() == small_disk());
    }
}

/// The format of a file in an archive cannot be stated, and that of a parent is not.
#[test]
fn ambiguous_files_that_belong_to_others() {
    const BLOCK: usize = 4096;
    let mut start = small();
    start.resize(BLOCK, 0);
    let blocks = [Absent];
    let base = Vhd { id: 1, kind: FIXED, ..Vhd::new(BLOCK, &blocks) };
    let base_file = [&start[..], &base.footer()].concat();
    let archive = archive(&[member("a/base.vhd", b'0', &base_file)]);
    let result = Case::new(archive).convert(Answers::InOrder, Abilities::default(), 1 << 20).result;
    let error = result.unwrap_err();
    assert_eq!(&*error.code, "ambiguous-format");
    assert!(error.message().starts_with("'a/base.vhd' ") && error.message().contains("extract"), "{error}");
    // The image states the format.
    let stated =
        Case { companions: vec![("base".to_owned(), base_file.clone())], ..Case::new(overlay("base", Some("vpc"))) };
    let mut disk = start.clone();
    disk[..512].fill(0xaa);
    assert!(stated.bytes().unwrap() == disk);
    for name in ["base.vhd", "x"] {
        let child = Vhd { kind: DIFFERENCING, id: 2, parent: 1, parent_name: "base.vhd", ..Vhd::new(BLOCK, &blocks) };
        let child = Case { companions: vec![(name.to_owned(), base_file.clone())], ..Case::new(child.file()) };
        let error = child.bytes().unwrap_err();
        assert_eq!(&*error.code, "ambiguous-format", "{error}");
        assert_eq!(error.fields.get("file"), Some(&Field::from(name)));
        assert!(error.message().starts_with(&format!("'{name}' ")), "{error}");
    }
}
