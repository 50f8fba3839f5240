//! xz for the suite.

use super::{Container, codecs};
use crate::codecs::{XZ, XZ_IN_BLOCKS};

pub const CONTAINER: Container = Container {
    name: "xz",
    samples: || [codecs::samples(&XZ), codecs::samples(&XZ_IN_BLOCKS)].into_iter().flatten().collect(),
};
