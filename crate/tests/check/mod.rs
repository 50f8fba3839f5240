//! The check of an image's file, beside `qemu-img check`.

mod damages;
mod qcow2;

use crate::common::random::Random;
use crate::common::*;
use damages::{Damage, Expected, damage, damages};
use decant::disk::file_check::{CheckProgress, FileCheck};
use decant::open::chain::Companion;
use decant::{Image, OpenOptions, Result};
use futures_executor::block_on;
use qcow2::{COPIED, Qcow2};
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
    let sound = bases.iter().map(|base| damage("no change", base.name, |_| {}, Expected::Sound));
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
