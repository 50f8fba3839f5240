//! Decant's core: everything that knows a disk format or moves image data.
//!
//! An [`Image`] is opened from a [`Source`]: its format is recognised by content (see [`format`]),
//! its headers are checked, and its extents can be listed in guest order. [`convert`] plans the
//! extents into jobs, which an executor reads and decodes, and writes what is data to a sink; what
//! is zero stays a hole. An image over backing files is a [`chain`], whose extents are merged.
//!
//! The core is straight-line `async` code over the traits [`Source`], [`sink::Sink`] and
//! [`convert::Executor`]. It opens no file and names no platform: `native` drives it with
//! `std::fs`, for tests, and `web` with web-sys, in browsers and Node.
//!
//! Every number that an image holds is hostile until it is checked.

pub mod chain;
pub mod convert;
pub mod damage;
pub mod decode;
pub mod error;
pub mod extent;
#[cfg(feature = "extras")]
pub mod extras;
#[cfg(not(feature = "extras"))]
#[path = "without_extras.rs"]
pub mod extras;
pub mod format;
pub mod image;
#[cfg(not(target_arch = "wasm32"))]
pub mod native;
pub mod safety;
pub mod sink;
pub mod source;
pub mod units;
#[cfg(target_arch = "wasm32")]
mod web;

pub use error::{Error, ErrorKind, Result};
pub use image::{Image, Info, OpenOptions};
pub use source::Source;
