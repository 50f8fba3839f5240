//! A partial output is completed to the same bytes as an output made at once.

use crate::common::each_run::{EachRun, put};
use crate::common::*;
use decant::compress::Encoding;
use decant::convert::{Cancel, DiskSource, Output, ResumePoint, convert_disks};
use decant::io::target::Abilities;
use decant::native::Inline;
use decant::output::{OUTPUT_FORMATS, by_name};
use decant::{Image, OpenOptions};
use std::cell::RefCell;
use std::rc::Rc;

#[derive(Clone, Default)]
struct Made {
    bytes: Vec<u8>,
    /// The reported points, and the bytes of the whole disk that were written by then.
    settled: Vec<ResumePoint>,
    written: u64,
}

/// Converts `image`; the output already has `kept`, up to `begun`.
fn make(image: &[u8], format: &'static str, kept: Vec<u8>, begun: ResumePoint) -> Made {
    let source = HeldSource::new(image.to_vec());
    let file = Rc::new(RefCell::new(kept));
    let settled = Rc::new(RefCell::new(Vec::new()));
    let (reading, writing, noting) = (source.clone(), file.clone(), settled.clone());
    let work = async move {
        let image = Image::open(reading, &OpenOptions::default()).await?;
        let executor = Inline::new(image.files().clone(), image.keys(), 3, 256 << 10);
        let layout = layout(by_name(format)?, image.virtual_size())?;
        let target = EachRun::new(Abilities::default(), |offset, bytes| put(&writing, offset, bytes));
        let output = Output::new(&*layout, STAMP, &target);
        let note = |progress: decant::convert::Progress| noting.borrow_mut().push(progress.settled);
        let disk = DiskSource::image(&image, &executor);
        let done = convert_disks(&[disk], &output, begun, &note, &Cancel::default()).await;
        // The file has the size with which it was opened, even if it ends with a hole.
        writing.borrow_mut().resize(target.opened.get().flatten().unwrap() as usize, 0);
        done
    };
    let done = drive(&source, Answers::Reverse, work).expect("it waits for nothing").unwrap();
    assert_eq!(done.progress.guest_done, done.disks[0].virtual_size);
    let (bytes, settled) = (file.take(), settled.take());
    Made { bytes, settled, written: done.progress.written }
}

#[test]
fn settled_data_is_written_and_the_rest_can_follow_later() {
    let folder = tempfile::tempdir().unwrap();
    let (plain, path) = (folder.path().join("plain.qcow2"), folder.path().join("image.qcow2"));
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", text(&plain), "9000K"]);
    let writes = ["write -q -P 1 0 1M", "write -q -P 2 1100K 3M", "write -q -P 3 6M 100K", "write -q -P 4 8998K 2K"];
    qemu("qemu-io", &["-c", writes[0], "-c", writes[1], "-c", writes[2], "-c", writes[3], text(&plain)]);
    qemu("qemu-img", &["convert", "-c", "-O", "qcow2", text(&plain), text(&path)]);
    let plain_formats = OUTPUT_FORMATS
        .iter()
        .filter(|format| layout(format, 0).unwrap().encoding() == Encoding::Plain)
        .map(|format| format.name);
    for (path, format) in plain_formats.flat_map(|format| [(&plain, format), (&path, format)]) {
        let image = std::fs::read(path).unwrap();
        let whole = make(&image, format, Vec::new(), ResumePoint::default());
        assert!(whole.settled.len() > 4, "{format}: it is told as it grows");
        for begun in whole.settled {
            // Later bytes may have been written, too, or not.
            let end = begun.guest.0 as usize;
            let begin = &whole.bytes[..end];
            let rest = make(&image, format, begin.to_vec(), begun);
            assert!(rest.bytes == whole.bytes, "{format}: from {end} on");
            assert_eq!(rest.settled[0].guest.0, begun.guest.0 / 4096 * 4096, "{format}: from {end} on");
            assert_eq!(rest.written, whole.written, "{format}: from {end} on");
        }
    }
}
