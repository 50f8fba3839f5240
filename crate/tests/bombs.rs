//! Compressed files that expand excessively: their cost does not depend on the expanded size. Times are printed, not
//! asserted.

use crate::alone;
use crate::common::each_run::nowhere;
use crate::common::{Opened, by_scope, convert_in_order, filter, layout_in_order, open};
use crate::counting::{HELD, PEAK};
use decant::convert::{Cancel, InOrder, Output, Progress};
use decant::crypt::Keys;
use decant::io::target::Abilities;
use decant::native::Inline;
use decant::offsets::HostOffset;
use decant::output::{OUTPUT_FORMATS, Stamp, by_name};
use decant::{Input, OpenOptions, Result, Source};
use futures_executor::block_on;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::cell::Cell;
use std::process::Command;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

const MIB: usize = 1 << 20;
const GIB: u64 = 1 << 30;

struct Bytes(Vec<u8>);

impl Source for Bytes {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        let start = offset.0 as usize;
        buf.copy_from_slice(&self.0[start..start + buf.len()]);
        ready(Ok(())).boxed_local()
    }
}

#[test]
fn zeros_cost_no_memory_and_no_output() {
    const MEMBER: u64 = 128 << 20;
    let _alone = alone();
    let member = |command: &str| {
        let made = Command::new("sh").args(["-c", &format!("head -c 128M /dev/zero | {command}")]).output().unwrap();
        assert!(made.status.success());
        made.stdout
    };
    // Formats that need no size.
    let in_order = ["raw", "vpc", "raw.gz"].map(|name| by_name(name).unwrap());
    let gzip = "gzip -c";
    let whole = vec![(gzip, GIB, &in_order[..]), (gzip, 2 * GIB, &in_order[..1])];
    let mut cases = by_scope(vec![(gzip, 2 * MEMBER, &in_order[..])], whole.clone(), whole);
    cases.extend(["xz -0c", "zstd -qc", "bzip2 -c", "lz4 -qc"].map(|command| (command, 2 * MEMBER, &in_order[..1])));
    for (command, size, formats) in cases {
        let file = member(command).repeat((size / MEMBER) as usize);
        let len = file.len() as u64;
        assert!(len < 3 * MIB as u64, "{len} bytes");
        let source = Rc::new(Bytes(file));
        for format in formats {
            let idle = HELD.load(Relaxed);
            PEAK.store(idle, Relaxed);
            let start = Instant::now();
            let target = nowhere(Abilities::default());
            let done = block_on(async {
                let Opened::Streamed(image) = open(Input::File(source.clone()), &OpenOptions::default()).await? else {
                    panic!("it is read in order")
                };
                let disk = InOrder::new(&image, None);
                let executor = Inline::new(disk.files(), Keys::default(), 8, 16 << 20);
                let layout = layout_in_order(format)?;
                let output = Output::new(&*layout, Stamp::default(), &target);
                convert_in_order(&disk, &executor, &output, &|_| {}, &Cancel::default()).await
            })
            .unwrap();
            assert_eq!(target.opened.get(), Some(None));
            let peak = PEAK.load(Relaxed) - idle;
            println!(
                "{}: {} bytes written, at most {peak} held, {:?}",
                format.name,
                target.written.get(),
                start.elapsed()
            );
            let Progress { guest_done, guest_total, read, .. } = done.progress;
            let virtual_size = done.disks[0].virtual_size;
            assert_eq!((guest_done, guest_total, virtual_size, read), (size, None, size, len), "{}", format.name);
            assert!(peak < 16 * MIB, "{}: {peak} bytes", format.name);
            let written = target.written.get();
            match format.name {
                // The disk is all zeros: only the last block is written, to give the file its size.
                "raw" => assert_eq!((written, target.end.get()), (4096, size)),
                "vpc" => assert_eq!((written, target.end.get()), (4096 + 512, size + 512)),
                // Zeros compress to 260 bytes for each 256 KiB.
                _ => assert!(written < 3 * MIB as u64, "{written}"),
            }
        }
    }
}

/// A hole in a sparse member of a streamed tar costs nothing per byte.
#[test]
fn a_hole_of_a_pebibyte_in_order() {
    const SIZE: u64 = 1 << 50;
    let text = |value: &str, len: usize| {
        let mut bytes = value.as_bytes().to_vec();
        bytes.resize(len, 0);
        bytes
    };
    let map = text(&format!("1\n{}\n1000\n", SIZE - 1000), 512);
    let records: String = [("major", "1".to_owned()), ("minor", "0".to_owned()), ("realsize", SIZE.to_string())]
        .map(|(key, value)| {
            let rest = format!(" GNU.sparse.{key}={value}\n");
            format!("{}{rest}", rest.len() + 2)
        })
        .concat();
    let member = |name: &str, kind: u8, data: &[u8]| {
        let mut header = text(name, 512);
        header[124..135].copy_from_slice(format!("{:011o}", data.len()).as_bytes());
        header[156] = kind;
        header[257..265].copy_from_slice(b"ustar\x0000");
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        let mut bytes = [&header[..], data].concat();
        bytes.resize(bytes.len().next_multiple_of(512), 0);
        bytes
    };
    let data = [&map[..], &[7; 1000]].concat();
    let archive = [member("x", b'x', records.as_bytes()), member("disk.raw", b'0', &data), vec![0; 1024]].concat();
    let source = Rc::new(Bytes(filter("gzip", &["-c"], &archive)));
    let target = nowhere(Abilities::default());
    let steps = Cell::new(0);
    let done = block_on(async {
        let Opened::Streamed(image) = open(Input::File(source), &OpenOptions::default()).await? else {
            panic!("it is read in order")
        };
        let disk = InOrder::new(&image, None);
        let executor = Inline::new(disk.files(), Keys::default(), 8, 16 << 20);
        let layout = layout_in_order(&OUTPUT_FORMATS[0])?;
        let output = Output::new(&*layout, Stamp::default(), &target);
        let count = |_| steps.set(steps.get() + 1);
        convert_in_order(&disk, &executor, &output, &count, &Cancel::default()).await
    })
    .unwrap();
    assert_eq!(target.opened.get(), Some(None));
    assert_eq!((done.disks[0].virtual_size, target.end.get()), (SIZE, SIZE));
    assert!(target.written.get() <= 8192 && steps.get() < 10, "{} bytes, {} steps", target.written.get(), steps.get());
}
