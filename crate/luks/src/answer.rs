//! Answers about LUKS headers, encoded as bytes: a number, its operands, and a text or other bytes.

/// The longest encoded answer, in bytes: the description of a header with 32 key slots and long names.
pub const MAX_ANSWER: usize = 2048;

/// The length of the number and the operands.
const START: usize = 17;

/// An answer. Texts are clauses; names from the header are not escaped.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'a> {
    /// The result: a description of the header, or a key.
    Done(&'a [u8]),
    /// The header violates the format, at this offset from its start.
    Corrupt(u64, &'a str),
    /// The header uses a feature that is not supported, with this name in it.
    Unsupported(&'a str, &'a str),
    /// Checking a password requires too much of something, which the text states. With the memory in bytes, or 0.
    Limit(u64, &'a str),
    /// Neither copy of the header is valid.
    NoHeader,
    /// The password opens none of the key slots.
    WrongPassword,
    /// This part of the work is done: iterations, and their total number.
    Busy(u64, u64),
    /// The next step needs these bytes as its input: their offset from the start of the header, and their length.
    Needs(u64, u64),
    /// Memory of this size ran out.
    OutOfMemory(u64),
}

impl<'a> Answer<'a> {
    /// Encodes the answer at the start of `output`, which has [`MAX_ANSWER`] bytes. Returns its length. A text that is
    /// too long is cut.
    pub fn encode(self, output: &mut [u8]) -> usize {
        let nothing: [&[u8]; 2] = Default::default();
        let (number, a, b, rest) = match self {
            Self::Done(result) => (0, 0, 0, [result, &[]]),
            Self::Corrupt(at, what) => (1, at, 0, [what.as_bytes(), &[]]),
            // The operand is the length of the first text.
            Self::Unsupported(what, name) => (2, what.len() as u64, 0, [what.as_bytes(), name.as_bytes()]),
            Self::Limit(size, what) => (3, size, 0, [what.as_bytes(), &[]]),
            Self::NoHeader => (4, 0, 0, nothing),
            Self::WrongPassword => (5, 0, 0, nothing),
            Self::Busy(done, total) => (6, done, total, nothing),
            Self::Needs(offset, len) => (7, offset, len, nothing),
            Self::OutOfMemory(size) => (8, size, 0, nothing),
        };
        output[0] = number;
        output[1..9].copy_from_slice(&u64::to_le_bytes(a));
        output[9..START].copy_from_slice(&u64::to_le_bytes(b));
        let mut end = START;
        for part in rest {
            let len = part.len().min(output.len() - end);
            output[end..end + len].copy_from_slice(&part[..len]);
            end += len;
        }
        end
    }

    /// Decodes an answer.
    pub fn decode(bytes: &'a [u8]) -> Self {
        let (start, rest) = bytes.split_at(START);
        let operand = |at: usize| u64::from_le_bytes(start[at..at + 8].try_into().expect("eight bytes"));
        // Not more than the end of a character is missing.
        let text = rest.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let (a, b) = (operand(1), operand(9));
        match start[0] {
            0 => Self::Done(rest),
            1 => Self::Corrupt(a, text),
            2 => text.split_at_checked(a as usize).map_or(Self::NoHeader, |(what, name)| Self::Unsupported(what, name)),
            3 => Self::Limit(a, text),
            4 => Self::NoHeader,
            5 => Self::WrongPassword,
            6 => Self::Busy(a, b),
            7 => Self::Needs(a, b),
            _ => Self::OutOfMemory(a),
        }
    }
}
