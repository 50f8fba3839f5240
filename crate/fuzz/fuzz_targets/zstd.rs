#![no_main]

use decant_zstd::Zstd;
use zstd_safe::{DCtx, InBuffer, OutBuffer};

/// The sizes of clusters.
const SIZES: [usize; 4] = [512, 4096, 65_536, 2 << 20];

// The first byte chooses the size of the cluster.
libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((&first, stream)) = input.split_first() else { return };
    let size = SIZES[usize::from(first) % SIZES.len()];
    let mut output = vec![0; size];
    let ours = Zstd::default().decompress(stream, &mut output);
    let theirs = libzstd(stream, size);
    match (ours, theirs) {
        (Ok(()), Some(expected)) => assert!(output == expected, "other bytes than libzstd"),
        // libzstd does not check everything in damaged streams; stricter checks are harmless.
        (Err(_), _) => {}
        (Ok(()), None) => panic!("libzstd refuses it"),
    }
});

/// As in QEMU: frame by frame until the cluster is full; the last frame must end there.
fn libzstd(stream: &[u8], size: usize) -> Option<Vec<u8>> {
    let mut context = DCtx::create();
    let mut bytes = vec![0; size];
    let mut output = OutBuffer::around(&mut bytes[..]);
    let mut input = InBuffer::around(stream);
    while output.pos() < size {
        let before = (input.pos(), output.pos());
        let hint = context.decompress_stream(&mut output, &mut input).ok()?;
        let after = (input.pos(), output.pos());
        if hint > 0 && before == after {
            return None;
        }
        if output.pos() == size {
            // The rest of the frame has no content.
            let mut none = [0; 1];
            let mut end = OutBuffer::around(&mut none[..]);
            let mut hint = hint;
            while hint > 0 {
                let before = input.pos();
                hint = context.decompress_stream(&mut end, &mut input).ok()?;
                if end.pos() > 0 || hint > 0 && input.pos() == before {
                    return None;
                }
            }
        }
    }
    Some(bytes)
}
