//! Decant's core: everything that knows a disk format or moves image data.
//!
//! ```text
//! Source    -> Container -> Format   -> Output     -> Target
//! io           container    format      output        io
//! read(range)  members      extents     form of       write(offset, bytes)
//!                           of a disk   the file
//!                              |                         ^
//!                              v                         |
//!                    convert: plan -> jobs -> read, decode, find zeros, encode, write
//! ```
//!
//! - [`open`](mod@open) turns a [`Source`] into an [`Image`]: it unpacks containers, recognises the format by content,
//!   finds the files that the image refers to, and merges the layers of the chain into one list of extents ([`disk`]).
//! - [`convert`] plans the extents into jobs. An executor reads and decodes them by [`compress`] and [`crypt`].
//! - An [`output`] defines the output's form, a [`Target`](io::target::Target) its destination. Zeros stay holes.
//!
//! The core is `async` code over the traits [`Source`], [`Target`](io::target::Target) and [`convert::Executor`]. It
//! opens no files and depends on no platform: `js` runs it in browsers and Node, `native` on the calling thread of tests.
//!
//! Every number in an image is hostile until checked.

#![cfg_attr(feature = "threads", allow(dead_code, reason = "that build only runs jobs; another one makes them"))]

pub mod compress;
pub mod container;
pub mod convert;
pub mod crypt;
pub mod disk;
pub mod error;
pub mod format;
pub mod io;
#[cfg(target_arch = "wasm32")]
mod js;
pub mod modules;
#[cfg(not(target_arch = "wasm32"))]
pub mod native;
pub mod offsets;
pub mod open;
pub mod output;
mod structure;
mod xml;

pub use error::{Error, ErrorKind, Result};
pub use io::source::Source;
pub use open::chain::OpenOptions;
pub use open::image::Image;
pub use open::{Input, Opened, open};
