//! What only some images need, and a build of its own has: zstd and encryption.

mod aes;
mod blocks;
mod derive;
mod keys;
mod legacy;
mod sectors;
mod unlock;
mod zstd;

pub use derive::Rest;
pub use keys::{CipherKey, Keys};
pub use legacy::check_legacy;
pub use sectors::Ciphers;
pub use unlock::{MAX_ITERATIONS, unlock};
pub use zstd::Unzstd;
