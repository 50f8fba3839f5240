//! lz4 for the suite.

use super::{Container, codecs};
use crate::codecs::LZ4;

pub const CONTAINER: Container = Container { name: "lz4", samples: || codecs::samples(&LZ4) };
