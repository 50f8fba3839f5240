//! Our decoder of deflate beside miniz_oxide: the clusters of a file, one after the other, in alternating runs.
//!
//!     cargo bench --bench inflate -- FILE
//!
//! Without a file it takes itself.

use decant::decode::inflate::Inflater;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};
use std::hint::black_box;
use std::time::Instant;

const RUNS: usize = 7;
/// At most so much of the file, in bytes.
const MOST: usize = 64 << 20;

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
        let mut rates = [Vec::new(), Vec::new()];
        for _ in 0..RUNS {
            rates[0].push(rate(&streams, |stream, len| {
                ours.inflate(stream, &mut output[..len]).expect("the stream is good");
                black_box(&output);
            }));
            rates[1].push(rate(&streams, |stream, len| {
                theirs.init();
                let flags = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
                let (_, _, written) = decompress(&mut theirs, stream, &mut output[..len], 0, flags);
                assert_eq!(written, len);
                black_box(&output);
            }));
        }
        let [ours, theirs] = rates.map(|mut rates| {
            rates.sort_by(f64::total_cmp);
            rates[RUNS / 2]
        });
        println!("clusters of {cluster} bytes: {ours:.0} MB/s, miniz_oxide {theirs:.0} MB/s, x{:.2}", ours / theirs);
    }
}

/// Decodes all streams; answers with MB of output a second.
fn rate(streams: &[(Vec<u8>, usize)], mut decode: impl FnMut(&[u8], usize)) -> f64 {
    let start = Instant::now();
    for (stream, len) in streams {
        decode(stream, *len);
    }
    streams.iter().map(|(_, len)| *len as f64).sum::<f64>() / 1e6 / start.elapsed().as_secs_f64()
}
