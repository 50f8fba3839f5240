//! A block's data (the .xz file format, section 3).

use super::block_header::BlockHeader;
use super::check::{Check, CheckType};
use crate::UNIT;
use decant_module::{Buffers, Fault};
use lzma_rust2::{Action, Error, Lzma2Stream, Status};

/// A block that is being decoded.
pub(super) struct Block {
    lzma2: Lzma2Stream,
    check: Check,
    header: BlockHeader,
    header_len: usize,
    is_ended: bool,
}

impl Block {
    /// Begins a block with `header`, `header_len` bytes long.
    pub(super) fn new(header: BlockHeader, header_len: usize, check_type: CheckType) -> Result<Self, Fault> {
        Ok(Self { lzma2: header.decoder()?, check: check_type.begin(), header, header_len, is_ended: false })
    }

    /// Decodes until the input is used, the output is full, or the data ends. Returns whether it has ended.
    pub(super) fn decode(&mut self, buffers: &mut Buffers<'_>) -> Result<bool, Fault> {
        while !self.is_ended {
            let room = &mut buffers.output[buffers.written..];
            let used = self.lzma2.total_in();
            let result = self.lzma2.process(buffers.input, room, Action::Run);
            let consumed = (self.lzma2.total_in() - used) as usize;
            buffers.input = &buffers.input[consumed..];
            let written = match result {
                Ok(result) => result.bytes_produced,
                Err(Error::OutOfMemory(_)) => return Err(Fault::without_memory(self.header.dictionary.into())),
                Err(_) => return Err(Fault::Invalid),
            };
            self.check.add(&room[..written]);
            buffers.written += written;
            self.is_ended = matches!(result, Ok(result) if result.status == Status::StreamEnd);
            if consumed == 0 && written == 0 {
                break;
            }
        }
        Ok(self.is_ended)
    }

    /// Length of the padding after the data, in bytes.
    pub(super) fn padding_len(&self) -> usize {
        let len = self.lzma2.total_in();
        (len.next_multiple_of(UNIT as u64) - len) as usize
    }

    /// Verifies the block by its padding and check. Returns its size without padding, and the size of its data.
    pub(super) fn verify(&mut self, end: &[u8]) -> Result<(u64, u64), Fault> {
        let (padding, check) = end.split_at(self.padding_len());
        if padding.iter().any(|&byte| byte != 0) {
            return Err(Fault::Invalid);
        }
        let (compressed, data) = (self.lzma2.total_in(), self.lzma2.total_out());
        let is_as_stated = |stated: Option<u64>, size| stated.is_none_or(|stated| stated == size);
        if !is_as_stated(self.header.compressed_size, compressed) || !is_as_stated(self.header.data_size, data) {
            return Err(Fault::Size);
        }
        self.check.verify(check)?;
        Ok((self.header_len as u64 + compressed + check.len() as u64, data))
    }
}
