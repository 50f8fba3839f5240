//! A source is read according to its profile.

use crate::common::*;
use decant::convert::{Cancel, Output};
use decant::io::source::Profile;
use decant::io::target::Abilities;
use decant::native::Inline;
use decant::offsets::HostOffset;
use decant::output::{OUTPUT_FORMATS, Stamp};
use decant::{Image, OpenOptions, Result, Source};
use futures_util::future::LocalBoxFuture;
use std::rc::Rc;

const CLUSTER: u64 = 64 << 10;

/// A source with a custom profile.
struct Profiled(Rc<HeldSource>, Profile);

impl Source for Profiled {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn profile(&self) -> Profile {
        self.1
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        self.0.read_at(offset, buf)
    }
}

#[test]
fn gaps_are_read_over_and_reads_overlap_as_the_profile_says() {
    let folder = tempfile::tempdir().unwrap();
    let (path, raw) = (folder.path().join("image.qcow2"), folder.path().join("expected.raw"));
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", text(&path), "16M"]);
    qemu("qemu-io", &["-c", "write -q -P 7 0 16M", text(&path)]);
    // One cluster of eight: a gap in the file of 64 KiB.
    for at in (0..256).step_by(8) {
        qemu("qemu-io", &["-c", &format!("discard -q {} {CLUSTER}", at * CLUSTER), text(&path)]);
    }
    let expected = qemu_reads(&path, &raw);
    let image = std::fs::read(&path).unwrap();
    // (gap, min_read, reads at once, whether gaps are read over, maximum number of pending reads)
    let rows = [
        (0, 0, 4, false, 4),
        (CLUSTER - 1, 0, 1, false, 1),
        (CLUSTER - 1, u64::MAX, 5, false, 5),
        (CLUSTER, 7 * CLUSTER + 1, 4, true, 1),
        (u64::MAX, u64::MAX, 4, true, 1),
        // A small job is read in parts if these are long enough, to save a copy.
        (CLUSTER, CLUSTER, 2, true, 2),
    ];
    for (gap, min_read, reads_at_once, joined, most) in rows {
        let source = HeldSource::new(image.clone());
        let profiled =
            Rc::new(Profiled(source.clone(), Profile { gap, min_read, reads_at_once, ..Profile::default() }));
        let target = MemoryTarget::new(Abilities::default());
        let writing = target.clone();
        let work = async move {
            let image = Image::open(profiled, &OpenOptions::default()).await?;
            let executor = Inline::new(image.files().clone(), image.keys(), 1, 4 << 20);
            let layout = layout(&OUTPUT_FORMATS[0], image.virtual_size())?;
            let output = Output::new(&*layout, Stamp::default(), &*writing);
            convert(&image, &executor, &output, &|_| {}, &Cancel::default()).await
        };
        drive(&source, Answers::OneAtATime, work).expect("it waits for nothing").unwrap();
        let row = format!("gap {gap}, min_read {min_read}, {reads_at_once} at once");
        assert!(*target.bytes.borrow() == expected, "{row}");
        let data: Vec<u64> = source.reads.borrow().iter().map(|&(_, len)| len).filter(|&len| len > CLUSTER).collect();
        let longest = *data.iter().max().unwrap();
        assert_eq!(longest > 8 * CLUSTER, joined, "{row}: the longest read has {longest} bytes");
        // If gaps are not read over, each run of seven clusters is one read, or two where a job ends inside it.
        assert!(joined || (32..=40).contains(&data.len()), "{row}: {} reads", data.len());
        assert_eq!(source.most_waiting.get(), most, "{row}");
    }
}
