//! Runs random inputs of a target without the fuzzer, and so without its compiler: `random TARGET FIRST COUNT`.

#[path = "../src/codecs.rs"]
mod codecs;
#[allow(dead_code)]
#[path = "../../tests/common/random.rs"]
mod random;

use decant_fuzz::examine::Seen;
use decant_fuzz::tally::Tally;
use decant_fuzz::{luks, vhdx_images, zips};
use random::Random;
use std::time::{Duration, Instant};

/// A target, and the length of a change in its inputs, in bytes.
type Target = (fn(&[u8]) -> Seen, usize);

fn target(name: &str) -> Target {
    match name {
        "zip" => (zips::zip, 8),
        "xz" => (codecs::xz, 4),
        "zstd" => (codecs::zstd, 4),
        "bzip2" => (codecs::bzip2, 4),
        "lz4" => (codecs::lz4, 4),
        "luks" => (luks::luks, 8),
        "vhdx" => (vhdx_images::vhdx, 8),
        _ => panic!("no target is called {name}"),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, first, count] = &arguments[..] else { panic!("random TARGET FIRST COUNT") };
    let (run, change) = target(name);
    let [first, count] = [first, count].map(|number| number.parse::<u64>().expect("a number"));
    let (tally, begin, mut slowest) = (Tally::new(), Instant::now(), (Duration::ZERO, 0));
    for seed in first..first + count {
        let mut random = Random::new(seed);
        let input: Vec<u8> = (0..2 + change * (1 + random.below(3))).map(|_| random.byte()).collect();
        let began = Instant::now();
        tally.count(run(&input));
        slowest = slowest.max((began.elapsed(), seed));
    }
    let (time, seed) = slowest;
    println!("{name}: {count} inputs in {:?}, the slowest one in {time:?} (seed {seed})", begin.elapsed());
}
