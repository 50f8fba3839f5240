//! The examination of an image's tables before a conversion, and the number of bytes it reads.

use crate::common::*;
use decant::offsets::HostOffset;
use decant::open::examination::{Examination, MOST};
use decant::{Image, OpenOptions, Result, Source};
use futures_executor::block_on;
use futures_util::future::LocalBoxFuture;
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

/// The first bytes of a file; counts the bytes read.
struct Counted {
    file: FileSource,
    size: u64,
    read: Cell<u64>,
}

impl Source for Counted {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        self.read.set(self.read.get() + buf.len() as u64);
        self.file.read_at(offset, buf)
    }
}

/// The examination of the first `share` of the file at `path`, and the number of bytes read.
fn examined(path: &Path, share: f64, deep: bool, salvage: bool) -> (Examination, u64, u64) {
    let file = FileSource::open(path).unwrap();
    let size = (file.size() as f64 * share) as u64;
    let source = Rc::new(Counted { file, size, read: Cell::new(0) });
    let options = OpenOptions { salvage, ..OpenOptions::default() };
    let image = block_on(Image::open(source.clone(), &options)).unwrap();
    let before = source.read.get();
    let examination = block_on(Examination::of(&image, deep)).unwrap();
    (examination, source.read.get() - before, image.virtual_size())
}

fn code(examination: &Examination) -> Option<&str> {
    examination.damage.as_ref().map(|error| &*error.code)
}

/// An image of a disk of 24 MiB that is full of data.
fn full(folder: &Path, format: &str, options: &[&str]) -> std::path::PathBuf {
    let (raw, path) = (folder.join("disk.raw"), folder.join(format!("image.{format}")));
    let disk: Vec<u8> = (0..24u32 << 18).flat_map(|at| at.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
    std::fs::write(&raw, disk).unwrap();
    let args = [&["convert", "-f", "raw", "-O", format], options, &[text(&raw), text(&path)]].concat();
    qemu("qemu-img", &args);
    path
}

#[test]
fn a_truncated_image_of_any_format_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    for (format, options) in
        [("qcow2", &[][..]), ("vdi", &[]), ("qed", &[]), ("vmdk", &[]), ("vmdk", &["-o", "subformat=streamOptimized"])]
    {
        let path = full(folder.path(), format, options);
        for deep in [false, true] {
            let (whole, read, size) = examined(&path, 1.0, deep, false);
            assert_eq!((code(&whole), whole.checked, whole.lost), (None, size, 0), "{format} {options:?}");
            assert!(deep || read <= MOST);
            for share in [0.6, 0.95] {
                let (cut, read, _) = examined(&path, share, deep, false);
                assert_eq!(code(&cut), Some("truncated"), "{format} {options:?} {share}");
                assert!(deep || read <= MOST);
            }
        }
    }
}

#[test]
fn a_salvaged_image_has_lost_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let path = full(folder.path(), "qcow2", &[]);
    for deep in [false, true] {
        let (cut, _, size) = examined(&path, 0.5, deep, true);
        assert_eq!((code(&cut), cut.checked), (None, size));
        assert!(cut.lost > size / 3 && cut.lost < size);
    }
}

/// Tables of 16 MiB: a small part is read, from both ends of the disk.
#[test]
fn large_tables_are_looked_at_from_both_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image.qcow2");
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", "-o", "preallocation=metadata", text(&path), "128G"]);
    let (whole, read, size) = examined(&path, 1.0, false, false);
    assert_eq!(code(&whole), None);
    assert!(whole.checked < size, "{} of {size}", whole.checked);
    assert!(whole.checked > size / 64, "{} of {size}", whole.checked);
    assert!(read <= MOST, "{read}");
    for share in [0.3, 0.97] {
        let (cut, read, _) = examined(&path, share, false, false);
        assert_eq!(code(&cut), Some("truncated"), "{share}");
        assert!(read <= MOST, "{read}");
    }
}

/// Data at the start of the disk only, and a file that ends inside of it.
#[test]
fn an_empty_end_of_the_disk_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image.qcow2");
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", "-o", "preallocation=metadata", text(&path), "32G"]);
    qemu("qemu-img", &["resize", "-q", text(&path), "1T"]);
    let (cut, read, _) = examined(&path, 0.9, false, false);
    assert_eq!(code(&cut), Some("truncated"));
    assert!(read <= MOST, "{read}");
}

#[test]
fn a_missing_layer_or_password_hides_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let (base, top) = (folder.path().join("base.qcow2"), folder.path().join("top.qcow2"));
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", text(&base), "8M"]);
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", text(&base), text(&top)]);
    qemu("qemu-io", &["-c", "write -q -P 3 0 4M", text(&top)]);
    assert_eq!(code(&examined(&top, 1.0, false, false).0), None);
    assert_eq!(code(&examined(&top, 0.7, false, false).0), Some("truncated"));
    let locked = folder.path().join("luks.qcow2");
    qcow2_with_luks(&locked, "8M", "encrypt.iter-time=10", "secret");
    assert_eq!(code(&examined(&locked, 1.0, false, false).0), None);
}
