//! The two builds: the full one, and a small one for browsers, which reads qcow2 and raw and loads faster.

#[cfg(not(feature = "extras"))]
use crate::error::Error;
use crate::error::Result;
use std::fmt;

/// A proof that this is the full build. The small one has no such value, so the compiler leaves out of it what holds or
/// needs one.
#[derive(Clone, Copy, Debug)]
pub struct FullBuild {
    #[cfg(not(feature = "extras"))]
    _never: std::convert::Infallible,
}

impl FullBuild {
    /// The proof. Fails with `full-build` in the small build, which is without `what`.
    #[cfg_attr(
        feature = "extras",
        expect(clippy::unnecessary_wraps, unused_variables, reason = "it fails in the small build")
    )]
    pub fn require(what: impl fmt::Display) -> Result<Self> {
        #[cfg(feature = "extras")]
        return Ok(Self {});
        #[cfg(not(feature = "extras"))]
        return Err(Error::full_build(what));
    }
}
