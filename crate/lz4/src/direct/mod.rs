//! The decoder of frames. The library lz4_flex decodes blocks.

mod frame;
mod stream;
#[cfg(test)]
mod tests;
mod window;

pub use stream::Lz4Decoder;

use decant_module::Module;

/// The decoder is linked.
pub static MODULE: Module = Module::linked("lz4");

/// Returns the number in the four bytes at `at`, little endian. Panics if there are fewer.
fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}
