//! zstd for the suite.

use super::{Container, codecs};
use crate::codecs::ZSTD;

pub const CONTAINER: Container = Container { name: "zstd", samples: || codecs::samples(&ZSTD) };
