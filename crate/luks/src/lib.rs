//! LUKS: reads headers, and finds the key by a password.
//!
//! Not a part of `decant-crypt`, since it is compiled for size. On WebAssembly, both are in one module.

mod answer;
#[cfg(feature = "direct")]
mod direct;

pub use answer::{Answer, Description, MAX_ANSWER, Slot};
#[cfg(not(feature = "direct"))]
pub use decant_crypt::{Unlocking, describe};
#[cfg(feature = "direct")]
pub use direct::{Unlocking, describe};
