//! Parallels: images of qemu-img with both kinds of tables.

use crate::common::every_way::check;
use crate::common::parallels::*;
use crate::common::*;

#[test]
fn images_of_qemu_img() {
    let folder = tempfile::tempdir().unwrap();
    let (path, raw) = (folder.path().join("image.hds"), folder.path().join("disk.raw"));
    for (cluster_size, size) in [("64k", "7M"), ("1M", "7M"), ("32k", "5121k"), ("1536", "2M")] {
        let options = format!("cluster_size={cluster_size}");
        qemu("qemu-img", &["create", "-q", "-f", "parallels", "-o", &options, text(&path), size]);
        let writes = ["write -q -P 1 1M 300k", "write -q -P 2 100k 5k", "write -q -P 3 1900k 512"];
        let args: Vec<&str> = writes.iter().flat_map(|write| ["-c", write]).chain([text(&path)]).collect();
        qemu("qemu-io", &[&["-f", "parallels"], &args[..]].concat());
        let image = std::fs::read(&path).unwrap();
        check(&Case::new(image.clone()), &qemu_reads(&path, &raw), cluster_size);
        let info = Case::new(image).with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap();
        assert_eq!((info.format, info.features), ("parallels", vec![]));
    }
}

/// qemu-img makes images with the newer magic number only; it reads both.
#[test]
fn qemu_img_reads_the_same() {
    use Block::{Absent, Data};
    const BLOCKS: &[Block] = &[Data(1), Absent, Data(2), Data(3), Absent, Absent, Data(4)];
    let folder = tempfile::tempdir().unwrap();
    let (path, raw) = (folder.path().join("image.hds"), folder.path().join("disk.raw"));
    for (is_ext, states_start) in [(true, true), (false, true), (false, false)] {
        for (tracks, cut) in [(1, 0), (3, 1), (63, 62), (2048, 7)] {
            let image = Parallels { is_ext, states_start, ..Parallels::new(tracks, BLOCKS) };
            let image = Parallels { sectors: image.sectors - cut, ..image };
            let what = format!("ext: {is_ext}, start: {states_start}, blocks of {tracks} sectors");
            std::fs::write(&path, image.file()).unwrap();
            assert!(qemu_reads(&path, &raw) == image.disk(), "{what}: QEMU reads something else");
            check(&Case::new(image.file()), &image.disk(), &what);
        }
    }
}
