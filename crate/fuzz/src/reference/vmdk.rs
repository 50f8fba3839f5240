//! VMDK, disks without a parent.

use super::super::files::Files;
use super::Reference;

/// The bytes of a disk.
pub struct Vmdk<'a> {
    /// The length of each extent, and its content.
    extents: Vec<(u64, Part<'a>)>,
    size: u64,
}

enum Part<'a> {
    Zero,
    Flat(&'a [u8], u64),
    Sparse(Sparse<'a>),
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Kdmv,
    Cowd,
    SeSparse,
}

struct Sparse<'a> {
    file: &'a [u8],
    kind: Kind,
    capacity: u64,
    grain: u64,
    table_entries: u64,
    directories: Vec<u64>,
    /// SESparse: where tables and grains begin.
    tables: u64,
    grains: u64,
    compressed: bool,
    markers: bool,
}

fn number(file: &[u8], at: u64, len: usize) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let bytes = file.get(at..at.checked_add(len)?)?;
    Some(bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)))
}

impl<'a> Vmdk<'a> {
    /// `None` if the image is not supported.
    pub fn open(files: &'a Files) -> Option<Self> {
        let image = &files.image[..];
        if !image.starts_with(b"KDMV") {
            return Self::described(image, files);
        }
        let start = usize::try_from(number(image, 28, 8)?.checked_mul(512)?).ok()?;
        let len = usize::try_from(number(image, 36, 8)?.checked_mul(512)?).ok()?;
        let text = image.get(start..start.checked_add(len)?)?;
        if number(image, 12, 8)? == 0 {
            return Self::described(text, files);
        }
        let sparse = Sparse::open(image)?;
        let lines = lines(text);
        let has_parent = lines.iter().any(|line| line.to_lowercase().replace(' ', "").starts_with("parent"));
        let orphan = lines.iter().any(|line| line == "parentCID=ffffffff");
        let size = sparse.capacity;
        (!has_parent || orphan).then(|| Self { extents: vec![(size, Part::Sparse(sparse))], size })
    }

    fn described(text: &'a [u8], files: &'a Files) -> Option<Self> {
        let lines = lines(text);
        lines.iter().any(|line| line == "parentCID=ffffffff").then_some(())?;
        let mut extents = Vec::new();
        let mut size = 0u64;
        for line in &lines {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [access, sectors, kind, ..] = words[..] else { continue };
            if !["RW", "RDONLY", "NOACCESS"].contains(&access.to_uppercase().as_str()) {
                continue;
            }
            let len = sectors.parse::<u64>().ok()?.checked_mul(512)?;
            let kind = kind.to_uppercase();
            let part = if kind == "ZERO" {
                Part::Zero
            } else {
                let name = &line[line.find('"')? + 1..line.rfind('"')?];
                let found = files.companions.iter().filter(|(other, _)| other == name).collect::<Vec<_>>();
                let [(_, file)] = found[..] else { return None };
                let offset = line[line.rfind('"')? + 1..].split_whitespace().next();
                match &kind[..] {
                    "FLAT" | "VMFS" => Part::Flat(file, offset.unwrap_or("0").parse::<u64>().ok()?.checked_mul(512)?),
                    _ => Part::Sparse(Sparse::open(file)?),
                }
            };
            size = size.checked_add(len)?;
            extents.push((len, part));
        }
        Some(Self { extents, size })
    }
}

impl Reference for Vmdk<'_> {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, guest: u64, len: usize) -> Option<Vec<u8>> {
        let mut start = 0;
        for (size, part) in &self.extents {
            if guest < start + size {
                let at = guest - start;
                return match part {
                    Part::Zero => Some(vec![0; len]),
                    Part::Flat(file, offset) => {
                        let at = usize::try_from(offset + at).ok()?;
                        file.get(at..at + len).map(<[u8]>::to_vec)
                    }
                    Part::Sparse(sparse) => sparse.read(at, len),
                };
            }
            start += size;
        }
        None
    }
}

fn lines(text: &[u8]) -> Vec<String> {
    let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let lines = text.split(|&byte| byte == b'\n').map(|line| String::from_utf8_lossy(line).trim().to_owned());
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

impl<'a> Sparse<'a> {
    fn open(file: &'a [u8]) -> Option<Self> {
        if file.starts_with(b"COWD") {
            return Some(Self {
                file,
                kind: Kind::Cowd,
                capacity: number(file, 12, 4)? * 512,
                grain: number(file, 16, 4)? * 512,
                table_entries: 4096,
                directories: vec![number(file, 20, 4)? * 512],
                tables: 0,
                grains: 0,
                compressed: false,
                markers: false,
            });
        }
        if file.starts_with(&[0xbe, 0xba, 0xfe, 0xca]) {
            return Some(Self {
                file,
                kind: Kind::SeSparse,
                capacity: number(file, 16, 8)?.checked_mul(512)?,
                grain: 4096,
                table_entries: 4096,
                directories: vec![number(file, 128, 8)?.checked_mul(512)?],
                tables: number(file, 144, 8)?.checked_mul(512)?,
                grains: number(file, 192, 8)?.checked_mul(512)?,
                compressed: false,
                markers: false,
            });
        }
        let mut header = 0;
        if number(file, 56, 8)? == u64::MAX {
            let sectors = file.len() / 512;
            let is_zero = |sector: usize| file[sector * 512..][..512].iter().all(|&byte| byte == 0);
            header = (0..sectors).rev().find(|&sector| !is_zero(sector))? as u64 * 512;
        }
        let flags = number(file, header + 8, 4)?;
        let mut directories = vec![number(file, header + 56, 8)?.checked_mul(512)?];
        if flags & 2 != 0 && number(file, header + 48, 8)? != 0 {
            directories.push(number(file, header + 48, 8)?.checked_mul(512)?);
        }
        Some(Self {
            file,
            kind: Kind::Kdmv,
            capacity: number(file, header + 12, 8)?.checked_mul(512)?,
            grain: number(file, header + 20, 8)?.checked_mul(512)?,
            table_entries: number(file, header + 44, 4)?,
            directories,
            tables: 0,
            grains: 0,
            compressed: number(file, header + 77, 2)? == 1,
            markers: flags & 0x2_0000 != 0,
        })
    }

    /// The table of entry `index` in `directory`: nothing if it is after the end of the file, 0 if there is none.
    fn table(&self, directory: u64, index: u64) -> Option<u64> {
        if self.kind != Kind::SeSparse {
            return Some(number(self.file, directory.checked_add(index * 4)?, 4)? * 512);
        }
        match number(self.file, directory.checked_add(index * 8)?, 8)? {
            0 => Some(0),
            entry if entry >> 32 == 0x1000_0000 => self.tables.checked_add((entry & 0xffff_ffff) * 32_768),
            _ => None,
        }
    }

    /// Whether `entry`, of a KDMV file, is a grain of zeros, or one in the file.
    fn is_usable(&self, entry: u64) -> bool {
        let len = if self.compressed { 1 } else { self.grain };
        let is_in_file = || entry.saturating_mul(512).saturating_add(len) <= self.file.len() as u64;
        self.kind == Kind::Kdmv && entry != 0 && (entry == 1 || is_in_file())
    }

    fn read(&self, at: u64, len: usize) -> Option<Vec<u8>> {
        let grain = at / self.grain;
        let (index, within) = (grain / self.table_entries, grain % self.table_entries);
        let size = if self.kind == Kind::SeSparse { 8 } else { 4 };
        let in_use = (self.capacity.div_ceil(self.grain) - index * self.table_entries).min(self.table_entries);
        let is_whole = |table: &u64| *table != 0 && table.saturating_add(in_use * size) <= self.file.len() as u64;
        let found: Vec<Option<u64>> = self.directories.iter().map(|&place| self.table(place, index)).collect();
        let table = match found.iter().flatten().find(|table| is_whole(table)) {
            Some(table) => *table,
            // A header must state this.
            None => *found.iter().flatten().next()?,
        };
        if table == 0 {
            return Some(vec![0; len]);
        }
        let entry_of = |table: u64| number(self.file, table.checked_add(within * size)?, size as usize);
        // The first table with a grain counts.
        let mut entries = found.iter().flatten().filter(|table| is_whole(table)).filter_map(|&table| entry_of(table));
        let entry = match entries.find(|&entry| self.is_usable(entry)) {
            Some(entry) => entry,
            None => entry_of(table)?,
        };
        let host = match (self.kind, entry) {
            (_, 0) | (Kind::Kdmv, 1) => return Some(vec![0; len]),
            (Kind::Cowd, 1..4) => return None,
            (Kind::Kdmv | Kind::Cowd, sector) => sector * 512,
            (Kind::SeSparse, _) => match entry >> 60 {
                1 | 2 => return Some(vec![0; len]),
                3 => {
                    let index = (entry >> 48 & 0xfff) | (entry & 0xffff_ffff_ffff) << 12;
                    self.grains.checked_add(index.checked_mul(4096)?)?
                }
                _ => return None,
            },
        };
        let skip = at % self.grain;
        if self.compressed {
            let bytes = self.decompress(host, grain)?;
            return bytes.get(skip as usize..skip as usize + len).map(<[u8]>::to_vec);
        }
        let from = usize::try_from(host.checked_add(skip)?).ok()?;
        self.file.get(from..from + len).map(<[u8]>::to_vec)
    }

    fn decompress(&self, host: u64, grain: u64) -> Option<Vec<u8>> {
        let data = self.file.get(usize::try_from(host).ok()?..)?;
        let start = grain * self.grain;
        let wanted = [self.grain, (self.capacity - start).min(self.grain)];
        let unpack = |stream: &[u8]| {
            let bytes = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(stream, self.grain as usize).ok()?;
            wanted.contains(&(bytes.len() as u64)).then_some(bytes)
        };
        if self.markers {
            (number(data, 0, 8)? == start / 512).then_some(())?;
            let len = number(data, 8, 4)? as usize;
            let stream = &data[12..];
            return unpack(&stream[..len.min(stream.len())]);
        }
        unpack(data).or_else(|| unpack(data.get(4..)?))
    }
}
