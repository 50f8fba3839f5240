//! bzip2 for the suite.

use super::{Container, codecs};
use crate::codecs::BZIP2;

pub const CONTAINER: Container = Container { name: "bzip2", samples: || codecs::samples(&BZIP2) };
