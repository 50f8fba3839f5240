//! Comparisons of disks: the same bytes in any two formats, exact differences, and agreement with `qemu-img compare`.

use crate::common::random::Random;
use crate::common::zip::{Entry, Zip};
use crate::common::*;
use decant::convert::{Cancel, Compared, ComparedDisk, Comparing, ComparisonEvents, compare};
use decant::io::source::FileId;
use decant::native::Inline;
use decant::offsets::{GuestRange, HostOffset};
use decant::open::chain::Companion;
use decant::{Image, Input, OpenOptions, Result, Source};
use futures_executor::block_on;
use futures_util::future::LocalBoxFuture;
use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

/// The size of most disks: neither a whole number of blocks nor of MiB.
const SIZE: usize = (3 << 20) + 1024;

fn disk() -> Vec<u8> {
    let mut disk: Vec<u8> = (0..SIZE).map(|at| (at / 5) as u8 | 1).collect();
    disk[100_000..180_000].fill(0);
    disk[1 << 20..SIZE - 5000].fill(0);
    disk
}

/// A file that counts its reads.
struct Counted(FileSource, Cell<usize>);

impl Source for Counted {
    fn size(&self) -> u64 {
        self.0.size()
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        self.1.set(self.1.get() + 1);
        self.0.read_at(offset, buf)
    }
}

fn file(path: &Path) -> Rc<Counted> {
    Rc::new(Counted(FileSource::open(path).unwrap(), Cell::new(0)))
}

/// Opens an image; one whose name ends in `.raw` as a raw disk.
fn opened(path: &Path, base: Option<(&Path, Rc<Counted>)>) -> Image {
    let format = path.extension().is_some_and(|end| end == "raw").then(|| "raw".to_owned());
    let companion = |(path, source): (&Path, Rc<Counted>)| Companion {
        source,
        name: text(path).to_owned(),
        stands_for: None,
        is_image: false,
    };
    let options =
        OpenOptions { format, companions: base.map(companion).into_iter().collect(), ..OpenOptions::default() };
    match block_on(open(Input::File(file(path)), &options)).unwrap() {
        Opened::Image(image) => image,
        _ => panic!("{} is not an image that is read at any position", path.display()),
    }
}

#[derive(Default)]
struct Events(RefCell<Vec<(u64, u64)>>);

impl ComparisonEvents for Events {
    fn progress(&self, _done: u64, _offset: Option<u64>) {}

    fn differ(&self, ranges: &[GuestRange]) {
        self.0.borrow_mut().extend(ranges.iter().map(|range| (range.start.0, range.len())));
    }
}

/// Compares two images, and returns the ranges, too.
fn compared_with(images: [&Image; 2], comparing: &Comparing) -> (Compared, Vec<(u64, u64)>) {
    let executors = images.map(|image| Inline::new(image.files().clone(), image.keys(), 4, 1 << 20));
    let disks = [0, 1].map(|at| ComparedDisk { image: images[at], executor: &executors[at] });
    let events = Events::default();
    let compared = block_on(compare(disks, comparing, &events, &Cancel::default())).unwrap();
    (compared, events.0.take())
}

fn compared(one: &Path, other: &Path) -> (Compared, Vec<(u64, u64)>) {
    compared_with([&opened(one, None), &opened(other, None)], &Comparing { seed: 7, ..Comparing::default() })
}

fn written(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// An image of `raw` in `format`, with more arguments of `qemu-img convert`.
fn image(raw: &Path, format: &str, args: &[&str]) -> PathBuf {
    let path = raw.with_extension(format!("{}.{format}", args.concat()));
    qemu("qemu-img", &[&["convert", "-f", "raw", "-O", format], args, &[text(raw), text(&path)]].concat());
    path
}

const FORMATS: [(&str, &[&str]); 9] = [
    ("qcow2", &[]),
    ("qcow2", &["-c"]),
    ("qcow2", &["-o", "cluster_size=512"]),
    ("qed", &[]),
    ("vmdk", &[]),
    ("vmdk", &["-o", "subformat=streamOptimized"]),
    ("vdi", &[]),
    ("vhdx", &[]),
    ("parallels", &[]),
];

#[test]
fn one_changed_byte_is_found_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let disk = disk();
    let raw = written(folder.path(), "disk.raw", &disk);
    let mut random = Random::new(58);
    for (format, args) in FORMATS {
        let image = image(&raw, format, args);
        assert_eq!(compared(&image, &raw), (Compared::default(), Vec::new()), "{format} {args:?}");
        let places = [0, SIZE - 1, (2 << 20) - 1, 140_000, random.below(SIZE), random.below(SIZE)];
        for at in places {
            let mut changed = disk.clone();
            changed[at] ^= 1;
            let other = written(folder.path(), "changed.raw", &changed);
            let at = at as u64;
            let expected = Compared { offset: Some(at), bytes: 1, ranges: 1, ..Compared::default() };
            assert_eq!(compared(&image, &other), (expected.clone(), vec![(at, 1)]), "{format} {args:?} {at}");
            assert_eq!(compared(&other, &image), (expected, vec![(at, 1)]), "{format} {args:?} {at}");
        }
    }
}

#[test]
fn all_ranges_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let disk = disk();
    let raw = written(folder.path(), "disk.raw", &disk);
    let zlib = image(&raw, "qcow2", &["-c"]);
    let mut random = Random::new(59);
    for round in 0..by_scope(4, 20, 200) {
        let mut changed = disk.clone();
        for _ in 0..random.below(40) {
            let scale = 1 + random.below(20);
            let (start, len) = (random.below(SIZE), 1 + random.below(1 << scale));
            changed[start..SIZE.min(start + len)].iter_mut().for_each(|byte| *byte ^= 1);
        }
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        for at in (0..SIZE).filter(|&at| disk[at] != changed[at]) {
            match ranges.last_mut() {
                Some((start, len)) if *start + *len == at as u64 => *len += 1,
                _ => ranges.push((at as u64, 1)),
            }
        }
        let (compared, found) = compared(&zlib, &written(folder.path(), "changed.raw", &changed));
        assert!(found == ranges, "round {round}: {} ranges of {}", found.len(), ranges.len());
        assert_eq!(compared.offset, ranges.first().map(|(start, _)| *start));
        assert_eq!((compared.bytes, compared.ranges), (ranges.iter().map(|(_, len)| len).sum(), ranges.len() as u64));
    }
}

/// Layers over one backing file: what both leave out is not read.
#[test]
fn a_shared_backing_file_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let raw = written(folder.path(), "disk.raw", &disk());
    let base = image(&raw, "qcow2", &[]);
    let overlay = |name: &str, writes: &[&str]| {
        let path = folder.path().join(name);
        let create = ["create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", text(&base), text(&path)];
        qemu("qemu-img", &create);
        for write in writes {
            qemu("qemu-io", &["-c", write, text(&path)]);
        }
        path
    };
    let (one, same) = (overlay("a.qcow2", &["write -P 7 2M 64k"]), overlay("b.qcow2", &["write -P 7 2M 64k"]));
    let zeroed = overlay("c.qcow2", &["write -P 7 2M 64k", "write -z 0 64k"]);
    // (the other image, whether the base counts as one file, the first difference, whether the base is read)
    for (other, is_shared, offset, is_read) in
        [(&same, true, None, false), (&same, false, None, true), (&zeroed, true, Some(0), true)]
    {
        let bases = [file(&base), file(&base)];
        let images = [opened(&one, Some((&base, bases[0].clone()))), opened(other, Some((&base, bases[1].clone())))];
        let before = bases.each_ref().map(|base| base.1.get());
        let shared = if is_shared { vec![(FileId(1), FileId(1))] } else { Vec::new() };
        let (compared, _) =
            compared_with([&images[0], &images[1]], &Comparing { seed: 7, shared, ..Comparing::default() });
        assert_eq!(compared.offset, offset);
        let reads = bases.each_ref().map(|base| base.1.get()) != before;
        assert_eq!(reads, is_read, "{} {is_shared}", other.display());
    }
}

/// What `qemu-img compare` says: its exit code, and the offset in its message.
fn qemu_says(one: &Path, other: &Path, is_strict: bool) -> (i32, Option<u64>) {
    let format = |path: &Path| path.extension().unwrap().to_str().unwrap().to_owned();
    let mut command = Command::new("qemu-img");
    command.args(["compare", "-f", &format(one), "-F", &format(other)]);
    let output = command.args(is_strict.then_some("-s")).args([one, other]).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let offset = said.split(|letter: char| !letter.is_ascii_digit()).find_map(|word| word.parse().ok());
    (output.status.code().unwrap(), offset)
}

/// The comparison reads the disk in two windows. A notice about the whole image appears once, in the list of that image.
#[test]
fn notices_of_each_disk() {
    let folder = tempfile::tempdir().unwrap();
    let mut disk = vec![0; 200 << 20];
    for at in [0, 150 << 20] {
        disk[at..at + 4096].fill(7);
    }
    let raw = written(folder.path(), "disk.raw", &disk);
    let zlib = image(&raw, "qcow2", &["-c"]);
    let entry = Entry::stored("disk.qcow2", &std::fs::read(&zlib).unwrap());
    let archive = written(folder.path(), "disk.zip", &Zip::default().made_of(&[entry]).0);
    for (one, other, expected) in [(&zlib, &raw, [0, 0]), (&archive, &raw, [1, 0]), (&zlib, &archive, [0, 1])] {
        let (compared, _) = compared(one, other);
        assert!(compared.notices.iter().flatten().all(|notice| notice.code == "checksum-unchecked"));
        assert_eq!(compared.notices.map(|notices| notices.len()), expected);
    }
}

#[test]
fn it_agrees_with_qemu_img() {
    const SECTOR: u64 = 512;
    let folder = tempfile::tempdir().unwrap();
    let disk = disk();
    let mut changed = disk.clone();
    changed[1_500_000] = 1;
    let mut longer = disk.clone();
    longer.resize(SIZE + (1 << 20), 0);
    let mut with_end = longer.clone();
    with_end[SIZE + 99_999] = 1;
    let disks = [("disk", disk), ("changed", changed), ("longer", longer), ("end", with_end)];
    let raws: Vec<_> =
        disks.iter().map(|(name, bytes)| written(folder.path(), &format!("{name}.raw"), bytes)).collect();
    let images = raws.iter().flat_map(|raw| [image(raw, "qcow2", &[]), image(raw, "qcow2", &["-c"])]);
    let images: Vec<_> = raws.iter().cloned().chain(images).collect();
    for one in &images {
        for other in &images {
            let name = format!("{} {}", one.display(), other.display());
            let (plain, _) = compared(one, other);
            let code = i32::from(plain.offset.is_some());
            let in_sectors = |offset: u64| offset / SECTOR * SECTOR;
            assert_eq!((code, plain.offset.map(in_sectors)), qemu_says(one, other, false), "{name}");
            let ours = [opened(one, None), opened(other, None)];
            if ours[0].virtual_size() != ours[1].virtual_size() {
                continue;
            }
            // A sparse raw file has holes for QEMU, which depend on the file system.
            if [one, other].iter().any(|path| path.extension().unwrap() == "raw") {
                continue;
            }
            let comparing = Comparing { seed: 7, strict: true, ..Comparing::default() };
            let (strict, _) = compared_with([&ours[0], &ours[1]], &comparing);
            let first = [strict.allocation, strict.offset.map(in_sectors)].into_iter().flatten().min();
            assert_eq!((i32::from(first.is_some()), first), qemu_says(one, other, true), "{name}, strict");
        }
    }
}
