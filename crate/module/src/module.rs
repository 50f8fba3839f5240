//! A module, as its users see it.

use std::sync::OnceLock;

/// A module of WebAssembly, or the same code linked.
pub struct Module {
    name: &'static str,
    is_linked: bool,
    /// Threads share the bytes, and each instantiates the module with its first request.
    pub(crate) bytes: OnceLock<Vec<u8>>,
}

impl Module {
    /// A module that is loaded under `name`.
    pub const fn loaded(name: &'static str) -> Self {
        Self::new(name, false)
    }

    /// A module whose code is linked.
    pub const fn linked(name: &'static str) -> Self {
        Self::new(name, true)
    }

    const fn new(name: &'static str, is_linked: bool) -> Self {
        Self { name, is_linked, bytes: OnceLock::new() }
    }

    /// The name under which it is loaded.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether requests can be made.
    pub fn is_ready(&self) -> bool {
        self.is_linked || self.bytes.get().is_some()
    }

    /// Adds the module, by its bytes. To add it again has no effect.
    pub fn add(&self, bytes: Vec<u8>) {
        let _ = self.bytes.set(bytes);
    }
}
