//! Conversions of one or several disks, for `worker/`.

use super::CancelHandle;
use super::disk_hasher::{JsHasher, WorkerHasher};
use super::executor::Workers;
use super::exports::{Content, OpenImage};
use super::output_spec::{OutputSpec, layout_for, with_disks};
use super::part_workers::PartWorkers;
use crate::convert::{
    Change, Digest, DiskSource, InOrder, Output, Progress, Reshaped, convert_disks, notice_of_start, reshaped,
};
use crate::error::Result;
use crate::io::source::FileId;
use crate::js::errors::{JsResult, to_js};
use crate::offsets::GuestRange;
use crate::output::Layout;
use js_sys::{Array, Function, Reflect, Uint8Array};
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// A conversion: the disks are added before it runs.
#[wasm_bindgen]
#[derive(Default)]
pub struct Conversion(Vec<GivenDisk>);

struct GivenDisk {
    content: Content,
    dispatch: Function,
    /// How many jobs may wait in `dispatch`.
    ahead: usize,
    /// The size of a streamed disk in bytes, if it was determined.
    stated_size: Option<u64>,
    /// The ranges that are read, if not all.
    ranges: Option<Vec<GuestRange>>,
}

impl GivenDisk {
    fn size(&self) -> Option<u64> {
        match &self.content {
            Content::RandomAccess(image) => Some(image.virtual_size()),
            Content::InOrder(_) => self.stated_size,
        }
    }

    /// Lays out the disk for `output`.
    async fn shaped(&self, output: &OutputSpec) -> Result<ShapedDisk> {
        let ((format, options), change) = (output.output()?, output.change());
        let (layout, reshaped) = match &self.content {
            Content::RandomAccess(image) => reshaped(image, format, options, change).await?,
            Content::InOrder(_) => {
                let layout = layout_for(format, &options, change.size.or(self.stated_size))?;
                (layout, Reshaped::default())
            }
        };
        Ok(ShapedDisk { layout, reshaped: Rc::new(reshaped) })
    }

    /// The disk with `change`, if it is streamed. `shaped` is its form in the output.
    fn in_order(&self, workers: usize, change: Change, shaped: &ShapedDisk) -> Result<Option<InOrder<'_>>> {
        let Content::InOrder(image) = &self.content else { return Ok(None) };
        let decoder = PartWorkers::of_stream(self.dispatch.clone(), workers);
        let disk = InOrder::new(image, Some(Rc::new(decoder))).of_size(self.stated_size);
        let is_known = change.size.or(self.stated_size).is_some();
        disk.changed(change, is_known.then_some(&*shaped.layout)).map(Some)
    }

    fn executor(&self, in_order: Option<&InOrder<'_>>, shaped: &ShapedDisk, workers: usize, memory: u64) -> Workers {
        let (files, given) = match (&self.content, in_order) {
            (Content::RandomAccess(image), _) => (shaped.reshaped.files(image), image.given().collect()),
            (_, disk) => (disk.map(InOrder::files).unwrap_or_default(), vec![FileId::IMAGE]),
        };
        Workers::new(self.dispatch.clone(), workers, memory, files, given).ahead(self.ahead)
    }
}

/// The form of a disk in the output.
struct ShapedDisk {
    /// The layout of an output with this disk only.
    layout: Box<dyn Layout>,
    /// Unless the disk is streamed.
    reshaped: Rc<Reshaped>,
}

#[wasm_bindgen]
impl Conversion {
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the disk of `image`. `dispatch` runs a job of the disk in one of the workers, and may keep `ahead` more until a worker has
    /// time. `disk_size` is that of a streamed disk in bytes, if it was determined. With `ranges`, `[start, end, start, end, ...]`, ascending
    /// and disjoint, only these ranges are read, and the rest of the disk counts as zeros.
    pub fn add(
        &mut self,
        image: &OpenImage,
        dispatch: Function,
        ahead: usize,
        disk_size: Option<f64>,
        ranges: Option<Vec<f64>>,
    ) {
        let (content, stated_size) = (image.content.clone(), disk_size.map(|size| size as u64));
        let range = |bounds: &[f64]| GuestRange::from(bounds[0] as u64..bounds[1] as u64);
        let ranges = ranges.map(|ranges| ranges.chunks_exact(2).map(range).collect());
        self.0.push(GivenDisk { content, dispatch, ahead, stated_size, ranges });
    }

    /// Converts the disks to `target`, in the format of `output`, in the memory of `workers` workers. `target` is `undefined` if only guest
    /// sums are wanted. `hasher` computes their SHA-256, if `output` wants it. Returns the final progress, the size of the output, and the
    /// result for each disk.
    #[allow(clippy::too_many_arguments, reason = "what a conversion consists of; one call from JavaScript")]
    pub async fn run(
        self,
        workers: usize,
        memory: f64,
        output: OutputSpec,
        target: JsValue,
        hasher: Option<JsHasher>,
        on_progress: Function,
        cancel: &CancelHandle,
    ) -> JsResult<JsValue> {
        let (given, cancel) = (self.0, cancel.0.clone());
        let report = |progress: Progress| {
            // An exception in Decant's own listener must not fail the conversion.
            let _ = to_js(&progress).and_then(|message| on_progress.call1(&JsValue::NULL, &message));
        };
        let summing = output.summing(target.is_undefined());
        let target = super::targets::target(&target)?;
        let hasher = hasher.map(WorkerHasher);
        let (start, stamp, may_read_twice) = (output.resume_point(), output.stamp(), output.two_pass());
        let ((format, _), change) = (output.output()?, output.change());
        let mut shaped = Vec::new();
        for disk in &given {
            shaped.push(cancel.or(disk.shaped(&output)).await?);
        }
        let mut streamed = Vec::new();
        for (disk, shaped) in given.iter().zip(&shaped) {
            streamed.push(disk.in_order(workers, change, shaped)?);
        }
        let executor = |at: usize| given[at].executor(streamed[at].as_ref(), &shaped[at], workers, memory as u64);
        let executors: Vec<_> = (0..given.len()).map(executor).collect();
        let mut disks = Vec::new();
        for (at, executor) in executors.iter().enumerate() {
            let disk = match (&given[at].content, &streamed[at]) {
                (Content::RandomAccess(image), _) => DiskSource::reshaped(image, shaped[at].reshaped.clone(), executor),
                (_, Some(disk)) => DiskSource::in_order(disk, executor),
                (_, None) => continue,
            };
            disks.push(match &given[at].ranges {
                Some(ranges) => disk.within(ranges),
                None => disk,
            });
        }
        let more: Vec<_> = given[1..].iter().filter_map(GivenDisk::size).collect();
        let layout = with_disks(shaped.swap_remove(0).layout, &more, format)?;
        let digest = match &hasher {
            Some(hasher) => Some(Digest::Sha256(hasher)),
            None => output.tree_digest().then_some(Digest::FsVerity),
        };
        let output = Output { may_read_twice, summing, digest, ..Output::new(&*layout, stamp, &*target) };
        let image = match &given[0].content {
            Content::RandomAccess(image) => Some(&**image),
            Content::InOrder(_) => None,
        };
        // The conversion reports a failure.
        let of_start = match image.filter(|_| start.guest.0 > 0) {
            Some(image) => cancel.or(notice_of_start(image)).await.ok().flatten(),
            None => None,
        };
        let mut done = convert_disks(&disks, &output, start, &report, &cancel).await?;
        done.disks[0].notices.extend(of_start);
        let sums = Array::new();
        for disk in &mut done.disks {
            let bytes = std::mem::take(&mut disk.sums).to_bytes()?;
            sums.push(&Uint8Array::from(&bytes[..]));
        }
        let message = to_js(&done)?;
        Reflect::set(&message, &"sums".into(), &sums)?;
        Ok(message)
    }
}
