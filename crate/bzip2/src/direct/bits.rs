//! Reads the input bit by bit, highest bit of each byte first.

/// Bits that were read from the input and not used.
#[derive(Clone, Copy, Default)]
pub(super) struct Bits {
    /// The bits, the first one highest. Bits after `count` are zero, or those that the input has next.
    pub(super) held: u64,
    pub(super) count: u32,
}

impl Bits {
    /// Reads up to 63 bits ahead. In a block this does not reach beyond the stream: 80 bits follow its last symbol.
    #[inline(always)]
    pub(super) fn refill(&mut self, input: &mut &[u8]) {
        if let Some(bytes) = input.first_chunk() {
            self.held |= u64::from_be_bytes(*bytes) >> self.count;
            let whole = (63 - self.count) / 8;
            *input = &input[whole as usize..];
            self.count += whole * 8;
        } else {
            while self.count <= 56 && self.push(input) {}
        }
    }

    /// Takes `len` bits, at most 32. Reads no byte that it does not need. Returns `None` if the input ends before.
    pub(super) fn take(&mut self, len: u32, input: &mut &[u8]) -> Option<u32> {
        while self.count < len {
            if !self.push(input) {
                return None;
            }
        }
        let taken = self.held >> 32 >> (32 - len);
        self.skip(len);
        Some(taken as u32)
    }

    /// Drops `len` bits of those that are held.
    #[inline(always)]
    pub(super) fn skip(&mut self, len: u32) {
        self.held <<= len;
        self.count -= len;
    }

    /// Reads one byte. Returns `false` if the input has ended.
    fn push(&mut self, input: &mut &[u8]) -> bool {
        let Some((&byte, rest)) = input.split_first() else { return false };
        self.held |= u64::from(byte) << (56 - self.count);
        self.count += 8;
        *input = rest;
        true
    }
}
