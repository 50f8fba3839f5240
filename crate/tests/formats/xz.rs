//! xz for the suite.

use super::{Container, codecs};
use crate::codecs::XZ;

pub const CONTAINER: Container = Container { name: "xz", samples: || codecs::samples(&XZ) };
