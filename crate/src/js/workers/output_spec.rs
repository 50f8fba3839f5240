//! Output formats and conversion parameters in JavaScript.

use crate::compress::Encoding;
use crate::convert::{Change, ResumePoint, Summing};
use crate::disk::info::Notice;
use crate::disk::sector_sizes::SectorSizes;
use crate::error::{Error, ErrorKind, Result};
use crate::offsets::GuestOffset;
use crate::output::{self, FormatOption, Layout, OUTPUT_FORMATS, Options, OutputFormat, SIZE_NEEDED, Stamp};
use js_sys::{Array, Object, Uint8Array};
use serde::{Serialize, Serializer};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// `{ format, formatOptions, size, fixGpt, twoPass, treeDigest, seconds, random, begun, begunWritten, seed }`: the name of an output format,
    /// its options, the size that the disk gets, whether its GPT is fixed, whether a compressed disk may be read twice, whether only the
    /// digest of fs-verity is wanted, the stamp for its layout, the point to resume from, and, if guest sums are wanted, their seed.
    pub type OutputSpec;
    #[wasm_bindgen(method, getter)]
    fn format(this: &OutputSpec) -> String;
    #[wasm_bindgen(method, getter, js_name = formatOptions)]
    fn format_options(this: &OutputSpec) -> Object;
    #[wasm_bindgen(method, getter)]
    fn size(this: &OutputSpec) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = fixGpt)]
    fn fix_gpt(this: &OutputSpec) -> Option<bool>;
    #[wasm_bindgen(method, getter, js_name = twoPass)]
    pub(super) fn two_pass(this: &OutputSpec) -> bool;
    #[wasm_bindgen(method, getter, js_name = treeDigest)]
    pub(super) fn tree_digest(this: &OutputSpec) -> bool;
    #[wasm_bindgen(method, getter)]
    fn seconds(this: &OutputSpec) -> f64;
    #[wasm_bindgen(method, getter)]
    fn random(this: &OutputSpec) -> Uint8Array;
    #[wasm_bindgen(method, getter, js_name = begun)]
    fn resume_from(this: &OutputSpec) -> f64;
    #[wasm_bindgen(method, getter, js_name = begunWritten)]
    fn written_before(this: &OutputSpec) -> f64;
    #[wasm_bindgen(method, getter)]
    fn seed(this: &OutputSpec) -> Option<Uint8Array>;
}

impl OutputSpec {
    /// The output format and its options. Fails with `usage` for an unknown format or option.
    pub(super) fn output(&self) -> Result<(&'static OutputFormat, Options)> {
        chosen(&self.format(), &self.format_options())
    }

    pub(super) fn change(&self) -> Change {
        Change { size: self.size().map(|size| size as u64), fix_gpt: self.fix_gpt() }
    }

    pub(super) fn resume_point(&self) -> ResumePoint {
        ResumePoint { guest: GuestOffset(self.resume_from() as u64), written: self.written_before() as u64 }
    }

    /// How guest sums are computed, if they are wanted. `discards`: the output is not.
    pub(super) fn summing(&self, discards: bool) -> Option<Summing> {
        let bytes = self.seed()?.to_vec();
        let seed = bytes.iter().take(8).fold(0, |seed, &byte| seed << 8 | u64::from(byte));
        Some(Summing { seed, discards })
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
    #[serde(serialize_with = "as_map")]
    recommended: &'static [(&'static str, &'static str)],
    compressed: bool,
    resumable: bool,
    streamable: bool,
    has_footer: bool,
    /// Whether the size of the disk, which is known only at its end, must be determined first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    needs_size: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_size: Option<u64>,
    /// The size of sectors that the output states, if its format has a field for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    sector_size: Option<u64>,
    notices: Vec<Notice>,
    /// Why an image cannot be converted to the format.
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<Error>,
}

#[derive(Serialize)]
struct OptionMessage {
    name: &'static str,
    default: &'static str,
    values: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    other: Option<&'static str>,
}

fn as_map<S: Serializer>(
    pairs: &&[(&'static str, &'static str)],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().copied())
}

/// The names and values in `options`.
fn pairs_of(options: &Object) -> Vec<(String, String)> {
    let text = |entry: &Array, at| entry.get(at).as_string().unwrap_or_default();
    Object::entries(options)
        .iter()
        .map(|entry| entry.unchecked_into::<Array>())
        .map(|entry| (text(&entry, 0), text(&entry, 1)))
        .collect()
}

/// The output format `name` and its `options`, an object of names and values. Fails with `usage` for an unknown format or option.
pub(super) fn chosen(name: &str, options: &Object) -> Result<(&'static OutputFormat, Options)> {
    let format = output::by_name(name)?;
    Ok((format, Options::new(format, &pairs_of(options))?))
}

/// Lays out a disk of `virtual_size` bytes, or with `None`, a disk of unknown size.
pub(super) fn layout_for(
    format: &OutputFormat,
    options: &Options,
    virtual_size: Option<u64>,
) -> Result<Box<dyn Layout>> {
    match virtual_size {
        Some(virtual_size) => (format.layout)(virtual_size, options),
        None => format.layout_in_order(options),
    }
}

/// Adds further disks, of the sizes `more`. Fails with `usage` if an output in the format has one disk, and with `limit` if it cannot hold
/// the disks.
pub(super) fn with_disks(layout: Box<dyn Layout>, more: &[u64], format: &OutputFormat) -> Result<Box<dyn Layout>> {
    if more.is_empty() {
        return Ok(layout);
    }
    layout.with_disks(more)?.ok_or_else(|| {
        let message =
            format!("A file in the format {} holds one disk; convert the other disks to separate files", format.name);
        Error::new(ErrorKind::Usage, message).coded("one-disk")
    })
}

/// The size of a disk, as far as it is known before the conversion.
#[derive(Clone, Copy)]
pub(super) enum DiskSize {
    Known(u64),
    /// A first pass over the disk can determine the size.
    Measurable,
    /// The disk comes in a caller's stream, which is read once.
    Unknown,
}

impl DiskSize {
    fn known(self) -> Option<u64> {
        match self {
            Self::Known(size) => Some(size),
            Self::Measurable | Self::Unknown => None,
        }
    }
}

/// Describes all output formats, with their recommended options, for a disk of `size` with these sectors, including those that refuse
/// it.
pub(super) fn formats(size: DiskSize, sectors: SectorSizes) -> Vec<OutputMessage> {
    let options = |format| Options::recommended(format).with_sectors(sectors);
    OUTPUT_FORMATS.iter().map(|format| describe(format, &options(format), size)).collect()
}

/// Describes the output format `name` with `options` for a disk of `size` with these sectors, and further disks of the sizes `more`. Fails
/// with `usage` for an unknown format or option, and as [`OutputFormat::layout`] and [`with_disks`] do.
pub(super) fn output(
    name: &str,
    options: &Object,
    size: DiskSize,
    more: &[u64],
    sectors: SectorSizes,
) -> Result<OutputMessage> {
    let (format, options) = chosen(name, options)?;
    let options = options.with_sectors(sectors);
    let described = describe(format, &options, size);
    if !described.needs_size {
        with_disks(layout_for(format, &options, size.known())?, more, format)?;
    }
    Ok(described)
}

fn describe(format: &OutputFormat, chosen: &Options, disk_size: DiskSize) -> OutputMessage {
    let OutputFormat { name, label, hint, extensions, options, recommended, has_footer, .. } = *format;
    let virtual_size = disk_size.known();
    let mut layout = layout_for(format, chosen, virtual_size);
    let refused = layout.as_ref().err().filter(|error| error.code == SIZE_NEEDED).cloned();
    let needs_size = refused.is_some();
    if needs_size {
        // The encoding does not depend on the size.
        layout = (format.layout)(0, chosen);
    }
    let encoding = layout.as_ref().map_or(Encoding::Plain, |layout| layout.encoding());
    let known = layout.as_ref().ok().filter(|_| virtual_size.is_some());
    OutputMessage {
        name,
        label,
        hint,
        extension: extensions[0],
        options: options.iter().map(OptionMessage::from).collect(),
        recommended,
        compressed: encoding.is_compressed(),
        resumable: layout.is_ok() && encoding == Encoding::Plain,
        streamable: layout.as_ref().is_ok_and(|layout| layout.reserved() == 0 || layout.start_is_known()),
        has_footer,
        needs_size,
        output_size: known.and_then(|layout| layout.output_size()),
        sector_size: known.and_then(|layout| layout.sectors()).map(|sectors| sectors.logical),
        notices: match (needs_size, disk_size) {
            (true, DiskSize::Measurable) => vec![measured_first()],
            _ => known.and_then(|layout| layout.notice()).into_iter().collect(),
        },
        refusal: refused.filter(|_| matches!(disk_size, DiskSize::Unknown)).or_else(|| layout.err()),
    }
}

/// The notice that a conversion determines the size of the disk first.
fn measured_first() -> Notice {
    let message = "The size of the disk is needed first, but is known only at its end: unless the compressed file states it, the \
                   file is decoded twice";
    Notice::new("measured-first", message)
}

impl From<&FormatOption> for OptionMessage {
    fn from(option: &FormatOption) -> Self {
        let FormatOption { name, values, other } = *option;
        Self { name, default: values[0], values, other: other.map(|other| other.form) }
    }
}
