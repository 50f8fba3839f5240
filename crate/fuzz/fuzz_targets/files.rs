#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    decant_fuzz::file(input);
});
