//! Changes to an image, as bytes of a fuzzer's input.

/// Maximum number of applied changes; more would leave nothing of the image.
const MOST: usize = 4;
/// Seven of eight changes are after this offset, in bytes: the first harmful change in a header hides all later ones.
const HEADER: usize = 104;
/// Maximum size of an image, in bytes.
const LARGEST: usize = 1 << 20;

/// Values around which limits are tried.
const VALUES: [u64; 16] = [
    0,
    1,
    2,
    511,
    512,
    513,
    1 << 9,
    1 << 16,
    1 << 31,
    1 << 32,
    1 << 53,
    1 << 61,
    1 << 62,
    1 << 63,
    u64::MAX >> 1,
    u64::MAX,
];

/// Eight bytes each: what to do, with what, where (16 bits), and a value (32 bits).
pub fn apply(mut image: Vec<u8>, changes: &[u8]) -> Vec<u8> {
    for change in changes.chunks_exact(8).take(MOST) {
        let (kind, small) = (change[0], change[1]);
        let first = if kind & 0xe0 == 0 { 0 } else { HEADER.min(image.len()) };
        let at = first + usize::from(u16::from_le_bytes([change[2], change[3]])) % (image.len() - first).max(1);
        let value = u32::from_le_bytes([change[4], change[5], change[6], change[7]]);
        match kind % 8 {
            0 => put(&mut image, at, &[small]),
            1 => put(&mut image, at, &number(kind, value.into(), 2)),
            2 => put(&mut image, at, &number(kind, value.into(), 4)),
            3 => put(&mut image, at / 8 * 8, &number(kind, value.into(), 8)),
            // An entry with valid flags.
            4 => put(&mut image, at / 8 * 8, &number(kind, u64::from(small) << 56 | u64::from(value), 8)),
            5 => put(&mut image, at / 8 * 8, &number(kind, VALUES[usize::from(small) % VALUES.len()], 8)),
            6 => {
                let from = (value as usize % image.len().max(1)) / 8 * 8;
                let bytes = image[from..(from + 8).min(image.len())].to_vec();
                put(&mut image, at / 8 * 8, &bytes);
            }
            _ => image.resize(value as usize % LARGEST, small),
        }
    }
    image
}

/// The `len` lowest bytes of `value`, big-endian or little-endian, by a bit of `kind`.
fn number(kind: u8, value: u64, len: usize) -> Vec<u8> {
    if kind & 8 == 0 { value.to_be_bytes()[8 - len..].to_vec() } else { value.to_le_bytes()[..len].to_vec() }
}

/// Four bytes each: what to do, where (16 bits), and with what. All places are equally likely, for files without a header
/// that hides the rest.
pub fn anywhere(mut file: Vec<u8>, changes: &[u8]) -> Vec<u8> {
    for change in changes.chunks_exact(4).take(MOST) {
        let (kind, value) = (change[0], change[3]);
        let at = usize::from(u16::from_le_bytes([change[1], change[2]])) % (file.len() + 1);
        match kind % 16 {
            0..=5 if at < file.len() => file[at] = value,
            6..=10 if at < file.len() => file[at] ^= 1 << (value % 8),
            11 => file.insert(at, value),
            12 => file.truncate(at),
            13 => drop(file.drain(at..(at + usize::from(value % 16)).min(file.len()))),
            14 => file.extend_from_within(at..),
            15 => {
                let bytes = file[at..(at + 8).min(file.len())].to_vec();
                let to = usize::from(value) * file.len() / 256;
                put(&mut file, to, &bytes);
            }
            _ => {}
        }
    }
    file
}

fn put(image: &mut [u8], at: usize, bytes: &[u8]) {
    let end = (at + bytes.len()).min(image.len());
    let at = at.min(end);
    image[at..end].copy_from_slice(&bytes[..end - at]);
}
