//! The WebAssembly module that ships: links the exports of `decant`.
//!
//! It is a separate crate because only a wasm is a `cdylib`: tests and fuzzing link `decant` as a library.

use decant as _;
