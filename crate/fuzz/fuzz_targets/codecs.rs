#![no_main]

#[path = "../src/codecs.rs"]
mod codecs;

use decant_fuzz::tally::Tally;

static TALLY: Tally = Tally::new();

// The first byte chooses the method.
libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let Some((&first, rest)) = input.split_first() else { return };
    let methods = [codecs::xz, codecs::zstd, codecs::bzip2, codecs::lz4];
    let run = methods[usize::from(first) % methods.len()];
    TALLY.count(run(rest));
});
