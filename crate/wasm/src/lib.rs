//! The module of WebAssembly that ships: what `decant` exports to JavaScript.
//!
//! This is a crate of its own because the last crate decides which passes run over the whole program when it is linked: here
//! those for speed. They spare what `decant` has marked as compiled for size.

use decant as _;
