//! Reads outputs by programs that are independent of Decant, and by Decant.

use super::{GIB, MIB, dynamic_vhd as second, ova_rules, vdi as strict_vdi, vhdx as strict_vhdx};
use crate::common::{Case, filter, open_bytes, qemu, text};
use decant::OpenOptions;
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// The size of a VHD's footer, in bytes.
const FOOTER: usize = 512;
/// The unit of tar.
const TAR: usize = 512;

pub fn plain(output: &[u8], count: usize) -> Vec<u8> {
    output[..count.min(output.len())].to_vec()
}

pub fn vhd(output: &[u8], count: usize) -> Vec<u8> {
    plain(&output[..output.len() - FOOTER], count)
}

pub fn dynamic_vhd(output: &[u8], count: usize) -> Vec<u8> {
    plain(&second::disk(output.to_vec()), count)
}

pub fn gzip(output: &[u8], count: usize) -> Vec<u8> {
    let mut disk = filter("gzip", &["-dc"], output);
    disk.truncate(count);
    disk
}

pub fn zstd(output: &[u8], count: usize) -> Vec<u8> {
    let mut disk = filter("zstd", &["-dc"], output);
    disk.truncate(count);
    disk
}

pub fn xz(output: &[u8], count: usize) -> Vec<u8> {
    let mut disk = filter("xz", &["-dc"], output);
    disk.truncate(count);
    disk
}

/// Decompresses only the needed part: the disk has a GiB.
pub fn archive(output: &[u8], count: usize) -> Vec<u8> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(output).unwrap();
    file.rewind().unwrap();
    let script = "gzip -dc | head -c \"$0\"";
    let count = (TAR + count).to_string();
    let head = Command::new("sh").args(["-c", script, &count]).stdin(Stdio::from(file)).output().unwrap();
    head.stdout[TAR..].to_vec()
}

pub fn is_raw(path: &Path, disk: &[u8]) {
    assert!(std::fs::read(path).unwrap() == disk, "other bytes");
}

/// QEMU finds the same size to the byte, and the same content.
pub fn is_vhd(path: &Path, disk: &[u8]) {
    let size = (disk.len() as u64).next_multiple_of(MIB).max(MIB);
    let info: serde_json::Value =
        serde_json::from_str(&qemu("qemu-img", &["info", "-f", "vpc", "--output=json", text(path)])).unwrap();
    assert_eq!(info["virtual-size"], size);
    let raw = path.with_extension("padded");
    std::fs::write(&raw, disk).unwrap();
    File::options().write(true).open(&raw).unwrap().set_len(size).unwrap();
    qemu("qemu-img", &["compare", "-f", "vpc", "-F", "raw", text(path), text(&raw)]);
}

pub fn is_dynamic_vhd(path: &Path, disk: &[u8]) {
    is_in_sectors("vpc", path, disk, second::disk);
}

pub fn vhdx(output: &[u8], count: usize) -> Vec<u8> {
    plain(&strict_vhdx::disk(output.to_vec()), count)
}

/// The strict reader, QEMU and Decant find the same size to the byte, and the same content.
pub fn is_vhdx(path: &Path, disk: &[u8]) {
    qemu("qemu-img", &["check", "-f", "vhdx", text(path)]);
    is_in_sectors("vhdx", path, disk, strict_vhdx::disk);
}

pub fn vdi(output: &[u8], count: usize) -> Vec<u8> {
    plain(&strict_vdi::disk(output.to_vec()), count)
}

/// QEMU finds no fault. The strict reader, QEMU and Decant find the same size to the byte, and the same content.
pub fn is_vdi(path: &Path, disk: &[u8]) {
    qemu("qemu-img", &["check", "-f", "vdi", text(path)]);
    is_in_sectors("vdi", path, disk, strict_vdi::disk);
}

/// QEMU, Decant and `second`, another reader, find `disk` in whole sectors, at least one.
fn is_in_sectors(format: &str, path: &Path, disk: &[u8], second: fn(Vec<u8>) -> Vec<u8>) {
    let mut disk = disk.to_vec();
    disk.resize(disk.len().next_multiple_of(512).max(512), 0);
    let file = std::fs::read(path).unwrap();
    assert!(second(file.clone()) == disk, "other bytes");
    assert!(decant(file) == disk, "other bytes by Decant");
    is_same(format, path, &disk);
}

pub fn qcow2(output: &[u8], count: usize) -> Vec<u8> {
    by_qemu("qcow2", output, count)
}

pub fn vmdk(output: &[u8], count: usize) -> Vec<u8> {
    by_qemu("vmdk", output, count)
}

fn by_qemu(format: &str, output: &[u8], count: usize) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let (image, raw) = (folder.path().join("image"), folder.path().join("raw"));
    std::fs::write(&image, output).unwrap();
    qemu("qemu-img", &["convert", "-f", format, "-O", "raw", text(&image), text(&raw)]);
    let mut disk = std::fs::read(&raw).unwrap();
    disk.truncate(count);
    disk
}

/// QEMU finds no fault, and the same size and content.
pub fn is_qcow2(path: &Path, disk: &[u8]) {
    qemu("qemu-img", &["check", "-f", "qcow2", text(path)]);
    is_same("qcow2", path, disk);
}

pub fn is_vmdk(path: &Path, disk: &[u8]) {
    // A VMDK has at least one sector.
    is_same("vmdk", path, if disk.is_empty() { &[0; 512] } else { disk });
}

pub fn ova(output: &[u8], count: usize) -> Vec<u8> {
    let disks = ova_rules::check(output).unwrap();
    vmdk(&disks[0], count)
}

/// The archive breaks no rule, and QEMU finds the same disk in the file that GNU tar extracts.
pub fn is_ova(path: &Path, disk: &[u8]) {
    ova_rules::check(&std::fs::read(path).unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new("tar").args(["-C", text(folder.path()), "-xvf", text(path)]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert_eq!(output.stdout, b"disk.ovf\ndisk-disk1.vmdk\ndisk.mf\n");
    is_vmdk(&folder.path().join("disk-disk1.vmdk"), disk);
}

fn is_same(format: &str, path: &Path, disk: &[u8]) {
    let raw = path.with_extension("raw");
    std::fs::write(&raw, disk).unwrap();
    let info: serde_json::Value =
        serde_json::from_str(&qemu("qemu-img", &["info", "-f", format, "--output=json", text(path)])).unwrap();
    assert_eq!(info["virtual-size"], disk.len());
    qemu("qemu-img", &["compare", "-f", format, "-F", "raw", text(path), text(&raw)]);
}

/// gzip checks the CRC and the length.
pub fn is_gzip(path: &Path, disk: &[u8]) {
    assert!(gzip(&std::fs::read(path).unwrap(), usize::MAX) == disk, "other bytes");
}

/// zstd checks the checksum of each frame. Each entry of the seek table leads to a frame that decompresses alone, with a stated
/// size and a checksum.
pub fn is_zstd(path: &Path, disk: &[u8]) {
    const FRAME: usize = 4 << 20;
    let file = std::fs::read(path).unwrap();
    assert!(zstd(&file, usize::MAX) == disk, "other bytes");
    let number = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    let footer = file.len() - 9;
    assert_eq!((number(footer + 5), file[footer + 4]), (0x8f92_eab1, 0));
    let count = number(footer);
    // An empty disk is an empty frame, by which programs recognise the file.
    let frames: Vec<_> = if disk.is_empty() { vec![disk] } else { disk.chunks(FRAME).collect() };
    assert_eq!(count, frames.len());
    let table = footer - 8 * count - 8;
    assert_eq!((number(table), number(table + 4)), (0x184d_2a5e, 8 * count + 9));
    let mut at = 0;
    for (index, content) in frames.into_iter().enumerate() {
        let entry = table + 8 + 8 * index;
        let frame = &file[at..at + number(entry)];
        assert_eq!(number(entry + 4), content.len());
        assert!(zstd(frame, usize::MAX) == content, "another frame {index}");
        assert!(frame[4] & 4 != 0, "frame {index} has no checksum");
        assert_eq!(stated_size(frame), content.len());
        at += frame.len();
    }
    assert_eq!(at, table);
}

/// xz checks the checks of blocks and the index. Each block states its sizes and has up to 4 MiB of data.
pub fn is_xz(path: &Path, disk: &[u8]) {
    const BLOCK: usize = 4 << 20;
    let file = std::fs::read(path).unwrap();
    assert!(xz(&file, usize::MAX) == disk, "other bytes");
    let listed = Command::new("xz").args(["--list", "--robot", "--verbose", "--verbose", text(path)]).output().unwrap();
    assert!(listed.status.success(), "{listed:?}");
    let listed = String::from_utf8(listed.stdout).unwrap();
    let blocks: Vec<Vec<_>> =
        listed.lines().filter(|line| line.starts_with("block\t")).map(|line| line.split('\t').collect()).collect();
    let sizes: Vec<_> = disk.chunks(BLOCK).map(|data| data.len().to_string()).collect();
    assert_eq!(blocks.iter().map(|block| block[7]).collect::<Vec<_>>(), sizes);
    for block in blocks {
        // The check, its flags (compressed and uncompressed size), and the filters.
        assert_eq!((block[9], block[12], block[15]), ("CRC64", "cu", "--lzma2=dict=1MiB"), "{block:?}");
    }
}

/// The content size in the header of a zstd frame (RFC 8878, section 3.1.1.1.4).
fn stated_size(frame: &[u8]) -> usize {
    let (kind, has_window) = (frame[4] >> 6, frame[4] & 0x20 == 0);
    let field = &frame[if has_window { 6 } else { 5 }..];
    match kind {
        0 => field[0].into(),
        1 => usize::from(u16::from_le_bytes(field[..2].try_into().unwrap())) + 256,
        2 => u32::from_le_bytes(field[..4].try_into().unwrap()) as usize,
        _ => panic!("eight bytes for a frame of 4 MiB"),
    }
}

/// The archive has one file of whole GiB, and ends as archives do. It is decompressed once, and sent on to tar.
pub fn is_archive(path: &Path, disk: &[u8]) {
    const PART: usize = 64 << 10;
    let mut unzip = Command::new("gzip").args(["-dc", text(path)]).stdout(Stdio::piped()).spawn().unwrap();
    let mut content = unzip.stdout.take().unwrap();
    let mut list =
        Command::new("tar").args(["--utc", "-tvf", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut archive = list.stdin.take().unwrap();
    let mut head = vec![0; TAR + disk.len()];
    content.read_exact(&mut head).unwrap();
    archive.write_all(&head).unwrap();
    assert!(head[TAR..] == *disk, "other bytes");
    let (mut part, zeros, mut len) = (vec![0; PART], vec![0; PART], head.len() as u64);
    loop {
        let count = content.read(&mut part).unwrap();
        if count == 0 {
            break;
        }
        assert!(part[..count] == zeros[..count], "no zeros after the disk");
        archive.write_all(&part[..count]).unwrap();
        len += count as u64;
    }
    drop(archive);
    assert!(unzip.wait().unwrap().success());
    let listed = list.wait_with_output().unwrap();
    assert!(listed.status.success());
    let listed = String::from_utf8(listed.stdout).unwrap();
    let words: Vec<_> = listed.split_whitespace().collect();
    let size = (disk.len() as u64).next_multiple_of(GIB).max(GIB);
    assert_eq!([&words[..3], &words[5..]].concat(), ["-rw-r--r--", "root/root", &size.to_string(), "disk.raw"]);
    // Archives end at a multiple of 10,240 bytes, with two blocks of zeros or more.
    assert!(len.is_multiple_of(10_240) && len >= TAR as u64 + size + 1024, "{len} bytes");
}

pub fn decant_opens(file: Vec<u8>) -> bool {
    open_bytes(file, OpenOptions::default()).is_ok()
}

pub fn decant(file: Vec<u8>) -> Vec<u8> {
    Case::new(file).bytes().unwrap()
}
