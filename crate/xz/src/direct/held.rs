//! Keeps the start of a part that continues in the next input.

/// The longest part that is kept: a block's header.
const LONGEST: usize = 1024;

/// The first bytes of a part.
pub(super) struct Held {
    bytes: [u8; LONGEST],
    len: usize,
}

impl Default for Held {
    fn default() -> Self {
        Self { bytes: [0; LONGEST], len: 0 }
    }
}

impl Held {
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether no other bytes than zeros are held.
    pub(super) fn is_zero(&self) -> bool {
        self.bytes[..self.len].iter().all(|&byte| byte == 0)
    }

    /// The first byte of the part, which may still be in `input`.
    pub(super) fn first(&self, input: &[u8]) -> Option<u8> {
        if self.is_empty() { input.first().copied() } else { Some(self.bytes[0]) }
    }

    /// Takes bytes from the start of `input` until `len` are held, and then returns them. The next call begins the next part.
    pub(super) fn take(&mut self, input: &mut &[u8], len: usize) -> Option<&[u8]> {
        let added = input.len().min(len - self.len);
        self.bytes[self.len..self.len + added].copy_from_slice(&input[..added]);
        self.len += added;
        *input = &input[added..];
        if self.len < len {
            return None;
        }
        self.len = 0;
        Some(&self.bytes[..len])
    }
}
