//! The check of an image's file in other formats than qcow2, beside `qemu-img check` where that checks them.

use crate::common::parallels::{self, Parallels};
use crate::common::small::{self, changed};
use crate::common::vdi::{self, Vdi};
use crate::common::vhd::{self, Vhd};
use crate::common::*;
use decant::disk::file_check::{CheckProgress, FileCheck};
use decant::{Image, OpenOptions, Result};
use futures_executor::block_on;
use std::cell::RefCell;
use std::io::Write;
use std::process::Command;
use std::rc::Rc;

/// What is found: corruptions and leaks.
type Counts = (u64, u64);

struct Row {
    what: &'static str,
    format: &'static str,
    file: Vec<u8>,
    own: Counts,
    qemu: Qemu,
}

enum Qemu {
    /// It finds the same.
    Same,
    /// It finds this, because it does not look for the rest.
    Finds(Counts),
    /// It does not check the format or open the image, or ends the check at the damage.
    Nothing,
}
use Qemu::{Finds, Nothing, Same};

fn by_qemu(format: &str, file: &[u8]) -> Option<Counts> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    std::fs::write(&path, file).unwrap();
    let args = ["check", "--output=json", "-f", format, text(&path)];
    let output = Command::new("qemu-img").args(args).output().expect("qemu-utils is installed");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    let number = |name: &str| report[name].as_u64().unwrap_or_default();
    assert_eq!(number("check-errors"), 0, "{report}");
    Some((number("corruptions"), number("leaks")))
}

fn checked(format: &str, file: Vec<u8>) -> Result<FileCheck> {
    with_progress(format, &file, |_| {})
}

fn with_progress(format: &str, file: &[u8], progress: impl Fn(f64) + 'static) -> Result<FileCheck> {
    let mut image = tempfile::NamedTempFile::new().unwrap();
    image.write_all(file).unwrap();
    let options = OpenOptions { format: Some(format.to_owned()), ..OpenOptions::default() };
    let image = block_on(Image::open(Rc::new(FileSource::open(image.path()).unwrap()), &options))?;
    block_on(image.check_file(CheckProgress::new(progress)))
}

/// `file` with `numbers` at positions, in little endian.
fn with_words(mut file: Vec<u8>, words: &[(usize, u32)]) -> Vec<u8> {
    for (at, word) in words {
        file[*at..at + 4].copy_from_slice(&word.to_le_bytes());
    }
    file
}

fn longer(mut file: Vec<u8>, by: usize) -> Vec<u8> {
    file.resize(file.len() + by, 0);
    file
}

fn rows(format: &'static str, rows: Vec<(&'static str, Vec<u8>, Counts, Qemu)>) -> Vec<Row> {
    rows.into_iter().map(|(what, file, own, qemu)| Row { what, format, file, own, qemu }).collect()
}

/// The file of a new image in `format`, with `options` and some data at 0 and at `second`.
fn made(format: &str, options: &str, size: &str, second: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    qemu("qemu-img", &["create", "-q", "-f", format, "-o", options, text(&path), size]);
    let second = format!("write -P 2 {second} 4k");
    qemu("qemu-io", &["-f", format, "-c", "write -P 1 0 4k", "-c", &second, text(&path)]);
    std::fs::read(path).unwrap()
}

fn number(file: &[u8], at: usize) -> usize {
    u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize
}

fn qeds() -> Vec<Row> {
    const CLUSTER: usize = 4096;
    let file = made("qed", "cluster_size=4k,table_size=2", "32k", "8k");
    let l1 = number(&file, 40);
    let l2 = number(&file, l1);
    let data = number(&file, l2);
    let sound = || file.clone();
    let entry = |index: usize, value: usize| with_words(sound(), &[(l2 + 8 * index, value as u32)]);
    rows(
        "qed",
        vec![
            ("sound", sound(), (0, 0), Same),
            ("an image that needs a check", with_words(sound(), &[(16, 2)]), (0, 0), Same),
            ("two entries at one cluster", entry(3, data), (1, 0), Same),
            ("an entry at the L2 table", entry(3, l2), (1, 0), Same),
            ("an entry in the header", entry(3, 512), (1, 0), Same),
            ("an entry that is not aligned", entry(3, data + 512), (1, 0), Same),
            ("an entry after the end", entry(3, 64 * CLUSTER), (1, 0), Same),
            ("a lost entry", entry(0, 0), (0, 1), Same),
            // Each of the two clusters of the table.
            ("two L1 entries at one table", with_words(sound(), &[(l1 + 8, l2 as u32)]), (2, 0), Same),
            ("an L1 entry after the end", with_words(sound(), &[(l1 + 8, 64 * CLUSTER as u32)]), (1, 0), Same),
            ("an L1 entry that is not aligned", with_words(sound(), &[(l1, l2 as u32 + 8)]), (1, 4), Same),
            ("an unused end", longer(sound(), 2 * CLUSTER), (0, 2), Same),
        ],
    )
}

fn vdis() -> Vec<Row> {
    const BLOCK: usize = 1 << 20;
    let blocks = [vdi::Block::Data(1), vdi::Block::Free, vdi::Block::Data(2), vdi::Block::Zero];
    let image = Vdi::new(BLOCK, &blocks);
    // QEMU needs the size of a sector.
    let sound = || with_words(image.file(), &[(360, 512)]);
    let entry = |number: usize, value: u32| with_words(sound(), &[(image.map() + 4 * number, value)]);
    let extra = Vdi { block_extra: 512, ..image.clone() };
    rows(
        "vdi",
        vec![
            ("sound", sound(), (0, 0), Same),
            ("extra data", extra.file(), (0, 0), Nothing),
            ("two entries at one block", entry(0, 0), (1, 1), Finds((1, 0))),
            ("an entry after the end", entry(1, 2), (2, 0), Finds((1, 0))),
            ("an entry far after the end", entry(1, 1000), (1, 0), Same),
            ("a lost entry", entry(0, vdi::FREE), (1, 1), Finds((1, 0))),
            ("another number of blocks in the header", with_words(sound(), &[(388, 3)]), (1, 0), Same),
            ("an unused end", longer(sound(), BLOCK), (0, 1), Finds((0, 0))),
        ],
    )
}

fn parallels_images() -> Vec<Row> {
    let blocks = [parallels::Block::Data(1), parallels::Block::Absent, parallels::Block::Data(2)];
    let image = Parallels::new(8, &blocks);
    let (file, block) = (image.file(), image.block_size());
    let entry = |number: usize, value: u32| with_words(file.clone(), &[(image.entry(number), value)]);
    let first = image.value(image.data());
    rows(
        "parallels",
        vec![
            ("sound", file.clone(), (0, 0), Same),
            ("not closed", with_words(file.clone(), &[(44, 0x746f_6e59)]), (1, 0), Same),
            ("two entries at one block", entry(1, first), (1, 0), Finds((0, 0))),
            ("an entry after the end", entry(1, 64), (1, 0), Same),
            ("an unused end", longer(file.clone(), 2 * block), (0, 2), Same),
        ],
    )
}

fn vhds() -> Vec<Row> {
    const BLOCK: usize = 4096;
    let blocks = [vhd::Block::Data(1, 0xff), vhd::Block::Data(2, 0xff), vhd::Block::Data(3, 0xff)];
    let entry = |number: usize, sector: u32| {
        let mut file = Vhd::new(BLOCK, &blocks).file();
        file[vhd::TABLE + 4 * number..][..4].copy_from_slice(&sector.to_be_bytes());
        file
    };
    let mut leaked = entry(0, 22);
    let footer = leaked.split_off(leaked.len() - 512);
    leaked.resize(leaked.len() + BLOCK + 512, 0);
    leaked.extend(footer);
    rows(
        "vpc",
        vec![
            // The blocks are at sectors 4, 13 and 22, in reverse order.
            ("sound", entry(0, 22), (0, 0), Nothing),
            ("two entries at one block", entry(0, 4), (1, 1), Nothing),
            ("a block in the header", entry(0, 1), (3, 1), Nothing),
            ("a block after the end", entry(0, 1000), (1, 1), Nothing),
            ("a lost entry", entry(0, u32::MAX), (0, 1), Nothing),
            ("an unused block", leaked, (0, 1), Nothing),
        ],
    )
}

fn vhdxs() -> Vec<Row> {
    const MIB: usize = 1 << 20;
    // QEMU places the log at 1 MiB, and the table at 2 MiB.
    const TABLE: usize = 2 * MIB;
    let file = made("vhdx", "block_size=1M", "4M", "2M");
    let entry =
        |block: usize, value: usize| changed(file.clone(), &[(TABLE + 8 * block, &(value as u64).to_le_bytes())]);
    let first = number(&file, TABLE);
    rows(
        "vhdx",
        vec![
            ("sound", file.clone(), (0, 0), Same),
            ("two entries at one block", entry(1, first), (1, 0), Finds((0, 0))),
            ("a block at the header", entry(1, 6), (1, 0), Finds((0, 0))),
            ("a block in the log", entry(1, MIB | 6), (1, 0), Same),
            ("a block after the end", entry(1, 1 << 30 | 6), (1, 0), Same),
            ("reserved bits", entry(0, first | 1 << 10), (1, 0), Finds((0, 0))),
            ("an unused end", longer(file.clone(), MIB), (0, 0), Same),
        ],
    )
}

fn vmdks() -> Vec<Row> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk.vmdk");
    qemu("qemu-img", &["create", "-q", "-f", "vmdk", text(&path), "8M"]);
    qemu("qemu-io", &["-f", "vmdk", "-c", "write -P 1 0 128k", "-c", "write -P 2 1M 64k", text(&path)]);
    let file = std::fs::read(path).unwrap();
    let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    // The tables of both directories.
    let tables = [48, 56].map(|field| word(word(field) * 512) * 512);
    let entry =
        |number: usize, value: usize| with_words(file.clone(), &tables.map(|table| (table + 4 * number, value as u32)));
    let first = word(tables[0]);
    rows(
        "vmdk",
        vec![
            ("sound", file.clone(), (0, 0), Same),
            (
                "not closed",
                {
                    let mut file = file.clone();
                    file[72] = 1;
                    file
                },
                (0, 0),
                Same,
            ),
            ("two entries at one grain", entry(3, first), (1, 0), Finds((0, 0))),
            ("a grain in a table", entry(3, tables[1] / 512), (1, 0), Finds((0, 0))),
            ("a grain after the end", entry(3, 1 << 20), (1, 0), Nothing),
            ("a lost grain", entry(0, 0), (0, 0), Same),
        ],
    )
}

#[test]
fn damage_is_found_in_each_format() {
    let all = [qeds(), vdis(), parallels_images(), vhds(), vhdxs(), vmdks()];
    let mut wrong = Vec::new();
    for Row { what, format, file, own, qemu } in all.into_iter().flatten() {
        let judged = by_qemu(format, &file);
        let found = checked(format, file).map(|check| (check.corruptions, check.leaks));
        let expected = match qemu {
            Same => Some(own),
            Finds(counts) => Some(counts),
            Nothing => None,
        };
        if found.as_ref().ok() != Some(&own) || judged != expected {
            wrong.push(format!("{format}: {what}: {found:?}, QEMU {judged:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_disk_without_tables_has_none_to_check() {
    for format in ["raw", "vpc"] {
        let mut file = vec![0; 1 << 20];
        if format == "vpc" {
            file.extend(Vhd::new(4096, &[]).footer());
            let end = file.len() - 512;
            file[end + 60..][..4].copy_from_slice(&2u32.to_be_bytes());
            file[end + 48..][..8].copy_from_slice(&(1u64 << 20).to_be_bytes());
            let footer = vhd::with_checksum(file.split_off(end), 64);
            file.extend(footer);
        }
        let check = checked(format, file).unwrap();
        assert_eq!((check.has_tables, check.corruptions, check.leaks), (false, 0, 0), "{format}");
    }
}

/// A qcow2 header of 512-byte clusters, whose L1 table of `entries` entries is at cluster 1, in a file of `size` bytes.
fn with_l1(size: usize, entries: u32) -> Vec<u8> {
    let mut file = small::small();
    file.resize(size, 0);
    file[20..24].copy_from_slice(&9u32.to_be_bytes());
    file[36..40].copy_from_slice(&entries.to_be_bytes());
    file[40..48].copy_from_slice(&512u64.to_be_bytes());
    file
}

#[test]
fn tables_that_are_larger_than_the_file_are_refused() {
    // Each of 65,536 snapshots has the same L1 table.
    let mut file = with_l1(4 << 20, 1);
    let table = 1 << 20;
    file[60..64].copy_from_slice(&16_384u32.to_be_bytes());
    file[64..72].copy_from_slice(&(table as u64).to_be_bytes());
    for number in 0..16_384 {
        let at = table + 40 * number;
        file[at..at + 8].copy_from_slice(&512u64.to_be_bytes());
        file[at + 8..at + 12].copy_from_slice(&1024u32.to_be_bytes());
    }
    let check = checked("qcow2", file).unwrap();
    assert_eq!((check.unchecked, &*check.findings[0].code), (1, "check-too-large"));
}

#[test]
fn a_check_reports_its_progress() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk.qcow2");
    let options = ["-o", "cluster_size=512,preallocation=metadata"];
    qemu("qemu-img", &[&["create", "-q", "-f", "qcow2"], &options[..], &[text(&path), "8M"]].concat());
    let file = std::fs::read(path).unwrap();
    let shares = Rc::new(RefCell::new(Vec::new()));
    let seen = shares.clone();
    let check = with_progress("qcow2", &file, move |share| seen.borrow_mut().push(share)).unwrap();
    assert_eq!((check.corruptions, check.leaks), (0, 0));
    let shares = shares.take();
    assert!(shares.len() > 20 && shares.is_sorted() && shares.iter().all(|share| (0.0..=1.0).contains(share)));
}
