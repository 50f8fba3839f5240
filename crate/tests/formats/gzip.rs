//! gzip for the suite.

use super::{Container, Sample};
use crate::common::*;
use crate::gzip::{disk, member, noise};

pub const CONTAINER: Container = Container { name: "gzip", samples };

fn samples() -> Vec<Sample> {
    const CUT: usize = 2000;
    let content = disk(20_000);
    let two = [member(0, &[], &content[..CUT]), member(0, &[], &content[CUT..2 * CUT])];
    let files = [
        ("text", filter("gzip", &["-c"], &content), &content[..]),
        ("noise", filter("gzip", &["-c"], &noise(3072)), &noise(3072)[..]),
        ("a name", member(4 | 8, b"\x02\0ab name\0", &content[..5000]), &content[..5000]),
        ("two members", two.concat(), &content[..2 * CUT]),
    ];
    let as_file: fn(Vec<u8>) -> Case = Case::new;
    let as_stream: fn(Vec<u8>) -> Case = |file| Case { as_stream: true, ..Case::new(file) };
    let mut samples = Vec::new();
    for (what, file, content) in files {
        let disk = [content, &vec![0; content.len().next_multiple_of(512) - content.len()]].concat();
        for (how, case) in [("a file", as_file), ("a stream", as_stream)] {
            let sample = Sample::new(format!("{what} as {how}"), file.clone(), disk.clone());
            samples.push(Sample {
                case,
                signature: (3, sample.signature.1),
                tables: vec![0..10, file.len() - 8..file.len()],
                also_whole: if what == "two members" { vec![two[0].len()] } else { Vec::new() },
                ..sample
            });
        }
    }
    samples
}
