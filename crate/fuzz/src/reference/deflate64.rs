//! Deflate64, bit by bit: deflate (RFC 1951) with a window of 64 KiB, two more codes of distances, and lengths of up to 65,538 bytes.

/// The order of the lengths of the codes that encode lengths (RFC 1951, section 3.2.7).
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

struct Bits<'a> {
    data: &'a [u8],
    /// In bits.
    at: usize,
}

impl Bits<'_> {
    fn take(&mut self, count: usize) -> Option<usize> {
        let mut value = 0;
        for bit in 0..count {
            value |= usize::from(self.data.get(self.at / 8)? >> (self.at % 8) & 1) << bit;
            self.at += 1;
        }
        Some(value)
    }
}

/// The symbols of a complete prefix code, by length and code.
struct Code(Vec<(usize, usize, usize)>);

impl Code {
    /// The code with these lengths; `None` if it is not complete. A single code of one bit is allowed.
    fn of(lengths: &[usize]) -> Option<Self> {
        let (mut symbols, mut code, mut used) = (Vec::new(), 0, 0);
        for length in 1..=15 {
            for (symbol, _) in lengths.iter().enumerate().filter(|(_, other)| **other == length) {
                symbols.push((length, code, symbol));
                code += 1;
                used += 1usize << (15 - length);
            }
            code <<= 1;
        }
        (used == 1 << 15 || matches!(symbols[..], [(1, ..)])).then_some(Self(symbols))
    }

    fn next(&self, bits: &mut Bits<'_>) -> Option<usize> {
        let (mut length, mut code) = (0, 0);
        while length < 15 {
            code = code << 1 | bits.take(1)?;
            length += 1;
            if let Some((.., symbol)) = self.0.iter().find(|(len, other, _)| (*len, *other) == (length, code)) {
                return Some(*symbol);
            }
        }
        None
    }
}

/// The codes of a block with dynamic ones.
fn codes(bits: &mut Bits<'_>) -> Option<(Code, Code)> {
    let (literals, distances, count) = (bits.take(5)? + 257, bits.take(5)? + 1, bits.take(4)? + 4);
    let mut lengths = [0; 19];
    for &place in &ORDER[..count] {
        lengths[place] = bits.take(3)?;
    }
    let (code, mut lengths) = (Code::of(&lengths)?, Vec::new());
    while lengths.len() < literals + distances {
        match code.next(bits)? {
            16 => {
                let (last, count) = (*lengths.last()?, 3 + bits.take(2)?);
                lengths.extend(vec![last; count]);
            }
            17 => lengths.extend(vec![0; 3 + bits.take(3)?]),
            18 => lengths.extend(vec![0; 11 + bits.take(7)?]),
            length => lengths.push(length),
        }
    }
    let (literals, distances) = lengths.split_at(literals);
    Some((Code::of(literals)?, Code::of(distances)?))
}

/// The data that is in all of `data`, of at most `most` bytes. `None` if it is invalid.
pub fn inflated(data: &[u8], most: usize) -> Option<Vec<u8>> {
    let (mut bits, mut all) = (Bits { data, at: 0 }, Vec::new());
    loop {
        let is_last = bits.take(1)? == 1;
        let (literals, distances) = match bits.take(2)? {
            0 => {
                bits.at = bits.at.next_multiple_of(8);
                let (len, complement) = (bits.take(16)?, bits.take(16)?);
                let start = bits.at / 8;
                if len != complement ^ 0xffff || all.len() + len > most {
                    return None;
                }
                all.extend(data.get(start..start + len)?);
                bits.at += len * 8;
                if is_last {
                    break;
                }
                continue;
            }
            1 => {
                let literals = [vec![8; 144], vec![9; 112], vec![7; 24], vec![8; 8]].concat();
                (Code::of(&literals)?, Code::of(&[5; 32])?)
            }
            2 => codes(&mut bits)?,
            _ => return None,
        };
        loop {
            let symbol = literals.next(&mut bits)?;
            let len = match symbol {
                0..256 => {
                    all.push(symbol as u8);
                    continue;
                }
                256 => break,
                257..265 => symbol - 254,
                265..285 => {
                    let extra = (symbol - 261) / 4;
                    ((4 + (symbol - 265) % 4) << extra) + 3 + bits.take(extra)?
                }
                285 => 3 + bits.take(16)?,
                _ => return None,
            };
            let code = distances.next(&mut bits)?;
            let distance = match code {
                0..4 => code + 1,
                _ => {
                    let extra = code / 2 - 1;
                    ((2 + code % 2) << extra) + 1 + bits.take(extra)?
                }
            };
            let start = all.len().checked_sub(distance)?;
            if all.len() + len > most {
                return None;
            }
            (start..start + len).for_each(|at| all.push(all[at]));
        }
        if is_last {
            break;
        }
    }
    (bits.at.div_ceil(8) == data.len()).then_some(all)
}
