//! zip for the suite.

use super::{Container, Sample};
use crate::common::small;
use crate::common::zip::{Entry, Zip};
use crate::tar::content;

pub const CONTAINER: Container = Container { name: "zip", samples };

fn samples() -> Vec<Sample> {
    let raw = &content()[..3000];
    let padded = [raw, &[0; 72]].concat();
    let stored = Entry::stored("a.qcow2", &small::small());
    let text = Entry::deflated("README", b"text");
    let wide = Zip { zip64: true, comment: b"comment", ..Zip::default() };
    let sample = |what: &str, zip: Zip, entries: &[Entry], disk: Vec<u8>| {
        let (file, directory) = zip.made_of(entries);
        let tables = vec![0..30, directory..file.len()];
        Sample { tables, ..Sample::new(what, file, disk) }
    };
    vec![
        sample("a stored image", Zip::default(), &[text.clone(), stored.clone()], small::small_disk()),
        sample("a deflated raw disk", Zip::default(), &[Entry::deflated("a.img", raw)], padded.clone()),
        sample("zip64", wide, &[stored, text], small::small_disk()),
        sample("zip64, streamed", Zip { streamed: true, ..wide }, &[Entry::deflated("disk.raw", raw)], padded),
    ]
}
