//! An output that was cut off after any write is not an image.

use super::{MIB, OUTPUTS, Output};
use crate::common::written::Written;
use crate::common::*;
use decant::convert::{Cancel, Output as Conversion};
use decant::io::target::Abilities;
use decant::native::Inline;
use decant::{Image, OpenOptions};
use std::rc::Rc;

/// The writes of a conversion of `disk`.
fn writes_of(output: &Output, disk: &[u8]) -> Rc<Written> {
    let (format, options) = (output.format(), output.options());
    let abilities = Abilities { late_start: u64::MAX, ..Abilities::default() };
    let (source, target) = (HeldSource::new(disk.to_vec()), Rc::new(Written::new(abilities)));
    let (reading, writing) = (source.clone(), target.clone());
    let work = async move {
        let opening = OpenOptions { format: Some("raw".to_owned()), ..OpenOptions::default() };
        let image = Image::open(reading, &opening).await?;
        let executor = Inline::new(image.files().clone(), image.keys(), 2, MIB / 4);
        let layout = (format.layout)(image.virtual_size(), &options)?;
        let conversion = Conversion::new(&*layout, STAMP, &*writing);
        convert(&image, &executor, &conversion, &|_| {}, &Cancel::default()).await
    };
    drive(&source, Answers::InOrder, work).expect("it waits for nothing").unwrap();
    target
}

#[test]
fn truncated_files_are_not_images() {
    let mut disk: Vec<u8> = (0..2 * MIB).map(|at| (at.wrapping_mul(at >> 7) >> 5) as u8 | 1).collect();
    disk[300_000..900_000].fill(0);
    // A hole of more than the largest blocks.
    disk.resize(5 * MIB as usize, 0);
    disk[4_900_000..].fill(1);
    for (output, reader) in OUTPUTS.iter().filter_map(|output| Some((output, output.reader.as_ref()?))) {
        let written = writes_of(output, &disk);
        let count = written.count();
        let step = (count / by_scope(24, 200, 1000)).max(1);
        for number in (0..count).filter(|number| number % step == 0 || number + 8 > count) {
            let opens = (reader.opens)(written.file(number, 0));
            assert!(!opens, "{output}: an image after {number} of {count} writes");
        }
        assert!((reader.disk)(written.whole()) == disk, "{output}: the whole output");
    }
}
