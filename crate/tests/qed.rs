//! QED: cluster and table sizes, and backing files.

use crate::common::every_way::check;
use crate::common::qed::*;
use crate::common::small::{changed, overlay};
use crate::common::*;
use std::path::Path;

fn le32(value: u32) -> [u8; 4] {
    value.to_le_bytes()
}

#[test]
fn images_of_qemu_img() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (base, top, raw) = (path("base"), path("top.qed"), path("disk.raw"));
    // Tables of one cluster, which the specification allows, qemu-img 7.2 makes but does not open: `small` has them.
    // (cluster and table size, the format of the backing file)
    let cases: &[(&str, Option<&str>)] = &[
        ("cluster_size=4096,table_size=2", None),
        ("cluster_size=4096,table_size=8", Some("raw")),
        ("cluster_size=64k,table_size=16", Some("qcow2")),
        ("cluster_size=8k,table_size=4", Some("qed")),
        ("cluster_size=1M,table_size=2", Some("vdi")),
    ];
    for (options, below) in cases {
        let mut create = vec!["create", "-q", "-f", "qed", "-o", options];
        if let Some(format) = below {
            qemu("qemu-img", &["create", "-q", "-f", format, text(&base), "5M"]);
            qemu("qemu-io", &["-f", format, "-c", "write -q -P 9 0 5M", text(&base)]);
            create.extend(["-b", text(&base), "-F", format]);
        }
        create.extend([text(&top), "7M"]);
        qemu("qemu-img", &create);
        let write = ["-c", "write -q -P 1 1M 1M", "-c", "write -q -P 2 6M 512", "-c", "write -q -z 4M 512k"];
        qemu("qemu-io", &[&write[..], &["-c", "write -q -P 3 100k 5k", text(&top)]].concat());
        let read = |path: &Path| std::fs::read(path).unwrap();
        let companions = below.iter().map(|_| (text(&base).to_owned(), read(&base))).collect();
        let case = Case { companions, ..Case::new(read(&top)) };
        check(&case, &qemu_reads(&top, &raw), options);
        // Formats other than raw are not stated, but detected by content.
        let info = case.with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap();
        let stated = below.map(|format| (format == "raw").then(|| format.to_owned()));
        assert_eq!(info.references.first().map(|reference| reference.format.clone()), stated, "{options}");
        assert_eq!(info.layers.get(1).map(|layer| layer.format), *below);
    }
}

#[test]
fn a_backing_file() {
    let over = |flags: u8| changed(small(), &[(16, &[flags]), (56, &le32(100)), (60, &le32(4)), (100, b"base")]);
    let below: Vec<u8> = (0..5 * CLUSTER).map(|at| (at / 512) as u8 | 1).collect();
    let mut disk = below.clone();
    disk.resize(small_disk().len(), 0);
    for (at, byte) in small_disk().into_iter().enumerate().filter(|(at, _)| [0, 1, 3, 7].contains(&(at / CLUSTER))) {
        disk[at] = byte;
    }
    check(&Case { companions: vec![("base".to_owned(), below)], ..Case::new(over(1)) }, &disk, "raw by default");
    // A file stated as raw is not probed.
    let below = small();
    let case = |flags| Case { companions: vec![("base".to_owned(), below.clone())], ..Case::new(over(flags)) };
    assert_eq!(case(5).bytes().unwrap()[2 * CLUSTER..3 * CLUSTER], below[2 * CLUSTER..3 * CLUSTER]);
    assert!(case(1).bytes().unwrap() == small_disk());
    let qcow2 = Case { companions: vec![("base".to_owned(), small())], ..Case::new(overlay("base", Some("qed"))) };
    assert_eq!(qcow2.bytes().unwrap()[512..], small_disk()[512..8 * 512]);
}
