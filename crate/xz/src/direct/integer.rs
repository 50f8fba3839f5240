//! Variable-length integers (the .xz file format, section 1.2).

use decant_module::Fault;

/// Maximum length of an integer in bytes: 63 bits.
const LONGEST: u32 = 9;

/// A partly read integer.
#[derive(Default)]
pub(super) struct Integer {
    value: u64,
    len: u32,
}

impl Integer {
    /// Adds the next byte. Returns the value if it was the last one. Fails if the integer is too long, or has a shorter
    /// form.
    pub(super) fn add(&mut self, byte: u8) -> Result<Option<u64>, Fault> {
        self.value |= u64::from(byte & 0x7f) << (7 * self.len);
        self.len += 1;
        if byte & 0x80 != 0 {
            return if self.len == LONGEST { Err(Fault::Invalid) } else { Ok(None) };
        }
        if byte == 0 && self.len > 1 {
            return Err(Fault::Invalid);
        }
        Ok(Some(std::mem::take(self).value))
    }
}

/// Reads an integer from the start of `bytes`, and moves on. Fails if there is none.
pub(super) fn take(bytes: &mut &[u8]) -> Result<u64, Fault> {
    let mut integer = Integer::default();
    loop {
        let (&byte, rest) = bytes.split_first().ok_or(Fault::Invalid)?;
        *bytes = rest;
        if let Some(value) = integer.add(byte)? {
            return Ok(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_one_form() {
        let cases: [(&[u8], Result<u64, Fault>); 8] = [
            (&[0], Ok(0)),
            (&[0x7f], Ok(127)),
            (&[0x80, 1], Ok(128)),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], Ok(u64::MAX >> 1)),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x80], Err(Fault::Invalid)),
            (&[0x80, 0], Err(Fault::Invalid)),
            (&[0x80], Err(Fault::Invalid)),
            (&[], Err(Fault::Invalid)),
        ];
        for (bytes, expected) in cases {
            let mut rest = bytes;
            assert_eq!(take(&mut rest), expected, "{bytes:?}");
            assert!(expected.is_err() || rest.is_empty());
        }
    }
}
