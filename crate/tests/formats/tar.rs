//! tar for the suite.

use super::{Container, Sample};
use crate::common::small;
use crate::tar::{archive, content, member, pax};

pub const CONTAINER: Container = Container { name: "tar", samples };

const BLOCK: usize = 512;

fn samples() -> Vec<Sample> {
    let header = 0..BLOCK;
    let raw = &content()[..3000];
    let padded = [raw, &[0; 72]].concat();
    let sample = |what: &str, members: &[Vec<u8>], disk: Vec<u8>| {
        let sample = Sample::new(what, archive(members), disk).zeros_at_the_end();
        Sample { signature: (BLOCK, sample.signature.1), ..sample }
    };
    // The content of an archive is unknown if the header after the last member is cut, even if that is the end mark.
    vec![
        Sample {
            tables: vec![0..2 * BLOCK, 2 * BLOCK..3 * BLOCK],
            salvaged: 3 * BLOCK..3 * BLOCK + 3072 + 1,
            ..sample("a raw disk with a name of pax", &[pax(&[("path", "b")]), member("a", b'0', raw)], padded)
        },
        Sample {
            tables: vec![header],
            salvaged: BLOCK + small::L1..BLOCK + small::END + 1,
            ..sample("a qcow2 image", &[member("a", b'0', &small::small())], small::small_disk())
        },
    ]
}
