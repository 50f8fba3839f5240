//! `judges CRATE FILE OUTPUT`: reads the disk in FILE by a crate and writes it to OUTPUT.

use std::error::Error;
use std::fs::File;
use std::io::{Read, Seek, Write, copy};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// As much as is read at a time; larger than a block of some images, and not aligned with one.
const PIECE: usize = 3 << 20;

fn rust_img_vhdx(path: &str, output: &mut File) -> Result<()> {
    let disk = img_vhdx::VhdxReader::open(path)?;
    let mut at = 0;
    while at < disk.virtual_size() {
        let length = (disk.virtual_size() - at).min(PIECE as u64);
        let mut piece = vec![0; length as usize];
        disk.read_at(at, &mut piece)?;
        output.write_all(&piece)?;
        at += length;
    }
    Ok(())
}

fn vhdx_core(path: &str, output: &mut File) -> Result<()> {
    let disk = vhdx::VhdxReader::open(path.as_ref())?;
    let size = disk.virtual_disk_size();
    copy(&mut disk.take(size), output)?;
    Ok(())
}

/// The second half first, so that it is found by the seek table.
fn zeekstd(path: &str, output: &mut File) -> Result<()> {
    let mut decoder = zeekstd::Decoder::new(File::open(path)?)?;
    let size = decoder.seek_table().size_decomp();
    for (from, to) in [(size / 2, size), (0, size / 2)] {
        decoder.set_offset_limit(to)?;
        decoder.set_offset(from)?;
        output.seek(std::io::SeekFrom::Start(from))?;
        let mut piece = vec![0; PIECE];
        loop {
            match decoder.decompress(&mut piece)? {
                0 => break,
                length => output.write_all(&piece[..length])?,
            }
        }
    }
    Ok(())
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [name, path, output] = args.as_slice() else {
        return Err("judges CRATE FILE OUTPUT".into());
    };
    let mut output = File::create(output)?;
    match name.as_str() {
        "rust-img-vhdx" => rust_img_vhdx(path, &mut output),
        "vhdx-core" => vhdx_core(path, &mut output),
        "zeekstd" => zeekstd(path, &mut output),
        _ => Err(format!("there is no crate {name}").into()),
    }
}
