//! The check of an image's file, beside `qemu-img check`.

use crate::common::random::Random;
use crate::common::*;
use decant::disk::file_check::{CheckProgress, FileCheck};
use decant::open::chain::Companion;
use decant::{Image, OpenOptions, Result};
use futures_executor::block_on;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

/// What both programs find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    corruptions: u64,
    leaks: u64,
    unchecked: u64,
    /// Allocated, fragmented and compressed clusters, and the end of the last one.
    layout: [u64; 4],
}

impl Found {
    fn counts(self) -> (u64, u64, u64) {
        (self.corruptions, self.leaks, self.unchecked)
    }

    fn exit_code(self) -> i32 {
        match self {
            Self { unchecked: 1.., .. } => 1,
            Self { corruptions: 1.., .. } => 2,
            Self { leaks: 1.., .. } => 3,
            _ => 0,
        }
    }
}

/// What `qemu-img check` finds in the file at `path`; `None` if it does not open or check it.
fn by_qemu(path: &Path, format: &str) -> Option<Found> {
    let secret = ["--object", "secret,id=key,data=secret", "--image-opts"];
    let encrypted = format!("driver=qcow2,encrypt.key-secret=key,file.filename={}", text(path));
    let input = match format {
        "LUKS" => [&secret[..], &[&encrypted]].concat(),
        _ => vec!["-f", format, text(path)],
    };
    let output = Command::new("qemu-img").args(["check", "--output=json"]).args(input).output();
    let output = output.expect("qemu-utils is installed");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    let number = |name: &str| report[name].as_u64().unwrap_or_default();
    let layout = ["allocated-clusters", "fragmented-clusters", "compressed-clusters", "image-end-offset"];
    let found = Found {
        corruptions: number("corruptions"),
        leaks: number("leaks"),
        unchecked: number("check-errors"),
        layout: layout.map(number),
    };
    assert_eq!(output.status.code(), Some(found.exit_code()), "{report}");
    Some(found)
}

/// What Decant finds in the file at `path`, with the data file `data` if there is one.
fn checked(path: &Path, format: &str, data: &Path) -> Result<FileCheck> {
    let companion = |path: &Path| Companion {
        source: Rc::new(FileSource::open(path).unwrap()),
        name: text(path).to_owned(),
        stands_for: None,
        is_image: false,
    };
    let companions = data.exists().then(|| companion(data)).into_iter().collect();
    let options = OpenOptions { format: Some(format.to_owned()), companions, ..OpenOptions::default() };
    let image = block_on(Image::open(Rc::new(FileSource::open(path).unwrap()), &options))?;
    block_on(image.check_file(CheckProgress::new(|_| {})))
}

fn found(check: &FileCheck) -> Found {
    let FileCheck { corruptions, leaks, unchecked, .. } = *check;
    let layout = [check.allocated_clusters, check.fragmented_clusters, check.compressed_clusters, check.image_end];
    Found { corruptions, leaks, unchecked, layout }
}

/// A qcow2 file, and where its structures are.
#[derive(Clone)]
struct Qcow2(Vec<u8>);

impl Qcow2 {
    fn read(path: &Path) -> Self {
        Self(std::fs::read(path).unwrap())
    }

    fn number(&self, at: usize) -> u64 {
        u64::from_be_bytes(self.0[at..at + 8].try_into().unwrap())
    }

    fn set(&mut self, at: usize, value: u64) {
        self.0[at..at + 8].copy_from_slice(&value.to_be_bytes());
    }

    fn cluster(&self) -> usize {
        1 << (self.number(16) as u32)
    }

    fn l1(&self) -> usize {
        self.number(40) as usize
    }

    fn refcount_table(&self) -> usize {
        self.number(48) as usize
    }

    /// The offset in an entry.
    fn offset(&self, at: usize) -> usize {
        (self.number(at) & 0x00ff_ffff_ffff_fe00) as usize
    }

    fn l2(&self) -> usize {
        self.offset(self.l1())
    }

    /// The first data cluster.
    fn data(&self) -> usize {
        self.offset(self.l2())
    }

    fn refcount_block(&self) -> usize {
        self.offset(self.refcount_table())
    }

    fn refcount_order(&self) -> u32 {
        if self.0[7] < 3 { 4 } else { self.0[99].into() }
    }

    /// Sets the refcount of the cluster at `offset`.
    fn set_refcount(&mut self, offset: usize, value: u64) {
        let (bits, cluster) = (1usize << self.refcount_order(), offset / self.cluster());
        let at = self.refcount_block() + cluster * bits / 8;
        if bits >= 8 {
            self.0[at..at + bits / 8].copy_from_slice(&value.to_be_bytes()[8 - bits / 8..]);
        } else {
            let shift = cluster * bits % 8;
            let mask = ((1u8 << bits) - 1) << shift;
            self.0[at] = self.0[at] & !mask | (value as u8) << shift;
        }
    }

    /// Adds clusters at the end, and returns the offset of the first.
    fn grow(&mut self, clusters: usize) -> usize {
        let (end, cluster) = (self.0.len().next_multiple_of(self.cluster()), self.cluster());
        self.0.resize(end + clusters * cluster, 0);
        end
    }
}

const COPIED: u64 = 1 << 63;

/// Makes an image at `path` with `options`, and with some data.
fn create(path: &Path, format: &str, options: &str, commands: &[&str]) {
    let options = if options.is_empty() { vec![] } else { vec!["-o", options] };
    qemu("qemu-img", &[&["create", "-q", "-f", format], &options[..], &[text(path), "4M"]].concat());
    let commands: Vec<_> = commands.iter().flat_map(|command| ["-c", command]).collect();
    qemu("qemu-io", &[&["-f", format][..], &commands, &[text(path)]].concat());
}

const WRITES: &[&str] = &["write -P 1 0 64k", "write -P 2 1M 32k", "write -z 2M 64k"];

struct Base {
    name: &'static str,
    path: PathBuf,
}

/// Sound images of all kinds.
fn bases(folder: &Path) -> Vec<Base> {
    let mut bases = Vec::new();
    let mut add = |name: &'static str, make: &dyn Fn(&Path)| {
        let path = folder.join(format!("{name}.qcow2"));
        make(&path);
        bases.push(Base { name, path });
    };
    let with = |options: &'static str| move |path: &Path| create(path, "qcow2", options, WRITES);
    add("v3", &with("cluster_size=4k"));
    add("v3 of 64 KiB", &with(""));
    add("v2", &|path: &Path| create(path, "qcow2", "compat=0.10,cluster_size=4k", &WRITES[..2]));
    add("512 bytes", &with("cluster_size=512"));
    add("1 bit", &with("cluster_size=4k,refcount_bits=1"));
    add("2 bits", &with("cluster_size=4k,refcount_bits=2"));
    add("4 bits", &with("cluster_size=4k,refcount_bits=4"));
    add("8 bits", &with("cluster_size=4k,refcount_bits=8"));
    add("32 bits", &with("cluster_size=4k,refcount_bits=32"));
    add("64 bits", &with("cluster_size=4k,refcount_bits=64"));
    add("extended", &with("extended_l2=on,cluster_size=16k"));
    let snapshots = |path: &Path| {
        create(path, "qcow2", "cluster_size=4k", WRITES);
        qemu("qemu-img", &["snapshot", "-c", "first", text(path)]);
        qemu("qemu-io", &["-f", "qcow2", "-c", "write -P 3 4k 8k", text(path)]);
        qemu("qemu-img", &["snapshot", "-c", "second", text(path)]);
    };
    add("snapshots", &snapshots);
    let bitmap = |path: &Path| {
        create(path, "qcow2", "cluster_size=4k", WRITES);
        qemu("qemu-img", &["bitmap", "--add", text(path), "backup"]);
        qemu("qemu-io", &["-f", "qcow2", "-c", "write -P 3 8k 8k", text(path)]);
    };
    add("bitmap", &bitmap);
    let compressed = |path: &Path| {
        let raw = path.with_extension("raw");
        let disk: Vec<u8> = (0..1u32 << 18).flat_map(|at| (at / 7).to_le_bytes()).collect();
        std::fs::write(&raw, disk).unwrap();
        let options = ["convert", "-c", "-f", "raw", "-O", "qcow2", "-o", "cluster_size=16k"];
        qemu("qemu-img", &[&options[..], &[text(&raw), text(path)]].concat());
    };
    add("compressed", &compressed);
    let data_file = |path: &Path| {
        let options = format!("data_file={},cluster_size=4k", text(&path.with_extension("data")));
        create(path, "qcow2", &options, WRITES);
    };
    add("data file", &data_file);
    add("LUKS", &|path: &Path| qcow2_with_luks(path, "1M", "cluster_size=4k", "secret"));
    bases
}

/// A change to an image of one kind.
struct Damage {
    what: &'static str,
    base: &'static str,
    change: fn(&mut Qcow2),
    expected: Expected,
}

enum Expected {
    /// Both find nothing.
    Sound,
    /// Both find the same number of leaks.
    Leaked,
    /// Both find the same numbers of corruptions and leaks.
    Corrupt,
    /// Decant finds so many corruptions and leaks, and `qemu-img check` something else, for this reason.
    Differs(u64, u64, &'static str),
}
use Expected::{Corrupt, Differs, Leaked, Sound};

impl Expected {
    fn is_met(&self, own: Found, qemu: Option<Found>) -> bool {
        match self {
            Sound | Leaked | Corrupt if qemu != Some(own) => false,
            Sound => own.exit_code() == 0,
            Leaked => own.exit_code() == 3,
            Corrupt => own.exit_code() == 2,
            Differs(corruptions, leaks, reason) => {
                assert!(!reason.is_empty());
                own.counts() == (*corruptions, *leaks, 0) && qemu != Some(own)
            }
        }
    }
}

const fn damage(what: &'static str, base: &'static str, change: fn(&mut Qcow2), expected: Expected) -> Damage {
    Damage { what, base, change, expected }
}

fn damages() -> Vec<Damage> {
    let mut rows = vec![];
    for base in ["v3", "v2", "512 bytes", "1 bit", "2 bits", "4 bits", "8 bits", "32 bits", "64 bits", "extended"] {
        rows.extend([
            // The flag "copied" of the entry is wrong, too.
            damage("refcount 0 of data", base, |q| q.set_refcount(q.data(), 0), Corrupt),
            damage("refcount 0 of an L2 table", base, |q| q.set_refcount(q.l2(), 0), Corrupt),
            damage("refcount 0 of the header", base, |q| q.set_refcount(0, 0), Corrupt),
            damage(
                "a leaked cluster",
                base,
                |q| {
                    let at = q.grow(1);
                    q.set_refcount(at, 1);
                },
                Leaked,
            ),
            damage(
                "leaked clusters",
                base,
                |q| {
                    let at = q.grow(3);
                    (0..3).for_each(|n| q.set_refcount(at + n * q.cluster(), 1));
                },
                Leaked,
            ),
            damage(
                "an unused end",
                base,
                |q| {
                    q.grow(3);
                },
                Sound,
            ),
            damage("an L2 entry that is lost", base, lose_entry, Leaked),
        ]);
    }
    for base in ["v3", "v2", "2 bits", "8 bits", "64 bits"] {
        rows.extend([
            damage("refcount 2 of data", base, |q| q.set_refcount(q.data(), 2), Corrupt),
            damage("two L2 entries at one cluster", base, |q| q.set(q.l2() + 8, q.number(q.l2())), Corrupt),
            damage(
                "two L2 entries at a cluster of refcount 2",
                base,
                |q| {
                    let entry = q.number(q.l2()) & !COPIED;
                    q.set_refcount(q.data(), 2);
                    q.set(q.l2(), entry);
                    q.set(q.l2() + 8, entry);
                },
                Leaked,
            ),
            damage("an L2 entry into the header", base, |q| q.set(q.l2() + 0x1f0, COPIED | 512), Corrupt),
            damage("an L2 entry into the L1 table", base, |q| q.set(q.l2() + 0x1f0, COPIED | q.l1() as u64), Corrupt),
            damage(
                "an L2 entry into the refcount table",
                base,
                |q| q.set(q.l2() + 0x1f0, COPIED | q.refcount_table() as u64),
                Corrupt,
            ),
            damage(
                "an L2 entry into a refcount block",
                base,
                |q| q.set(q.l2() + 0x1f0, COPIED | q.refcount_block() as u64),
                Corrupt,
            ),
            damage("an L2 entry after the end", base, |q| q.set(q.l2() + 0x1f0, COPIED | 1 << 30), Corrupt),
            damage("an L2 entry that is not aligned", base, |q| q.set(q.l2(), q.number(q.l2()) + 512), Corrupt),
            damage("reserved bits in an L2 entry", base, |q| q.set(q.l2(), q.number(q.l2()) | 2), Corrupt),
            damage("a flag that is missing", base, |q| q.set(q.l2(), q.number(q.l2()) & !COPIED), Corrupt),
            damage("reserved bits in an L1 entry", base, |q| q.set(q.l1(), q.number(q.l1()) | 1), Corrupt),
            damage("an L1 entry with a missing flag", base, |q| q.set(q.l1(), q.number(q.l1()) & !COPIED), Corrupt),
            damage("an L1 entry after the end", base, |q| q.set(q.l1() + 8, COPIED | 1 << 30), Corrupt),
            damage(
                "an L1 entry that is not aligned",
                base,
                |q| q.set(q.l1() + 8, COPIED | (q.l2() as u64 + 512)),
                Corrupt,
            ),
            damage("two L1 entries at one table", base, |q| q.set(q.l1() + 8, q.number(q.l1())), Corrupt),
            damage(
                "reserved bits in the refcount table",
                base,
                |q| q.set(q.refcount_table(), q.number(q.refcount_table()) | 1),
                Corrupt,
            ),
            damage(
                "two entries at one refcount block",
                base,
                |q| q.set(q.refcount_table() + 8, q.number(q.refcount_table())),
                Corrupt,
            ),
            damage("a refcount block after the end", base, |q| q.set(q.refcount_table() + 8, 1 << 30), Corrupt),
            damage(
                "the file is cut off",
                base,
                |q| {
                    let len = q.0.len();
                    q.0.truncate(len - 2 * q.cluster());
                },
                Corrupt,
            ),
        ]);
    }
    rows.extend([
        damage("the dirty bit", "v3", |q| q.0[79] |= 1, Sound),
        damage("the corrupt bit", "v3", |q| q.0[79] |= 2, Sound),
        damage("a zero cluster with a place after the end", "v3", |q| q.set(q.l2(), COPIED | 1 << 30 | 1), Corrupt),
        damage("a zero cluster in version 2", "v2", |q| q.set(q.l2() + 0x1f0, 1), Differs(1, 0, "QEMU reads it")),
        damage("a subcluster that is allocated and zero", "extended", |q| q.set(q.l2() + 8, u64::MAX), Corrupt),
        damage("a subcluster without a place", "extended", |q| q.set(q.l2() + 0x308, 1), Corrupt),
        damage(
            "a compressed cluster with the flag",
            "compressed",
            |q| q.set(q.l2(), q.number(q.l2()) | COPIED),
            Corrupt,
        ),
        damage("a compressed cluster after the end", "compressed", |q| q.set(q.l2(), 1 << 62 | 1 << 30), Corrupt),
        damage("a compressed cluster over another", "compressed", |q| q.set(q.l2(), q.number(q.l2() + 8)), Sound),
        damage("a compressed cluster in a table", "compressed", |q| q.set(q.l2(), 1 << 62 | q.l1() as u64), Corrupt),
        damage(
            "an L1 table of a snapshot that is not aligned",
            "snapshots",
            |q| {
                let at = q.number(64) as usize;
                q.set(at, q.number(at) + 512);
            },
            Corrupt,
        ),
        damage(
            "an L1 table of a snapshot at the active one",
            "snapshots",
            |q| {
                let at = q.number(64) as usize;
                q.set(at, q.l1() as u64);
            },
            Corrupt,
        ),
        damage(
            "an L1 table of a snapshot after the end",
            "snapshots",
            |q| {
                let at = q.number(64) as usize;
                q.set(at, 1 << 30);
            },
            Corrupt,
        ),
        damage("a refcount that is too high", "snapshots", |q| q.set_refcount(q.data(), 9), Leaked),
        damage("a refcount that is too low", "snapshots", |q| q.set_refcount(q.data(), 2), Corrupt),
        damage("refcount 1 of a shared cluster", "snapshots", |q| q.set_refcount(q.data(), 1), Corrupt),
        damage("an entry after the end in a shared table", "snapshots", |q| q.set(q.l2() + 0x1f0, 1 << 30), Corrupt),
        damage(
            "a directory of bitmaps with refcount 0",
            "bitmap",
            |q| {
                let at = directory(q);
                q.set_refcount(at, 0);
            },
            Corrupt,
        ),
        damage(
            "a table of a bitmap that is not aligned",
            "bitmap",
            |q| {
                let at = directory(q);
                q.set(at, q.number(at) + 512);
            },
            Differs(1, 2, "QEMU gives up"),
        ),
        damage(
            "a bitmap's table after the end",
            "bitmap",
            |q| {
                let at = directory(q);
                q.set(at, 1 << 30);
            },
            Corrupt,
        ),
        damage(
            "reserved bits in a bitmap's table",
            "bitmap",
            |q| {
                let at = directory(q);
                q.set(q.number(at) as usize, 2);
            },
            Differs(1, 1, "QEMU ends the check"),
        ),
        damage(
            "a bitmap's cluster in the header",
            "bitmap",
            |q| {
                let at = directory(q);
                q.set(q.number(at) as usize, 512 << 3);
            },
            Corrupt,
        ),
        damage("bitmaps that are not consistent", "bitmap", |q| q.0[95] = 0, Leaked),
        damage("a compressed cluster with a data file", "data file", |q| q.set(q.l2(), 1 << 62 | 1), Corrupt),
        damage(
            "an entry that is not the guest offset",
            "data file",
            |q| q.set(q.l2() + 8, COPIED | 0x5000),
            Differs(1, 0, "QEMU does not compare it"),
        ),
        damage(
            "refcount 0 of the LUKS header",
            "LUKS",
            |q| {
                let at = luks_header(q);
                q.set_refcount(at, 0);
            },
            Corrupt,
        ),
        damage(
            "an L2 entry into the LUKS header",
            "LUKS",
            |q| {
                let at = luks_header(q);
                q.set(q.l1(), COPIED | at as u64);
            },
            Corrupt,
        ),
    ]);
    rows
}

/// Removes the first L2 entry.
fn lose_entry(q: &mut Qcow2) {
    let has_subclusters = q.0[7] > 2 && q.0[79] & 1 << 4 != 0;
    q.set(q.l2(), 0);
    if has_subclusters {
        q.set(q.l2() + 8, 0);
    }
}

/// The data of the header extension of type `kind`.
fn extension(q: &Qcow2, kind: u32) -> usize {
    let word = |at: usize| u32::from_be_bytes(q.0[at..at + 4].try_into().unwrap());
    let mut at = word(100) as usize;
    while word(at) != kind {
        at += 8 + (word(at + 4) as usize).next_multiple_of(8);
    }
    at + 8
}

fn directory(q: &Qcow2) -> usize {
    q.number(extension(q, 0x2385_2875) + 16) as usize
}

fn luks_header(q: &Qcow2) -> usize {
    q.number(extension(q, 0x0537_be77)) as usize
}

impl Base {
    /// The format, as for [`by_qemu`].
    fn format(&self) -> &'static str {
        if self.name == "LUKS" { "LUKS" } else { "qcow2" }
    }

    /// What Decant and QEMU find in `image`, a changed copy of the base.
    fn compared(&self, image: &Qcow2) -> (Result<Found>, Option<Found>) {
        let path = self.path.with_extension("changed");
        std::fs::write(&path, &image.0).unwrap();
        let own = checked(&path, "qcow2", &self.path.with_extension("data")).map(|check| found(&check));
        (own, by_qemu(&path, self.format()))
    }
}

#[test]
fn damaged_qcow2_images_are_judged_as_by_qemu() {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    let bases = bases(folder.path());
    let sound = bases.iter().map(|base| damage("no change", base.name, |_| {}, Sound));
    for Damage { what, base, change, expected } in sound.chain(damages()) {
        let base = bases.iter().find(|known| known.name == base).unwrap();
        let mut image = Qcow2::read(&base.path);
        change(&mut image);
        let (own, qemu) = base.compared(&image);
        if !own.as_ref().is_ok_and(|own| expected.is_met(*own, qemu)) {
            wrong.push(format!("{}: {what}: {own:?}, QEMU {qemu:?}", base.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Changes an entry of one of `tables`: to that of another, to a cluster of `cluster` bytes, or by some bits.
fn change_entry(image: &mut Qcow2, tables: &[usize], cluster: usize, random: &mut Random) {
    let entry = |random: &mut Random| (random.pick(tables) + 8 * random.below(24)).min(image.0.len() - 8);
    let (at, other) = (entry(random), entry(random));
    let value = match random.below(5) {
        0 => image.number(other),
        1 => (random.below(image.0.len() / cluster + 3) * cluster) as u64 | (random.number() & COPIED),
        2 => image.number(at) ^ 1 << random.below(64),
        3 => random.number(),
        _ => 0,
    };
    image.set(at, value);
}

#[test]
fn random_changes_of_qcow2_are_judged_as_by_qemu() {
    let folder = tempfile::tempdir().unwrap();
    let bases = bases(folder.path());
    for seed in 0..by_scope(150, 1000, 20_000) {
        let mut random = Random::new(seed);
        let base = &bases[random.below(bases.len())];
        let mut image = Qcow2::read(&base.path);
        // A change may make another place of them. An image without data has no L2 table, and the header is at offset 0.
        let mut tables = vec![image.l1(), image.l2(), image.refcount_table(), image.refcount_block()];
        tables.retain(|&at| at > 0);
        let cluster = image.cluster();
        (0..=random.below(3)).for_each(|_| change_entry(&mut image, &tables, cluster, &mut random));
        let (own, qemu) = base.compared(&image);
        // Decant adds what it does not read, and QEMU does.
        let is_right = match (&own, qemu) {
            (Ok(own), Some(qemu)) => *own == qemu || (own.corruptions, qemu.corruptions) == (1, 0),
            (_, None) => own.is_err(),
            (Err(_), _) => false,
        };
        assert!(is_right, "seed {seed}, {}: {own:?}, QEMU {qemu:?}", base.name);
    }
}
