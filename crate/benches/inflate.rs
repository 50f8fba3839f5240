//! Our decoder of deflate, two clusters at a time and one by one, beside miniz_oxide: the clusters of a file, in
//! alternating runs.
//!
//!     cargo bench --bench inflate -- FILE
//!
//! Without a file it takes itself.

use decant::compress::inflate::{Inflater, Stream};
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};
use std::hint::black_box;
use std::time::Instant;

const RUNS: usize = 7;
/// At most so much of the file, in bytes.
const MOST: usize = 64 << 20;
/// What a job decodes, in bytes.
const AT_ONCE: usize = 4 << 20;

fn main() {
    let own = std::env::current_exe().expect("the benchmark is a file");
    let file = std::env::args_os().skip(1).find(|arg| !arg.to_string_lossy().starts_with("--"));
    let mut bytes = std::fs::read(file.map_or(own, Into::into)).expect("the file can be read");
    bytes.truncate(MOST);
    for cluster in [4 << 10, 64 << 10, 2 << 20] {
        let streams: Vec<(Vec<u8>, usize)> =
            bytes.chunks(cluster).map(|part| (miniz_oxide::deflate::compress_to_vec(part, 6), part.len())).collect();
        let mut output = vec![0; cluster];
        let (mut ours, mut theirs) = (Inflater::default(), DecompressorOxide::new());
        let mut many = vec![0; AT_ONCE.max(cluster)];
        let mut rates = [Vec::new(), Vec::new(), Vec::new()];
        for _ in 0..RUNS {
            rates[0].push(rate(&streams, |streams| {
                for some in streams.chunks(many.len() / cluster) {
                    let outputs = some.iter().zip(many.chunks_mut(cluster));
                    let given =
                        outputs.map(|((input, len), output)| ((), Stream { input, output: &mut output[..*len] }));
                    ours.inflate_all(given, |(), _, result| assert!(result.is_ok()));
                    black_box(&many);
                }
            }));
            rates[1].push(rate_of_each(&streams, |stream, len| {
                ours.inflate(stream, &mut output[..len]).expect("the stream is good");
                black_box(&output);
            }));
            rates[2].push(rate_of_each(&streams, |stream, len| {
                theirs.init();
                let flags = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
                let (_, _, written) = decompress(&mut theirs, stream, &mut output[..len], 0, flags);
                assert_eq!(written, len);
                black_box(&output);
            }));
        }
        let [ours, single, theirs] = rates.map(|mut rates| {
            rates.sort_by(f64::total_cmp);
            rates[RUNS / 2]
        });
        println!(
            "clusters of {cluster} bytes: {ours:.0} MB/s, one by one {single:.0} MB/s, miniz_oxide {theirs:.0} MB/s, x{:.2}",
            ours / theirs
        );
    }
}

/// Decodes all streams; answers with MB of output a second.
fn rate(streams: &[(Vec<u8>, usize)], decode: impl FnOnce(&[(Vec<u8>, usize)])) -> f64 {
    let start = Instant::now();
    decode(streams);
    streams.iter().map(|(_, len)| *len as f64).sum::<f64>() / 1e6 / start.elapsed().as_secs_f64()
}

/// The same one by one.
fn rate_of_each(streams: &[(Vec<u8>, usize)], mut decode: impl FnMut(&[u8], usize)) -> f64 {
    rate(streams, |streams| streams.iter().for_each(|(stream, len)| decode(stream, *len)))
}
