//! A lack of memory is not damage: whichever allocation fails, the image is read correctly, or the error has the kind
//! `internal` or `limit`. It is never `corrupt`, wrong bytes never count as a success, and a salvage never replaces the
//! data by zeros.
//!
//! Each run makes one allocation fail, in a separate process: code that cannot return an error aborts the process. An
//! abort counts as `internal`: if the wasm traps, the TypeScript side reports that kind.

use crate::each_run::{EachRun, put};
use crate::fuzz::conversion::{convert, convert_in_order};
use crate::fuzz::files::Files;
use crate::fuzz::memory::Memory;
use crate::fuzz::opened::{Opened, open};
use crate::fuzz::small::*;
use crate::fuzz::{bases, vmdk_bases};
use crate::scope::{Scope, by_scope, scope};
use decant::convert::{Cancel, InOrder, Output};
use decant::crypt::Keys;
use decant::io::target::Abilities;
use decant::native::Inline;
use decant::open::chain::Companion;
use decant::output::{Options, Stamp, by_name};
use decant::{ErrorKind, Input, OpenOptions, Result, Source};
use futures_executor::block_on;
use futures_util::FutureExt;
use futures_util::future::ready;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::rc::Rc;

/// The system's allocator, which fails once: the allocation number `FAILS`.
struct Failing;

thread_local! {
    /// Whether this thread's allocations count.
    static COUNTS: Cell<bool> = const { Cell::new(false) };
    /// Number of counted allocations.
    static COUNT: Cell<u64> = const { Cell::new(0) };
    /// Number of the allocation to fail, from 1; 0 for none.
    static FAILS: Cell<u64> = const { Cell::new(0) };
}

fn fails() -> bool {
    COUNTS.get() && {
        COUNT.set(COUNT.get() + 1);
        COUNT.get() == FAILS.get()
    }
}

#[expect(unsafe_code, reason = "an allocator is unsafe by nature; this one hands everything on")]
// SAFETY: every call is the system allocator's, with the same arguments, or fails as it may.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if fails() { std::ptr::null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if fails() { std::ptr::null_mut() } else { unsafe { System.alloc_zeroed(layout) } }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if fails() { std::ptr::null_mut() } else { unsafe { System.realloc(at, layout, size) } }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Failing = Failing;

/// Upper bound on the disks of the images here, in bytes.
const MOST: usize = 1 << 20;

/// An overlay whose clusters are parts of the compressed clusters of its backing file.
fn over_parts_of_clusters() -> Files {
    const SIZE: usize = 4096;
    let text: Vec<u8> = (0..SIZE).map(|at| (at * at / 11) as u8 & 0x3f).collect();
    let stream = miniz_oxide::deflate::compress_to_vec(&text, 9);
    let sectors = (stream.len().div_ceil(512) as u64 - 1) << 58;
    let entry = COMPRESSED | sectors | (3 * SIZE as u64);
    let mut base = changed(
        small()[..CLUSTER].to_vec(),
        &[
            (20, &12u32.to_be_bytes()),
            (40, &(SIZE as u64).to_be_bytes()),
            (SIZE, &(2 * SIZE as u64).to_be_bytes()),
            (2 * SIZE, &entry.to_be_bytes()),
            (3 * SIZE, &stream),
        ],
    );
    base.resize(base.len().next_multiple_of(SIZE), 0);
    let companions = vec![("base.qcow2".to_owned(), base)];
    Files { image: overlay("base.qcow2", Some("qcow2")).into(), companions, password: None }
}

/// Numbers of VMDKs of the fuzzer: a compressed one, one of several extents, one with a parent.
const VMDKS: [u8; 3] = [2, 5, 8];
/// Number of images: those of the fuzzer, `over_parts_of_clusters`, `VMDKS`, and two in containers.
const IMAGES: u8 = bases::BASES + 1 + VMDKS.len() as u8 + 2;
const IN_GZIP: u8 = IMAGES - 2;
const IN_TAR: u8 = IMAGES - 1;

fn packed(command: &str) -> Files {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("image"), small()).unwrap();
    let output = Command::new("sh").args(["-c", command]).current_dir(dir.path()).output().unwrap();
    assert!(output.status.success());
    Files { image: output.stdout.into(), companions: Vec::new(), password: None }
}

fn files(number: u8) -> Files {
    match number.checked_sub(bases::BASES) {
        // A raw disk with a boot sector: without its first byte the qcow2 is not recognised.
        _ if number == IN_GZIP => {
            packed("tail -c +2 image | { head -c 510; printf '\\125\\252'; tail -c +3; } | gzip -c")
        }
        _ if number == IN_TAR => packed("tar -cf - image"),
        None => bases::base(number),
        Some(0) => over_parts_of_clusters(),
        Some(number) => vmdk_bases::base(VMDKS[usize::from(number) - 1]),
    }
}

/// Output formats: a plain one, and the assembled ones.
const PLAIN: &str = "raw";
const ASSEMBLED: [&str; 5] = ["raw.gz", "raw.zst", "raw.xz", "qcow2", "vmdk"];

/// One conversion: the number of the image, the output format, whether it is salvaged, and the number of the allocation
/// to fail.
#[derive(Clone, Copy, Debug)]
struct Task<'a> {
    image: u8,
    format: &'a str,
    salvage: bool,
    fails: u64,
}

impl Task<'_> {
    /// Opens, describes and converts the image. Returns the disk, its lost ranges, and the number of allocations.
    fn run(self) -> (Result<(Vec<u8>, u64)>, u64) {
        let Files { image, companions, password } = files(self.image);
        let companion = |(name, bytes): (String, Vec<u8>)| Companion {
            source: Rc::new(Memory(bytes)),
            name,
            stands_for: None,
            is_image: false,
        };
        let options = OpenOptions {
            name: Some("image".to_owned()),
            companions: companions.into_iter().map(companion).collect(),
            // Streamed images cannot be salvaged.
            salvage: self.salvage && self.image != IN_GZIP,
            ..OpenOptions::default()
        };
        let source: Rc<dyn Source> = Rc::new(Memory(image));
        // It allocates nothing while it is written.
        let file = RefCell::new(Vec::with_capacity(MOST));
        let abilities = Abilities { late_start: u64::MAX, ..Abilities::default() };
        let disk = EachRun::new(abilities, |offset, bytes| put(&file, offset, bytes));
        let rest = |_| ready(Ok(())).boxed_local();
        FAILS.set(self.fails);
        COUNT.set(0);
        COUNTS.set(true);
        let result = block_on(async {
            let format = by_name(self.format)?;
            let (stamp, report, cancel) = (Stamp::default(), |_| {}, Cancel::default());
            let image = match open(Input::File(source), &options).await? {
                Opened::Machine(_) => panic!("it is no configuration"),
                Opened::Image(image) => image,
                Opened::Streamed(image) => {
                    let input = InOrder::new(&image, None);
                    let executor = Inline::new(input.files(), Keys::default(), 2, 4096);
                    let layout = format.layout_in_order(&Options::recommended(format))?;
                    let output = Output::new(&*layout, stamp, &disk);
                    return convert_in_order(&input, &executor, &output, &report, &cancel).await;
                }
            };
            image.survey().await?;
            if let Some(password) = &password {
                while image.is_locked() {
                    image.unlock_next(password, true, &rest).await?;
                }
            }
            let executor = Inline::new(image.files().clone(), image.keys(), 2, 4096);
            let layout = (format.layout)(image.virtual_size(), &Options::recommended(format))?;
            let output = Output::new(&*layout, stamp, &disk);
            convert(&image, &executor, &output, &report, &cancel).await
        });
        COUNTS.set(false);
        assert!(disk.is_finished.get() == result.is_ok(), "a failed conversion was completed, or the other way round");
        let len = file.borrow().len().max(disk.opened.get().flatten().unwrap_or(0) as usize);
        file.borrow_mut().resize(len, 0);
        (result.map(|done| (file.take(), done.disks[0].lost.bytes)), COUNT.get())
    }

    /// Runs it in a separate process. Returns its exit status and output.
    fn in_a_process(self) -> (ExitStatus, String) {
        let Self { image, format, salvage, fails } = self;
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "allocations::one_run", "--nocapture", "--test-threads=1"])
            // Looking up the lines of a backtrace takes a second.
            .env("RUST_BACKTRACE", "0")
            .env(TASK, format!("{image} {format} {salvage} {fails}"))
            .output()
            .unwrap();
        (output.status, String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    }
}

/// The environment variable with the run of a process.
const TASK: &str = "DECANT_TEST_ALLOCATION";

/// The exit codes of a run: the result equals that of a run without failures; an error of the right kind.
const SAME: i32 = 40;
const TOLD: i32 = 41;
const SIGABRT: i32 = 6;

/// One run, which the tests below start with `TASK` in its environment. Without it, all images are converted, and no
/// allocation fails.
#[test]
fn one_run() {
    let Ok(task) = std::env::var(TASK) else {
        for (image, salvage) in (0..IMAGES).flat_map(|image| [(image, false), (image, true)]) {
            let (result, count) = Task { image, format: PLAIN, salvage, fails: 0 }.run();
            let (disk, lost) = result.unwrap();
            assert!(lost == 0 && disk.iter().any(|&byte| byte != 0) && count > 10, "{image}");
        }
        return;
    };
    let mut words = task.split(' ');
    let mut word = || words.next().unwrap();
    let (image, format) = (word().parse().unwrap(), word());
    let salvage = word().parse().unwrap();
    let task = Task { image, format, salvage, fails: word().parse().unwrap() };
    let (expected, _) = Task { fails: 0, ..task }.run();
    match task.run().0 {
        Err(error) => {
            assert!(matches!(error.kind, ErrorKind::Internal | ErrorKind::Limit), "{:?}: {error}", error.kind);
            std::process::exit(TOLD);
        }
        Ok(done) => {
            assert!(Ok(done) == expected, "other bytes, or losses");
            std::process::exit(SAME);
        }
    }
}

/// Fails one allocation after another, or a sample of them, in conversions with or without `salvage`.
fn fail_each(salvage: bool) {
    let sample = by_scope(24, 24, usize::MAX);
    // These have decoders with separate buffers: the full run tries all their allocations, not a sample.
    const ALL_OF: [u8; 4] = [6, 7, bases::BASES, IN_GZIP];
    let (mut told, mut aborted) = (0, 0);
    for (image, format) in (0..IMAGES).map(|image| (image, PLAIN)).chain(ASSEMBLED.map(|format| (0, format))) {
        let (_, count) = Task { image, format, salvage, fails: 0 }.run();
        let is_special = ALL_OF.contains(&image) || format != PLAIN;
        let all = scope() == Scope::Long || (scope() == Scope::Full && is_special);
        let step = if all { 1 } else { (count as usize / sample).max(1) };
        for fails in (1..=count).step_by(step) {
            let task = Task { image, format, salvage, fails };
            let (status, said) = task.in_a_process();
            match (status.code(), status.signal()) {
                (Some(TOLD), _) => told += 1,
                (_, Some(SIGABRT)) if said.contains("memory allocation of") => aborted += 1,
                (Some(SAME), _) => {}
                _ => panic!("{task:?}: {status}: {said}"),
            }
        }
    }
    assert!(told > 0 && aborted > 0, "{told} are told, {aborted} abort");
}

#[test]
fn no_conversion_takes_it_for_damage() {
    fail_each(false);
}

#[test]
fn no_salvage_takes_it_for_damage() {
    fail_each(true);
}
