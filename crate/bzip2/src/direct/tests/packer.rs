//! Makes streams that no program makes: any codes, any last column, any row.

/// A block to pack.
#[derive(Clone)]
pub(super) struct Block {
    /// The last column.
    pub(super) column: Vec<u8>,
    pub(super) origin: u32,
    pub(super) is_randomised: bool,
    /// The lengths of codes, for each symbol.
    pub(super) lens: Vec<Vec<u8>>,
    /// The code of each group.
    pub(super) selectors: Vec<u8>,
    /// The checksum.
    pub(super) checksum: u32,
}

#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    len: usize,
}

impl BitWriter {
    fn put(&mut self, value: u64, len: u32) {
        for bit in (0..len).rev() {
            if self.len.is_multiple_of(8) {
                self.bytes.push(0);
            }
            *self.bytes.last_mut().unwrap() |= ((value >> bit & 1) as u8) << (7 - self.len % 8);
            self.len += 1;
        }
    }
}

impl Block {
    /// The bytes that occur.
    pub(super) fn used(&self) -> Vec<u8> {
        (0..=255).filter(|byte| self.column.contains(byte)).collect()
    }

    /// The symbols of the column and the end.
    pub(super) fn symbols(&self) -> Vec<usize> {
        let mut recent = self.used();
        let end = recent.len() + 1;
        let (mut symbols, mut run) = (Vec::new(), 0usize);
        let put_run = |symbols: &mut Vec<usize>, run: &mut usize| {
            while *run > 0 {
                symbols.push(1 - *run % 2);
                *run = (*run - 1) / 2;
            }
        };
        for byte in &self.column {
            let index = recent.iter().position(|other| other == byte).unwrap();
            if index == 0 {
                run += 1;
                continue;
            }
            put_run(&mut symbols, &mut run);
            symbols.push(index + 1);
            recent[..=index].rotate_right(1);
        }
        put_run(&mut symbols, &mut run);
        symbols.push(end);
        symbols
    }

    /// A stream of the block; `None` if a symbol has no code.
    pub(super) fn stream(&self) -> Option<Vec<u8>> {
        let mut writer = BitWriter::default();
        writer.put(u64::from(u32::from_be_bytes(*b"BZh1")), 32);
        writer.put(0x3141_5926_5359, 48);
        writer.put(u64::from(self.checksum), 32);
        writer.put(u64::from(self.is_randomised), 1);
        writer.put(u64::from(self.origin), 24);
        let used = self.used();
        let sixteenths =
            (0..16).fold(0, |bits, index| bits << 1 | u64::from(used.iter().any(|byte| byte / 16 == index)));
        writer.put(sixteenths, 16);
        for byte in 0..=255 {
            if sixteenths >> (15 - byte / 16) & 1 == 1 {
                writer.put(u64::from(used.contains(&byte)), 1);
            }
        }
        writer.put(self.lens.len() as u64, 3);
        writer.put(self.selectors.len() as u64, 15);
        let mut recent: Vec<u8> = (0..self.lens.len() as u8).collect();
        for selector in &self.selectors {
            let index = recent.iter().position(|other| other == selector).unwrap();
            writer.put((1 << (index + 1)) - 2, index as u32 + 1);
            recent[..=index].rotate_right(1);
        }
        for lens in &self.lens {
            put_lens(&mut writer, lens);
        }
        let codes: Vec<_> = self.lens.iter().map(|lens| codes(lens)).collect();
        for (index, symbol) in self.symbols().into_iter().enumerate() {
            let selector = usize::from(*self.selectors.get(index / 50)?);
            let len = u32::from(self.lens[selector][symbol]);
            let code = codes[selector][symbol];
            if code >> len != 0 {
                return None;
            }
            writer.put(code, len);
        }
        writer.put(0x1772_4538_5090, 48);
        writer.put(u64::from(self.checksum), 32);
        Some(writer.bytes)
    }
}

/// Writes each length by its difference to the one before.
fn put_lens(writer: &mut BitWriter, lens: &[u8]) {
    let mut last = lens[0];
    writer.put(u64::from(last), 5);
    for &len in lens {
        let change = if len > last { 0b10 } else { 0b11 };
        for _ in 0..len.abs_diff(last) {
            writer.put(change, 2);
        }
        writer.put(0, 1);
        last = len;
    }
}

/// The canonical codes. Those that have no place are too large for their length.
fn codes(lens: &[u8]) -> Vec<u64> {
    let mut codes = vec![0; lens.len()];
    let mut next = 0;
    for len in 1..=20 {
        for symbol in (0..lens.len()).filter(|&symbol| lens[symbol] == len) {
            codes[symbol] = next;
            next += 1;
        }
        next *= 2;
    }
    codes
}

/// The text of a block by the definition: from the row `origin`, one byte for each in the column.
pub(super) fn text(column: &[u8], origin: u32) -> Vec<u8> {
    let mut rows: Vec<usize> = (0..column.len()).collect();
    rows.sort_by_key(|&row| column[row]);
    let mut row = origin as usize;
    column
        .iter()
        .map(|_| {
            row = rows[row];
            column[row]
        })
        .collect()
}

/// Expands `text`: after four equal bytes comes the number of further ones. `None` if the number is missing.
pub(super) fn expanded(text: &[u8]) -> Option<Vec<u8>> {
    let (mut data, mut equal, mut last) = (Vec::new(), 0, None);
    for &byte in text {
        if equal == 4 {
            data.extend(std::iter::repeat_n(last?, usize::from(byte)));
            (equal, last) = (0, None);
            continue;
        }
        equal = if last == Some(byte) { equal + 1 } else { 1 };
        last = Some(byte);
        data.push(byte);
    }
    (equal < 4).then_some(data)
}

/// The CRC of bzip2, bit by bit.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |value, &byte| {
        (0..8)
            .fold(value ^ u32::from(byte) << 24, |value, _| value << 1 ^ if value >> 31 == 1 { 0x04c1_1db7 } else { 0 })
    })
}
