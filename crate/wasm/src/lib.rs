//! The WebAssembly module that ships: links the exports of `decant`.
//!
//! It is a separate crate because the optimisation passes of the whole linked program follow from the last crate: here
//! those for speed. They respect the functions of `decant` that are marked as compiled for size.

use decant as _;
