//! Outputs that change between the end of a conversion and the reading back by which it is verified. Each change that alters the guest's
//! bytes, or makes the output unreadable, is found, and no other one is reported. Second readers decide which is which.
//!
//! An output is unreadable if the program that reads the whole of it fails: `qemu-img`, `gzip`, `zstd`, `xz`, or GNU tar. A fixed VHD has
//! no structure but its footer, so a footer with a wrong checksum makes it unreadable. Several formats state the same thing twice, and
//! what only one of two readers needs may be damaged while the other reads the right disk: the markers of a VMDK, which importers
//! follow, beside its tables; the seek table of a `raw.zst` beside its frames; copies of headers and footers. Only then may the
//! verification either accept the output or report it.

use super::{OUTPUTS, Output, dynamic_vhd, ova_rules, vdi, vhdx, vmdk_stream, zstd_frames};
use crate::common::random::Random;
use crate::common::*;
use decant::convert::{Cancel, DiskSource, InOrder, SUMMED, sums_of};
use decant::crypt::Keys;
use decant::error::Result;
use decant::io::target::Abilities;
use decant::native::Inline;
use decant::open::Input;
use decant::{Error, OpenOptions};
use std::io::Write;
use std::process::{Command, Stdio};

const SEED: u64 = 58;

/// A disk with data, text and zeros.
fn disk(random: &mut Random) -> Vec<u8> {
    let mut disk = vec![0; (1 + random.below(5)) * 300 * 512];
    let mut at = 0;
    while at < disk.len() {
        let end = disk.len().min(at + 1 + random.below(100_000));
        match random.below(4) {
            0 => {}
            1 => disk[at..end].iter_mut().enumerate().for_each(|(at, byte)| *byte = (at / 7) as u8),
            _ => disk[at..end].fill_with(|| random.byte()),
        }
        at = end;
    }
    disk
}

/// Changes `file` somewhere. Returns what was changed.
fn change(file: &mut Vec<u8>, random: &mut Random) -> String {
    // Half of the places are near an end, where formats have their structures.
    let place = |len: usize, random: &mut Random| match random.below(4) {
        0 => random.below(len.min(2048)),
        1 => len - 1 - random.below(len.min(2048)),
        _ => random.below(len),
    };
    let at = place(file.len(), random);
    let sector = at / 512 * 512;
    let end = file.len().min(sector + 512);
    match random.below(5) {
        0 => {
            let bit = random.below(8);
            file[at] ^= 1 << bit;
            format!("bit {bit} of byte {at}")
        }
        1 => {
            file[at] = random.byte();
            format!("byte {at}")
        }
        2 => {
            file[sector..end].fill(0);
            format!("the sector at {sector}")
        }
        3 => {
            file.truncate(at);
            format!("the end from {at}")
        }
        _ => {
            let (one, other) = (sector / 4096 * 4096, place(file.len(), random) / 4096 * 4096);
            let len = 4096.min(file.len() - one.max(other));
            for byte in 0..len {
                file.swap(one + byte, other + byte);
            }
            format!("the blocks at {one} and {other}")
        }
    }
}

/// What a second reader finds in an output.
enum Found {
    Disk(Vec<u8>),
    /// It reads the disk, but the output breaks a rule of its format, or another reader finds no disk or another one.
    Faulty(Vec<u8>),
    Unreadable,
    /// A structure is damaged, and its copy is intact: a reader may use that, or refuse the output.
    Redundant,
}

/// Reads `file` by a program that is independent of Decant.
fn second(output: &Output, file: &[u8]) -> Found {
    let rules = |rule_is_met: bool, disk: Option<Vec<u8>>| match disk {
        Some(disk) if rule_is_met => Found::Disk(disk),
        Some(disk) => Found::Faulty(disk),
        None => Found::Unreadable,
    };
    // The readers are made for outputs of Decant, and may panic at others.
    let meets_rules = |reads: fn(&[u8]) -> bool| std::panic::catch_unwind(|| reads(file)).unwrap_or(false);
    let both = |disk: Option<Vec<u8>>, other: Option<Vec<u8>>| rules(disk == other, disk);
    match output.name {
        "raw" => Found::Disk(file.to_vec()),
        "raw.gz" => rules(true, by_filter("gzip", file)),
        "raw.zst" => both(by_filter("zstd", file), zstd_frames::content(file)),
        "raw.xz" => rules(true, by_filter("xz", file)),
        // A damaged manifest, or other bytes after a file, break a rule.
        "ova" => rules(
            meets_rules(|file| ova_rules::check(file).is_ok()),
            by_tar(file).and_then(|disk| by_qemu("vmdk", &disk)),
        ),
        "qcow2" => rules(qemu_finds_no_fault(file), by_qemu("qcow2", file)),
        "vmdk" => both(by_qemu("vmdk", file), vmdk_stream::disk(file).ok()),
        "vdi" => rules(meets_rules(|file| vdi::read(file).is_ok()), by_qemu("vdi", file)),
        "vhdx" if by_qemu("vhdx", file).is_none() && vhdx::opens(file.to_vec()) => Found::Redundant,
        "vhdx" => rules(meets_rules(|file| vhdx::read(file).is_ok()), by_qemu("vhdx", file)),
        "vpc" if output.options.is_empty() => rules(true, dynamic_vhd::fixed(file)),
        "vpc" if by_qemu("vpc", file).is_none() && dynamic_vhd::opens(file.to_vec()) => Found::Redundant,
        "vpc" => rules(meets_rules(|file| !dynamic_vhd::disk(file.to_vec()).is_empty()), by_qemu("vpc", file)),
        name => panic!("{name} has no second reader"),
    }
}

pub fn by_filter(command: &str, file: &[u8]) -> Option<Vec<u8>> {
    let mut child = Command::new(command)
        .arg("-dc")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || drop(stdin.write_all(file)));
        let output = child.wait_with_output().unwrap();
        output.status.success().then_some(output.stdout)
    })
}

/// The disk's file in an OVA, by GNU tar.
fn by_tar(file: &[u8]) -> Option<Vec<u8>> {
    let mut archive = tempfile::NamedTempFile::new().unwrap();
    archive.write_all(file).unwrap();
    let found = Command::new("tar").args(["-xOf", text(archive.path()), "disk-disk1.vmdk"]).output().unwrap();
    found.status.success().then_some(found.stdout)
}

fn by_qemu(format: &str, file: &[u8]) -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let (image, raw) = (folder.path().join("image"), folder.path().join("raw"));
    std::fs::write(&image, file).unwrap();
    let driver = format!("driver={format},file.driver=file,file.filename={}", text(&image));
    let driver = if format == "vpc" { format!("{driver},force_size_calc=current_size") } else { driver };
    let options = ["convert", "--image-opts", "-O", "raw", &driver, text(&raw)];
    let converted = Command::new("qemu-img").args(options).output().unwrap();
    converted.status.success().then(|| std::fs::read(raw).unwrap())
}

fn qemu_finds_no_fault(file: &[u8]) -> bool {
    let mut image = tempfile::NamedTempFile::new().unwrap();
    image.write_all(file).unwrap();
    let checked = Command::new("qemu-img").args(["check", "-f", "qcow2", text(image.path())]).output().unwrap();
    checked.status.success()
}

/// What verifying finds when it reads `file` back: `Ok(true)` if it has `disk`.
fn read_back(output: &Output, file: &[u8], disk: &[u8]) -> Result<bool> {
    let source = HeldSource::new(file.to_vec());
    let (reading, content) = (source.clone(), output.format().content);
    let options = OpenOptions {
        format: (content == output.name || content == "raw").then(|| content.to_owned()),
        unpack: content == "raw" && content != output.name,
        containers: Some(output.format().containers),
        ..OpenOptions::default()
    };
    let work = async move {
        let (progress, cancel) = (|_| {}, Cancel::default());
        match open_disk(Input::File(reading), options).await? {
            Opened::Image(image) => {
                let executor = Inline::new(image.files().clone(), image.keys(), 4, 64 << 10);
                sums_of(DiskSource::image(&image, &executor), SEED, &progress, &cancel).await
            }
            Opened::Streamed(image) => {
                let disk = InOrder::new(&image, None);
                let executor = Inline::new(disk.files(), Keys::default(), 4, 64 << 10);
                sums_of(DiskSource::in_order(&disk, &executor), SEED, &progress, &cancel).await
            }
            Opened::Machine(_) => panic!("it is a disk"),
        }
    };
    let found = drive(&source, Answers::InOrder, work).expect("it waits for nothing")?;
    Ok(found.virtual_size == disk.len() as u64 && found.sums.to_bytes()? == sums(disk))
}

/// The sums of `disk`, as bytes.
fn sums(disk: &[u8]) -> Vec<u8> {
    let parts = disk.chunks(SUMMED as usize).enumerate().map(|(number, part)| {
        let number = number as u64;
        (number, decant_codec::sums::sum_of(part, number * (SUMMED / 4096), SEED))
    });
    parts
        .filter(|(_, sum)| *sum != 0)
        .flat_map(|(number, sum)| [&number.to_le_bytes()[..], &sum.to_le_bytes()[..]].concat())
        .collect()
}

/// A failed reading back, with what explains it.
fn explained(result: &Result<bool>) -> String {
    match result {
        Ok(is_same) => format!("Decant: the same is {is_same}"),
        Err(error) => format!("Decant: {}", Error::to_string(error)),
    }
}

#[test]
fn each_change_of_the_disk_is_found_and_no_other_is_reported() {
    let mut wrong = Vec::new();
    let outputs: Vec<_> = OUTPUTS.iter().filter(|output| output.name != "tar.gz").collect();
    let (mut changed, mut unchanged) = (0, 0);
    for (number, output) in outputs.iter().enumerate() {
        for round in 0..by_scope(2, 12, 60) as u64 {
            let random = &mut Random::new(round * 100 + number as u64);
            let given = disk(random);
            let case = Case { format: Some("raw".to_owned()), ..Case::new(given.clone()) };
            let abilities = Abilities { late_start: u64::MAX, ..Abilities::default() };
            let converted = case.convert_with(output.format(), output.options(), Answers::InOrder, abilities, 64 << 10);
            converted.result.unwrap();
            let file = converted.target.bytes.take();
            let size = (output.format().layout)(given.len() as u64, &output.options()).unwrap().disk_size();
            let mut disk = given;
            disk.resize(size as usize, 0);
            let same = read_back(output, &file, &disk);
            assert!(matches!(same, Ok(true)), "{output}, unchanged: {}", explained(&same));
            let sound = second(output, &file);
            assert!(matches!(sound, Found::Disk(found) if found == disk), "{output}, unchanged: the second reader");
            let len = file.len();
            for _ in 0..4 {
                let mut file = file.clone();
                let what = change(&mut file, random);
                // A conversion finds another size without reading the output: what remains is an end of zeros.
                file.resize(len, 0);
                let found = read_back(output, &file, &disk);
                let is_reported = !matches!(found, Ok(true));
                let (is_right, second) = match second(output, &file) {
                    Found::Unreadable => (is_reported, "unreadable"),
                    Found::Disk(other) | Found::Faulty(other) if other != disk => (is_reported, "another disk"),
                    Found::Redundant => (!matches!(found, Ok(false)), "a damaged copy"),
                    // A reader may refuse it, or understand what QEMU ignores, such as the bytes before the blocks of a VDI.
                    Found::Faulty(_) => (true, "the same disk, with a fault"),
                    Found::Disk(_) => (!is_reported, "the same disk"),
                };
                *(if is_reported { &mut changed } else { &mut unchanged }) += 1;
                if !is_right {
                    let explained = explained(&found);
                    wrong.push(format!("{output}, round {round}, {what}: second reader: {second}; {explained}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(changed > 50 && unchanged > 2, "{changed} and {unchanged}");
}
