//! Disk images in gzip, xz, zstd, bzip2, tar and zip: valid files for changes, and a second, plain reader.

use super::changes;
use super::checksum::crc32;
use super::conversion::convert_in_order;
use super::examine::{Seen, convert_if_small, settled};
use super::memory::{Disk, Memory};
use super::opened::{Opened, open};
use super::reference::zip;
use super::small;
use decant::container::part::PartDecoder;
use decant::convert::{Cancel, InOrder, Output};
use decant::crypt::Keys;
use decant::io::stream::{ByteStream, FileStream};
use decant::native::{Inline, InlineParts};
use decant::open::streamed_image::StreamedImage;
use decant::output::{BLOCK, OUTPUT_FORMATS, Options, Stamp};
use decant::{Error, Image, Input, OpenOptions};
use futures_executor::block_on;
use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};
use std::rc::Rc;

/// The number of valid files.
pub const BASES: u8 = 15;

/// [`disk`] as xz, zstd and bzip2 pack it; the first two without checksums, so that changes reach the disk.
const PACKED: [&[u8]; 3] =
    [include_bytes!("packed/disk.xz"), include_bytes!("packed/disk.zst"), include_bytes!("packed/disk.bz2")];
/// The unit of tar.
const TAR: usize = 512;
/// Where the checksum of a header of tar is, and the signature.
const SUM: usize = 148;
const MAGIC: usize = 257;
/// Maximum number of bytes of a container that the second reader reads.
const LARGEST: usize = 4 << 20;

/// A raw disk whose size is not a multiple of a sector, with the signature of a boot sector.
pub fn disk() -> Vec<u8> {
    let mut disk: Vec<u8> = (0..9000usize).map(|at| if at / 3000 == 1 { 0 } else { (at * at / 900) as u8 }).collect();
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    disk
}

fn member(name: &str, kind: u8, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; TAR];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    bytes[124..136].copy_from_slice(format!("{:011o}\0", data.len()).as_bytes());
    bytes[156] = kind;
    bytes[MAGIC..MAGIC + 8].copy_from_slice(b"ustar\x0000");
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().next_multiple_of(TAR), 0);
    bytes
}

fn tar(members: &[Vec<u8>]) -> Vec<u8> {
    summed([&members.concat()[..], &[0; 2 * TAR]].concat())
}

/// The archive with corrected header checksums.
fn summed(mut archive: Vec<u8>) -> Vec<u8> {
    for block in archive.chunks_exact_mut(TAR).filter(|block| block[MAGIC..].starts_with(b"ustar")) {
        block[SUM..SUM + 8].fill(b' ');
        let sum: u32 = block.iter().map(|&byte| u32::from(byte)).sum();
        block[SUM..SUM + 8].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    archive
}

/// A gzip member, with `name` unless that is empty.
fn gzip(name: &[u8], data: &[u8]) -> Vec<u8> {
    let (flags, end): (u8, &[u8]) = if name.is_empty() { (0, b"") } else { (8, b"\0") };
    [&[0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3], name, end, &compress_to_vec(data, 6), &trailer(data)].concat()
}

/// An archive of one file, packed by `method` as `packed`.
fn zip(method: u8, content: &[u8], packed: &[u8]) -> Vec<u8> {
    let [crc, len, size] = [crc32(content), packed.len() as u32, content.len() as u32].map(u32::to_le_bytes);
    let fields = [&[20, 0, 0, 0, method, 0, 0, 0, 0, 0][..], &crc, &len, &size, &[1, 0, 0, 0]].concat();
    let local = [b"PK\x03\x04", &fields[..], b"a", packed].concat();
    let central = [b"PK\x01\x02\x14\0", &fields[..], &[0; 14], b"a"].concat();
    let [at, len] = [local.len() as u32, central.len() as u32].map(u32::to_le_bytes);
    let end = [b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &len[..], &at, &[0, 0]].concat();
    [local, central, end].concat()
}

fn trailer(data: &[u8]) -> [u8; 8] {
    let number = u64::from(crc32(data)) | (data.len() as u64) << 32;
    number.to_le_bytes()
}

/// The file number `number`, a part of which `change` changes.
fn base(number: u8, change: impl Fn(Vec<u8>) -> Vec<u8>) -> Vec<u8> {
    let file = |name: &str, data: &[u8]| member(name, b'0', data);
    let raw = disk();
    match number {
        0 => change(tar(&[file("a", &raw)])),
        1 => change(tar(&[file("a.ovf", b"text"), file("a.qcow2", &small::small())])),
        2 => change(gzip(b"", &raw)),
        3 => change([gzip(b"name", &raw[..4000]), gzip(b"", &raw[4000..])].concat()),
        4 => gzip(b"", &change(tar(&[file("a", &raw)]))),
        5 => tar(&[file("a.gz", &change(gzip(b"", &raw)))]),
        6 => gzip(b"", &change(gzip(b"", &raw))),
        7 => change(tar(&[
            member("./", b'5', b""),
            member("x", b'x', b"15 path=x/long\n"),
            member("x", b'L', b"x/disk.raw\0"),
            file("short", &raw),
        ])),
        8 => change(gzip(b"", &tar(&[file("a", &raw)]))),
        10..13 => change(PACKED[usize::from(number) - 10].to_vec()),
        13 => change(zip(0, &small::small(), &small::small())),
        14 => change(zip(8, &raw, &compress_to_vec(&raw, 6))),
        _ => tar(&[file("a.tar", &change(tar(&[file("a.qcow2", &small::small())])))]),
    }
}

/// Interprets `input` as changes to one of the valid files, or as a file. A bit of the second byte states whether
/// checksums are corrected.
pub fn container(input: &[u8]) -> Seen {
    let [number, how, rest @ ..] = input else { return Seen::default() };
    let repaired = |file: Vec<u8>| match how & 1 {
        1 if file.starts_with(&[0x1f, 0x8b]) => retrailed(file),
        1 => summed(file),
        _ => file,
    };
    let number = number % (BASES + 1);
    if number == BASES {
        return examine(repaired(rest.to_vec()));
    }
    examine(base(number, |file| repaired(changes::apply(file, rest))))
}

/// The file with the checksum and size of its first gzip member corrected, if its data can be decompressed.
fn retrailed(file: Vec<u8>) -> Vec<u8> {
    match gzip_member(&file) {
        Some((data, len)) => [&file[..len], &trailer(&data)].concat(),
        None => file,
    }
}

/// The data of the first gzip member, and the position of its trailer. It may have a name, but no other field.
fn gzip_member(file: &[u8]) -> Option<(Vec<u8>, usize)> {
    if !file.starts_with(&[0x1f, 0x8b, 8]) || file.len() < 10 || file[3] & !9 != 0 {
        return None;
    }
    let name = if file[3] & 8 != 0 { file[10..].iter().position(|&byte| byte == 0)? + 1 } else { 0 };
    let (mut at, mut data) = (10 + name, Vec::new());
    let mut state = InflateState::new_boxed(DataFormat::Raw);
    let mut part = vec![0; 64 << 10];
    loop {
        let step = inflate(&mut state, &file[at..], &mut part, MZFlush::None);
        at += step.bytes_consumed;
        data.extend_from_slice(&part[..step.bytes_written]);
        match step.status {
            Ok(MZStatus::StreamEnd) => return Some((data, at)),
            Ok(_) if step.bytes_written > 0 && data.len() <= LARGEST => {}
            _ => return None,
        }
    }
}

/// The content of a gzip file that the first reader accepts; `None` if only that one supports it.
fn gunzip(mut file: &[u8]) -> Option<Vec<u8>> {
    let mut all = Vec::new();
    while file.iter().any(|&byte| byte != 0) {
        let (data, end) = gzip_member(file)?;
        assert_eq!(file.get(end..end + 8)?, trailer(&data), "a wrong checksum or size is accepted");
        all.extend(data);
        file = &file[end + 8..];
    }
    Some(all)
}

/// The regular files of an archive; `None` if it is invalid, or if only the first reader supports it.
fn files(archive: &[u8]) -> Option<Vec<&[u8]>> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < archive.len() {
        let header = archive.get(at..at + TAR)?;
        if header.iter().all(|&byte| byte == 0) {
            break;
        }
        let kind = header[156];
        let len = usize::from_str_radix(std::str::from_utf8(&header[124..135]).ok()?, 8).ok()?;
        let data = match kind {
            b'0' => archive.get(at + TAR..at + TAR + len)?,
            b'5' => &[],
            _ => return None,
        };
        if kind == b'0' {
            found.push(data);
        }
        at += TAR + data.len().next_multiple_of(TAR);
    }
    Some(found)
}

/// The contents of a file that may be its disk, by the second readers, each with the number of its containers. An archive may have
/// several.
fn unpacked(file: Vec<u8>, depth: usize) -> Vec<(Vec<u8>, usize)> {
    let packed: Vec<Vec<u8>> = if file.starts_with(&[0x1f, 0x8b, 8]) {
        gunzip(&file).into_iter().collect()
    } else if file.get(MAGIC..).is_some_and(|rest| rest.starts_with(b"ustar")) {
        files(&file).into_iter().flatten().map(<[u8]>::to_vec).collect()
    } else if file.starts_with(b"PK\x03\x04") {
        zip::files(&file).into_iter().flatten().flatten().collect()
    } else {
        return vec![(file, depth)];
    };
    // A file may be a raw disk by its name, whatever its content begins like.
    let inner = |file: Vec<u8>| std::iter::once((file.clone(), depth + 1)).chain(unpacked(file, depth + 1));
    packed.into_iter().flat_map(inner).collect()
}

fn opened(file: &[u8], salvage: bool) -> Result<Opened, Error> {
    let options = OpenOptions { salvage, ..OpenOptions::default() };
    block_on(open(Input::File(Rc::new(Memory(file.to_vec()))), &options))
}

/// Opens and converts `file`. Panics if the result is wrong.
pub fn examine(file: Vec<u8>) -> Seen {
    let mut seen = Seen::default();
    let sizes = [64 << 10, 4 << 10];
    let (results, info) = match opened(&file, false) {
        Ok(Opened::Image(image)) => (whole(&image, &sizes), image.info()),
        Ok(Opened::Streamed(image)) => {
            let mut results: Vec<_> = sizes.iter().map(|&size| in_order(&image, size, false)).collect();
            results.push(in_order(&image, sizes[0], true));
            let stream: Box<dyn ByteStream> = Box::new(FileStream::new(Rc::new(Memory(file.clone()))));
            // Only the outermost container of a file can be read at any position if it is an archive.
            if !["tar", "zip"].contains(&image.info().containers[0].name) {
                match block_on(open(Input::Stream(stream), &OpenOptions::default())) {
                    Ok(Opened::Streamed(streamed)) => results.push(in_order(&streamed, sizes[0], false)),
                    _ => panic!("only a file is opened, and no stream"),
                }
            }
            (results, image.info())
        }
        // Without the files of its disks, that is refused.
        Ok(Opened::Machine(_)) => panic!("there are no disks"),
        Err(error) => {
            assert!(!error.message().is_empty());
            if let Ok(Opened::Image(image)) = opened(&file, true) {
                whole(&image, &sizes);
            }
            ensure_refusal(&file, &error);
            return seen;
        }
    };
    seen.opened = true;
    for result in &results[results.len().min(1)..] {
        assert!(result.is_ok() == results[0].is_ok(), "only in one way: {:?}", info.containers);
        if let (Ok(one), Ok(other)) = (&results[0], result) {
            assert!(one.blocks == other.blocks && one.len == other.len, "other bytes in another way");
        }
    }
    let Some(Ok(disk)) = results.first() else { return seen };
    (seen.read, seen.converted) = (true, true);
    if let Ok(Opened::Image(image)) = opened(&file, true) {
        let [Ok(salvaged), _] = &whole(&image, &sizes)[..] else { panic!("what is whole cannot be salvaged") };
        assert!(salvaged.blocks == disk.blocks, "salvage has other bytes");
    }
    let is_zip = info.containers[0].name == "zip";
    assert!(!is_zip || zip::files(&file).is_some(), "the second reader refuses the archive");
    let depth = info.containers.len();
    let contents: Vec<_> = unpacked(file, 0).into_iter().filter(|(_, found)| *found == depth).collect();
    if info.format == "raw" && !contents.is_empty() {
        let is_same = contents.into_iter().any(|(content, _)| has_bytes(disk, content));
        assert!(is_same, "other bytes than the second reader's");
        seen.compared = true;
    }
    seen
}

/// Whether `disk` is `content`, padded to whole sectors.
fn has_bytes(disk: &Disk, mut content: Vec<u8>) -> bool {
    content.resize(content.len().next_multiple_of(TAR), 0);
    let blocks = disk.blocks.borrow();
    let is_block = |(number, expected): (usize, &[u8])| match blocks.get(&(number as u64)) {
        Some(block) => block == expected,
        None => expected.iter().all(|&byte| byte == 0),
    };
    disk.len.get() == content.len() as u64 && content.chunks(BLOCK as usize).enumerate().all(is_block)
}

/// The second reader must find the damage of a zip archive, too, unless its files overlap or share a name.
fn ensure_refusal(file: &[u8], error: &Error) {
    if ["zip-damaged", "zip-headers-differ"].contains(&&*error.code) {
        assert!(zip::files(file).is_none_or(|files| files.contains(&None)), "a valid archive is refused: {error}");
    }
}

fn whole(image: &Image, sizes: &[u64]) -> Vec<Result<Disk, Error>> {
    convert_if_small(image, sizes).into_iter().map(|(result, _)| result).collect()
}

fn in_order(image: &StreamedImage, job: u64, by_parts: bool) -> Result<Disk, Error> {
    let disk = Disk::default();
    let input = InOrder::new(image, by_parts.then(|| Rc::new(InlineParts) as Rc<dyn PartDecoder>));
    let executor = Inline::new(input.files(), Keys::default(), 3, job);
    let format = &OUTPUT_FORMATS[0];
    let layout = format.layout_in_order(&Options::recommended(format)).expect("a raw disk has any size");
    let output = Output::new(&*layout, Stamp::default(), &disk);
    let result = block_on(convert_in_order(&input, &executor, &output, &|_| {}, &Cancel::default()));
    settled(result.map(|done| assert_eq!(done.disks[0].virtual_size, disk.len.get())), disk)
}
