//! Decant's core: everything that knows a disk format or moves image data.
//!
//! ```text
//! source -> format -> extents -> jobs -> decoded data -> writer and target
//! ```
//!
//! - An [`Image`] is opened from a [`Source`], or from a member of a [`container`]. Its [`format`] is recognised by content, its headers are checked, and its
//!   extents are listed in guest order. An image over backing files is a [`chain`], whose extents are merged.
//! - [`convert`] plans the extents into jobs. An executor reads and decodes them.
//! - A [`writer`] defines the form of the output, a [`target`] where it goes. Zeros stay holes.
//!
//! The core is `async` code over the traits [`Source`], [`target::Target`] and [`convert::Executor`]. It opens no file and
//! names no platform: `native` runs it with `std::fs`, for tests, and `web` with web-sys, in browsers and Node.
//!
//! Every number in an image is hostile until it is checked.

pub mod chain;
mod chunks;
pub mod container;
pub mod convert;
pub mod damage;
pub mod decode;
pub mod details;
pub mod encode;
pub mod encryption;
pub mod error;
pub mod examination;
pub mod extent;
pub mod fields;
mod file_name;
pub mod format;
mod guess;
pub mod image;
pub mod info;
mod json;
mod manifest;
mod members;
mod metered;
#[cfg(not(target_arch = "wasm32"))]
pub mod native;
pub mod opening;
mod pieces;
mod read_budget;
pub mod reference;
pub mod safety;
mod secrets;
pub mod shown;
pub mod source;
pub mod stream;
pub mod streamed;
mod table_cache;
pub mod target;
mod text;
pub mod units;
mod unpack;
#[cfg(target_arch = "wasm32")]
mod web;
pub mod writer;

pub use chain::OpenOptions;
pub use error::{Error, ErrorKind, Result};
pub use image::Image;
pub use info::Info;
pub use opening::{Input, Opened, open};
pub use source::Source;
