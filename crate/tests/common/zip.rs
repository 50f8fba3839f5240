//! Builds zip archives, also invalid ones.

use miniz_oxide::deflate::compress_to_vec;

/// A file for a hand-made archive.
#[derive(Clone)]
pub struct Entry {
    pub name: Vec<u8>,
    pub method: u16,
    pub flags: u16,
    pub made_by: u16,
    pub attributes: u32,
    pub crc32: u32,
    pub size: u64,
    pub data: Vec<u8>,
    /// Extra fields of the central header.
    pub extra: Vec<u8>,
}

impl Entry {
    pub fn stored(name: &str, content: &[u8]) -> Self {
        Self {
            name: name.as_bytes().to_vec(),
            method: 0,
            flags: 0,
            made_by: 20,
            attributes: 0,
            crc32: crc32(content),
            size: content.len() as u64,
            data: content.to_vec(),
            extra: Vec::new(),
        }
    }

    pub fn deflated(name: &str, content: &[u8]) -> Self {
        Self { method: 8, data: compress_to_vec(content, 6), ..Self::stored(name, content) }
    }
}

fn crc32(data: &[u8]) -> u32 {
    !data.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 })
    })
}

/// How an archive is made.
#[derive(Clone, Copy, Default)]
pub struct Zip<'a> {
    pub prefix: &'a [u8],
    pub comment: &'a [u8],
    /// Whether all numbers are in zip64 fields and records.
    pub zip64: bool,
    /// Whether checksums and sizes follow the data.
    pub streamed: bool,
    /// Whether offsets count from the start of the prefix, not from its end.
    pub counts_prefix: bool,
}

impl Zip<'_> {
    /// The archive of `entries`, and the position of its central directory.
    pub fn made_of(self, entries: &[Entry]) -> (Vec<u8>, usize) {
        let base = if self.counts_prefix { 0 } else { self.prefix.len() as u64 };
        let (mut file, mut directory) = (self.prefix.to_vec(), Vec::new());
        let narrow = |value: u64| if self.zip64 { u32::MAX } else { value as u32 }.to_le_bytes();
        let wide = |values: &[u64]| {
            let values: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            let field = [&[1, 0][..], &(values.len() as u16).to_le_bytes(), &values].concat();
            if self.zip64 { field } else { Vec::new() }
        };
        for entry in entries {
            let offset = file.len() as u64 - base;
            let flags = entry.flags | if self.streamed { 8 } else { 0 };
            let packed = entry.data.len() as u64;
            let (crc, known, size) = if self.streamed { (0, 0, 0) } else { (entry.crc32, packed, entry.size) };
            let extra = wide(&[size, known]);
            let two = |value: usize| (value as u16).to_le_bytes();
            let start = |flags: u16| [20u16, flags, entry.method, 0, 0].map(u16::to_le_bytes).concat();
            let local = [b"PK\x03\x04", &start(flags)[..], &crc.to_le_bytes(), &narrow(known), &narrow(size)].concat();
            file.extend(
                [&local[..], &two(entry.name.len()), &two(extra.len()), &entry.name, &extra, &entry.data].concat(),
            );
            if self.streamed {
                let size = |size: u64| size.to_le_bytes()[..if self.zip64 { 8 } else { 4 }].to_vec();
                let descriptor = [b"PK\x07\x08", &entry.crc32.to_le_bytes()[..], &size(packed), &size(entry.size)];
                file.extend(descriptor.concat());
            }
            let extra = [wide(&[entry.size, packed, offset]), entry.extra.clone()].concat();
            directory.extend([b"PK\x01\x02", &entry.made_by.to_le_bytes()[..], &start(flags)].concat());
            directory.extend([entry.crc32.to_le_bytes(), narrow(packed), narrow(entry.size)].concat());
            directory.extend([two(entry.name.len()), two(extra.len()), [0; 2], [0; 2], [0; 2]].concat());
            directory.extend([entry.attributes.to_le_bytes(), narrow(offset)].concat());
            directory.extend([&entry.name[..], &extra].concat());
        }
        let at = file.len();
        file.extend(&directory);
        let (count, len, offset) = (entries.len() as u64, directory.len() as u64, at as u64 - base);
        let end = file.len() as u64 - base;
        if self.zip64 {
            file.extend([b"PK\x06\x06", &44u64.to_le_bytes()[..], &[45, 0, 45, 0], &[0; 8]].concat());
            file.extend([count, count, len, offset].iter().flat_map(|value| value.to_le_bytes()));
            file.extend([b"PK\x06\x07", &[0; 4][..], &end.to_le_bytes(), &1u32.to_le_bytes()].concat());
        }
        let count = if self.zip64 { u16::MAX } else { count as u16 }.to_le_bytes();
        file.extend([b"PK\x05\x06", &[0; 4][..], &count, &count, &narrow(len), &narrow(offset)].concat());
        file.extend([&(self.comment.len() as u16).to_le_bytes()[..], self.comment].concat());
        (file, at)
    }
}
