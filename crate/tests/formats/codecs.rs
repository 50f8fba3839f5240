//! Small files of codecs for the suite.

use super::Sample;
use crate::codecs::{Codec, padded};
use crate::gzip::{disk, noise};

pub fn samples(codec: &Codec) -> Vec<Sample> {
    const CUT: usize = 2000;
    let content = disk(20_000);
    let two = [codec.pack(&content[..CUT]), codec.pack(&content[CUT..2 * CUT])];
    let files = [
        ("text", codec.pack(&content), &content[..]),
        ("noise", codec.pack(&noise(3072)), &noise(3072)[..]),
        ("two", two.concat(), &content[..2 * CUT]),
    ];
    let sample = |(what, file, content): (&str, Vec<u8>, &[u8])| {
        let sample = Sample::new(what, file.clone(), padded(content));
        Sample {
            signature: (codec.signature, sample.signature.1),
            tables: vec![0..24, file.len() - 28..file.len()],
            also_whole: if what == "two" { vec![two[0].len()] } else { Vec::new() },
            ..sample
        }
    };
    files.into_iter().map(sample).collect()
}
