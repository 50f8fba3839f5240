//! From a password to the plain bytes of a disk.

mod derive;
mod keys;
mod legacy;
mod sectors;
mod unlock;

pub use derive::YieldPoint;
pub use keys::{CipherKey, Keys};
pub use legacy::check_legacy;
pub use sectors::Ciphers;
pub use unlock::{MAX_ITERATIONS, unlock};
