#![no_main]

use decant_fuzz::tally::Tally;

static TALLY: Tally = Tally::new();

libfuzzer_sys::fuzz_target!(|input: &[u8]| TALLY.count(decant_fuzz::luks::luks(input)));
