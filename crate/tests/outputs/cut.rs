//! An output that was cut off after any write is not an image.

use super::{MIB, OUTPUTS, Output};
use crate::common::*;
use decant::convert::{Cancel, Output as Conversion, convert};
use decant::io::target::{Abilities, Run, Target, TargetHandle};
use decant::native::Inline;
use decant::{Image, OpenOptions, Result};
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::cell::RefCell;
use std::rc::Rc;

/// Keeps all writes, in their order.
#[derive(Default)]
struct Written(RefCell<Vec<(u64, Vec<u8>)>>);

impl TargetHandle<Vec<u8>> for Written {
    fn write<'a>(&'a self, bytes: &'a Vec<u8>, runs: &'a [Run]) -> LocalBoxFuture<'a, Result<()>> {
        let written = |run: &Run| (run.offset, bytes[run.start..run.start + run.len].to_vec());
        self.0.borrow_mut().extend(runs.iter().map(written));
        ready(Ok(())).boxed_local()
    }
}

impl Target<Vec<u8>> for Written {
    fn abilities(&self) -> Abilities {
        Abilities { late_start: u64::MAX, ..Abilities::default() }
    }

    fn open(&self, _size: Option<u64>) -> LocalBoxFuture<'_, Result<()>> {
        ready(Ok(())).boxed_local()
    }

    fn hole(&self, _offset: u64, _len: u64) -> LocalBoxFuture<'_, Result<()>> {
        unreachable!("holes are implied")
    }

    fn finish(&self) -> LocalBoxFuture<'_, Result<()>> {
        ready(Ok(())).boxed_local()
    }

    fn abort(&self) -> LocalBoxFuture<'_, ()> {
        ready(()).boxed_local()
    }
}

/// The writes of a conversion of `disk`.
fn writes_of(output: &Output, disk: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let (format, options) = (output.format(), output.options());
    let (source, target) = (HeldSource::new(disk.to_vec()), Rc::new(Written::default()));
    let (reading, writing) = (source.clone(), target.clone());
    let work = async move {
        let opening = OpenOptions { format: Some("raw".to_owned()), ..OpenOptions::default() };
        let image = Image::open(reading, &opening).await?;
        let executor = Inline::new(image.files().clone(), &image.keys(), 2, MIB / 4)?;
        let layout = (format.layout)(image.virtual_size(), &options)?;
        let conversion = Conversion::new(&*layout, STAMP, &*writing);
        convert(&image, &executor, &conversion, &|_| {}, &Cancel::default()).await
    };
    drive(&source, Answers::InOrder, work).expect("it waits for nothing").unwrap();
    target.0.take()
}

#[test]
fn nothing_that_was_cut_off_is_an_image() {
    let mut disk: Vec<u8> = (0..2 * MIB).map(|at| (at.wrapping_mul(at >> 7) >> 5) as u8 | 1).collect();
    disk[300_000..900_000].fill(0);
    // A hole of more than the largest blocks.
    disk.resize(5 * MIB as usize, 0);
    disk[4_900_000..].fill(1);
    for (output, reader) in OUTPUTS.iter().filter_map(|output| Some((output, output.reader.as_ref()?))) {
        let writes = writes_of(output, &disk);
        let step = (writes.len() / by_scope(24, 200, 1000)).max(1);
        let mut file: Vec<u8> = Vec::new();
        for (number, (offset, bytes)) in writes.iter().enumerate() {
            if number % step == 0 || number + 8 > writes.len() {
                let opens = (reader.opens)(file.clone());
                assert!(!opens, "{output}: an image after {number} of {} writes", writes.len());
            }
            let (start, end) = (*offset as usize, *offset as usize + bytes.len());
            file.resize(file.len().max(end), 0);
            file[start..end].copy_from_slice(bytes);
        }
        assert!((reader.disk)(file) == disk, "{output}: the whole output");
    }
}
