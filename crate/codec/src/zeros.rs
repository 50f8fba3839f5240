//! Detects zeros.

/// Number of bytes tested at once: whole SIMD registers.
const STEP: usize = 64;

/// Whether all bytes of `block` are zero.
pub fn is_zero(block: &[u8]) -> bool {
    let mut steps = block.chunks_exact(STEP);
    steps.all(|step| step.iter().fold(0, |seen, byte| seen | byte) == 0)
        && steps.remainder().iter().all(|&byte| byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_counts() {
        for len in [0, 1, 63, 64, 65, 4096, 4099] {
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
