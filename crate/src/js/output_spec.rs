//! Output formats and conversion parameters in JavaScript.

use crate::convert::ResumePoint;
use crate::disk::info::Notice;
use crate::error::Result;
use crate::error::fields::Fields;
use crate::open::image::Image;
use crate::output::{self, FormatOption, OUTPUT_FORMATS, OutputFormat, Stamp, Writer};
use js_sys::Uint8Array;
use serde::Serialize;
use std::borrow::Cow;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// `{ format, seconds, random, begun, begunWritten }`: the name of an output format, the stamp for its writer, and
    /// the point to resume from.
    pub type OutputSpec;
    #[wasm_bindgen(method, getter)]
    fn format(this: &OutputSpec) -> String;
    #[wasm_bindgen(method, getter)]
    fn seconds(this: &OutputSpec) -> f64;
    #[wasm_bindgen(method, getter)]
    fn random(this: &OutputSpec) -> Uint8Array;
    #[wasm_bindgen(method, getter)]
    fn begun(this: &OutputSpec) -> f64;
    #[wasm_bindgen(method, getter, js_name = begunWritten)]
    fn begun_written(this: &OutputSpec) -> f64;
}

impl OutputSpec {
    /// Creates a writer for the disk of `image`, or with `None`, for a disk of unknown size.
    pub(super) fn writer(&self, image: Option<Rc<Image>>) -> Result<Box<dyn Writer>> {
        writer_for(output::by_name(&self.format())?, image.map(|image| image.virtual_size()))
    }

    pub(super) fn what_is_there(&self) -> ResumePoint {
        ResumePoint { guest: self.begun() as u64, written: self.begun_written() as u64 }
    }

    pub(super) fn stamp(&self) -> Stamp {
        let mut stamp = Stamp { seconds: self.seconds() as u64, ..Stamp::default() };
        let random = self.random();
        if random.length() as usize == stamp.random.len() {
            random.copy_to(&mut stamp.random);
        }
        stamp
    }
}

/// `OutputFormat` of the API. Sizes in bytes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OutputMessage {
    name: &'static str,
    label: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    hint: &'static str,
    extension: &'static str,
    options: Vec<OptionMessage>,
    compressed: bool,
    has_footer: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    notices: Vec<Notice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<RefusalMessage>,
}

#[derive(Serialize)]
struct OptionMessage {
    name: &'static str,
    values: &'static [&'static str],
}

/// The reason why an image cannot be converted to a format.
#[derive(Serialize)]
struct RefusalMessage {
    kind: &'static str,
    code: Cow<'static, str>,
    fields: Fields,
    message: String,
}

/// Creates a writer for a disk of `virtual_size` bytes, or with `None`, for a disk of unknown size.
fn writer_for(format: &OutputFormat, virtual_size: Option<u64>) -> Result<Box<dyn Writer>> {
    match virtual_size {
        Some(virtual_size) => (format.writer)(virtual_size),
        None => format.writer_in_order(),
    }
}

/// Describes all output formats for a disk of `virtual_size` bytes, including those that refuse it. `None` if its size
/// is unknown.
pub(super) fn formats(virtual_size: Option<u64>) -> Vec<OutputMessage> {
    OUTPUT_FORMATS.iter().map(|format| describe(format, virtual_size)).collect()
}

fn describe(format: &OutputFormat, virtual_size: Option<u64>) -> OutputMessage {
    let OutputFormat { name, label, hint, extension, options, compressed, has_footer, .. } = *format;
    let options = options.iter().map(|&FormatOption { name, values }| OptionMessage { name, values }).collect();
    let (size, notices, refusal) = match writer_for(format, virtual_size) {
        Ok(_) if virtual_size.is_none() => (None, Vec::new(), None),
        Ok(writer) => (writer.output_size(), writer.notice().into_iter().collect(), None),
        Err(error) => {
            let (code, fields) = (error.code.clone(), error.fields.clone());
            let refusal = RefusalMessage { kind: error.kind.name(), code, fields, message: error.message() };
            (None, Vec::new(), Some(refusal))
        }
    };
    OutputMessage { name, label, hint, extension, options, compressed, has_footer, size, notices, refusal }
}
