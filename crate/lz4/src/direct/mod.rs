//! The decoder.

mod frame;
mod stream;
#[cfg(test)]
mod tests;
mod window;

pub use stream::Lz4Decoder;

use decant_module::Module;

/// The decoder is linked.
pub static MODULE: Module = Module::linked("lz4");

/// Reads four bytes at `at`, which must be there.
fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}
