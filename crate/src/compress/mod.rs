//! Decodes and encodes units of a disk, and finds zeros. Code that runs for every byte is in `decant-codec`.

pub mod damage;
mod data_runs;
mod decompress;
mod deflated_zeros;
mod encoder;
mod encoding;
mod failure;
mod grain;
pub mod gzip_member;
mod methods;
mod zstd;

pub use data_runs::data_runs;
pub(crate) use decant_codec::crc;
pub use decant_codec::{deflate, inflate, is_zero};
pub use decompress::Decompressor;
pub use encoder::Encoder;
pub use encoding::{Encoding, Placement, Segment};
pub use failure::DecompressError;
pub(crate) use grain::GrainMarker;
pub use grain::{GrainFrame, MOST_COMPRESSED};
pub use methods::Compression;
pub use zstd::Unzstd;
