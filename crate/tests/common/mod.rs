//! Shared by the tests.

#![allow(dead_code)] // Each test binary uses its part.

mod case;
mod conversion;
pub mod each_run;
pub mod every_way;
mod held;
pub mod luks;
mod memory_target;
mod native;
mod opened;
pub mod parallels;
pub mod qed;
pub mod random;
pub mod salvage;
mod scope;
pub mod small;
pub mod table;
pub mod vdi;
pub mod vhd;
pub mod vhdx;
pub mod vmdk;
pub mod written;
pub mod zip;
pub mod zlib;

pub use case::*;
pub use conversion::*;
pub use held::*;
pub use memory_target::*;
pub use native::*;
pub use opened::*;
pub use scope::*;

use decant::compress::Encoding;
use decant::container::blocks::InPlace;
use decant::container::part::PartDecoder;
use decant::convert::{
    Cancel, Change, ConvertedDisk, Digest, DiskDigest, DiskSource, InOrder, Output, Progress, ResumePoint,
    convert_disks, reshaped,
};
use decant::crypt::Keys;
use decant::disk::info::{Info, Notice};
use decant::disk::losses::Losses;
use decant::io::stream::ByteStream;
use decant::io::target::{Abilities, Holes, Run, Target, TargetHandle};
use decant::native::{Inline, InlineParts};
use decant::open::DiskOfMachine;
use decant::open::chain::Companion;
use decant::open::disk_choice::DiskChoice;
use decant::output::{self, BLOCK, Layout, Options, OutputFormat, Stamp};
use decant::{Error, Image, Input, OpenOptions, Result};
use decant_crypt::SHA256;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::cell::{Cell, RefCell};
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::OnceLock;

/// Runs `work` with each number below `count`, two at a time: a program that makes an image keeps one core busy.
pub fn two_at_once<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let work = &work;
    std::thread::scope(|scope| {
        let lane = |first| scope.spawn(move || (first..count).step_by(2).map(work).collect());
        let lanes = [lane(0), lane(1)];
        let join = |lane: std::thread::ScopedJoinHandle<'_, Vec<T>>| {
            lane.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        lanes.into_iter().flat_map(join).collect()
    })
}

/// Runs a program of qemu-utils; it must succeed.
pub fn qemu(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().expect("qemu-utils is installed");
    let told = [&output.stdout[..], &output.stderr].concat();
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&told));
    String::from_utf8(output.stdout).unwrap()
}

/// qemu-img for making LUKS headers. It measures how many iterations of a hash take a certain time, for a second or
/// two, and sometimes fails: here, time passes with each call.
pub fn qemu_img_for_luks(args: &[&str]) {
    static CLOCK: OnceLock<PathBuf> = OnceLock::new();
    let clock = CLOCK.get_or_init(|| {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/clock.c");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (own, shared) = (folder.join(format!("clock-{}.so", std::process::id())), folder.join("clock.so"));
        let made = Command::new("cc").args(["-shared", "-fPIC", "-o", text(&own), source]).status().unwrap();
        assert!(made.success(), "cc makes {}", own.display());
        std::fs::rename(own, &shared).unwrap();
        shared
    });
    let output =
        Command::new("qemu-img").args(args).env("LD_PRELOAD", clock).output().expect("qemu-utils is installed");
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Makes a qcow2 with LUKS, whose options are those of `qemu-img create -o`.
pub fn qcow2_with_luks(path: &Path, size: &str, options: &str, password: &str) {
    let secret = format!("secret,id=s,data={password}");
    let options = format!("encrypt.format=luks,encrypt.key-secret=s,{options}");
    qemu_img_for_luks(&["create", "-q", "-f", "qcow2", "--object", &secret, "-o", &options, text(path), size]);
}

pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The bytes that qemu-img reads out of an image.
pub fn qemu_reads(image: &Path, raw: &Path) -> Vec<u8> {
    qemu("qemu-img", &["convert", "-O", "raw", text(image), text(raw)]);
    std::fs::read(raw).unwrap()
}

/// The SHA-256 of `bytes`, which sha256sum computes.
pub fn sha256(bytes: &[u8]) -> [u8; SHA256] {
    let line = String::from_utf8(filter("sha256sum", &["-b"], bytes)).unwrap();
    std::array::from_fn(|at| u8::from_str_radix(&line[2 * at..2 * at + 2], 16).unwrap())
}

/// The digest of a disk with these bytes.
pub fn digest_of(bytes: &[u8]) -> DiskDigest {
    DiskDigest { hash: sha256(bytes), size: bytes.len() as u64 }
}

/// The layout of a disk with the recommended options of `format`.
pub fn layout(format: &OutputFormat, virtual_size: u64) -> Result<Box<dyn Layout>> {
    (format.layout)(virtual_size, &Options::recommended(format))
}

/// The layout of a disk of unknown size.
pub fn layout_in_order(format: &OutputFormat) -> Result<Box<dyn Layout>> {
    format.layout_in_order(&Options::recommended(format))
}

/// The stamp of every output here.
pub const STAMP: Stamp = Stamp { seconds: 1_700_000_000, random: [0xa5; 16] };

/// Converts the file `image` in memory.
pub fn convert_bytes(
    image: Vec<u8>,
    format: Option<&str>,
    answers: Answers,
    abilities: Abilities,
    job: u64,
) -> Converted {
    Case { format: format.map(str::to_owned), ..Case::new(image) }.convert(answers, abilities, job)
}

/// Opens `input`; if it is the configuration of a machine, its disk.
pub async fn open_disk(input: Input, mut options: OpenOptions) -> Result<Opened> {
    let DiskOfMachine { file, is_in_snapshot, stated, .. } = match open(input, &options).await? {
        Opened::Machine(disk) => disk,
        opened => return Ok(opened),
    };
    let Companion { source, name, .. } = options.companions.remove(file);
    let snapshot = options.snapshot.filter(|_| !is_in_snapshot);
    let options = OpenOptions { name: Some(name), disk: None, snapshot, stated, ..options };
    open(Input::File(source), &options).await
}

/// Opens the file `image`, without converting it.
pub fn open_bytes(image: Vec<u8>, options: OpenOptions) -> std::result::Result<Image, Error> {
    let source = HeldSource::new(image);
    let reading = source.clone();
    let work = async move {
        match open(Input::File(reading), &options).await? {
            Opened::Image(image) => Ok(image),
            Opened::Streamed(_) => panic!("it is read in order"),
            Opened::Machine(_) => panic!("it is a configuration"),
        }
    };
    drive(&source, Answers::InOrder, work).expect("opening waits for nothing")
}

/// The info of the image in the file `image`, which is read at any position or in order.
pub fn info_of(image: Vec<u8>) -> Info {
    Case::new(image).info().unwrap()
}

/// The output of `command` for `input`.
pub fn filter(command: &str, args: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new(command).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{command} {args:?}: {}", output.status);
        output.stdout
    })
}
