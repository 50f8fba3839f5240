//! Decodes and encodes units of a disk, and finds zeros. Code that runs for every byte is in `decant-codec`.

mod data_runs;
pub mod decoding_damage;
mod decompress;
mod encoder;
mod encoding;
mod grain;
pub mod gzip_member;
mod methods;

pub use data_runs::GuestRun;
pub(crate) use data_runs::data_runs;
pub use decant_codec::inflate;
pub(crate) use decant_codec::{crc, is_zero};
pub(crate) use decoding_damage::DecompressError;
pub(crate) use decompress::Decompressor;
pub use encoder::Encoder;
pub use encoding::{CompressedEncoding, EncodedPart, Encoding};
pub(crate) use encoding::{ENCODED_HOLE, Placement, UnitEncoding, UnitMethod, renew};
pub(crate) use grain::{GrainFrame, GrainMarker, MOST_COMPRESSED};
pub(crate) use methods::Compression;
