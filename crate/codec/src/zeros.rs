//! Detects zeros.

/// Number of bytes tested at once: enough that the test of the result costs little.
const STEP: usize = 256;

/// Whether all bytes of `block` are zero.
pub fn is_zero(block: &[u8]) -> bool {
    let mut steps = block.chunks_exact(STEP);
    steps.all(is_zero_step) && steps.remainder().iter().all(|&byte| byte == 0)
}

/// Joins words, not bytes: whether a register has a bit is one instruction, but compilers join its bytes one by one.
fn is_zero_step(step: &[u8]) -> bool {
    let (words, _) = step.as_chunks();
    words.iter().fold(0, |seen, &word| seen | u64::from_ne_bytes(word)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_counts() {
        for len in [0, 1, 255, 256, 257, 4096, 4099] {
            let mut bytes = vec![0; len];
            assert!(is_zero(&bytes), "{len} zeros");
            for at in [0, len / 2, len.saturating_sub(1)].into_iter().filter(|&at| at < len) {
                bytes[at] = 0x80;
                assert!(!is_zero(&bytes), "byte {at} of {len}");
                bytes[at] = 0;
            }
        }
    }
}
