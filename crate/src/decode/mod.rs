//! From the bytes of a file to the bytes of a disk: decompression and the search for zeros.

mod deflate;
pub mod inflate;
mod zeros;

pub use deflate::Deflated;
pub use zeros::data_runs;

use crate::extent::Compression;
use crate::extras::Unzstd;
use inflate::Stream;

/// Why a cluster could not be decompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecompressError {
    /// The bytes are no compressed data, or it ends before the cluster is full.
    Invalid,
    /// The input ends before the compressed data does.
    InputEnds,
}

/// Decoders of every kind, reused from cluster to cluster; that of zstd is made when it is first needed.
#[derive(Default)]
pub struct Decompressor {
    deflated: Deflated,
    unzstd: Option<Unzstd>,
}

impl Decompressor {
    /// Decompresses the start of `input` so that it fills `output` exactly.
    pub fn decompress(
        &mut self,
        compression: Compression,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), DecompressError> {
        match compression {
            Compression::Deflate => self.deflated.decompress(input, output),
            Compression::Zstd => self.unzstd.get_or_insert_default().decompress(input, output),
        }
    }

    /// The same for many of `Compression::Deflate`, which is faster than one by one. `done` is told how each went,
    /// with the mark that it came with, perhaps in another order.
    pub fn inflate_all<'a, T>(
        &mut self,
        streams: impl Iterator<Item = (T, Stream<'a>)>,
        done: impl FnMut(T, Stream<'a>, Result<(), DecompressError>),
    ) {
        self.deflated.inflate_all(streams, done);
    }
}
