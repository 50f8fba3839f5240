//! The rules of strict readers: each has an image that breaks it.

use super::{MIB, entry_with};
use crate::common::*;
use decant::io::target::Abilities;
use std::collections::BTreeSet;

/// A rule, and a change of an image that breaks it.
pub type Row = (&'static str, fn(&mut Vec<u8>));

/// Writes `bytes` at `at`.
pub fn put(file: &mut [u8], at: usize, bytes: &[u8]) {
    file[at..at + bytes.len()].copy_from_slice(bytes);
}

/// A disk of two and a half MiB, the second of which is zeros.
fn disk() -> Vec<u8> {
    let mut disk: Vec<u8> = (0..5 * MIB as usize / 2).map(|at| (at / 3) as u8 | 1).collect();
    disk[MIB as usize..2 * MIB as usize].fill(0);
    disk
}

/// `read`, a reader with this `source`, accepts an output of `format` with `options`, and each change of `rows` makes it refuse the output
/// with the rule. Every rule in the source has a row.
pub fn are_enforced(
    format: &str,
    options: &[(&str, &str)],
    rows: &[Row],
    source: &str,
    read: fn(&[u8]) -> Result<Vec<u8>, &'static str>,
) {
    let output = entry_with(format, options);
    let case = Case { format: Some("raw".to_owned()), ..Case::new(disk()) };
    let abilities = Abilities::default();
    let converted = case.convert_with(output.format(), output.options(), Answers::InOrder, abilities, 1 << 20);
    converted.result.unwrap();
    let image = converted.target.bytes.take();
    assert!(read(&image).unwrap() == disk());
    for (rule, change) in rows {
        let mut broken = image.clone();
        change(&mut broken);
        assert_eq!(read(&broken).err(), Some(*rule));
    }
    // Sentences have spaces; names and signatures have none. Except for the text of VDI, which ends in a line end.
    let is_rule = |text: &&str| text.contains(' ') && !text.ends_with("\\n");
    let written: BTreeSet<_> = source.split('"').skip(1).step_by(2).filter(is_rule).collect();
    assert_eq!(written, rows.iter().map(|(rule, _)| *rule).collect());
}
