//! Exports to `worker/`: images, their passwords, and conversions.

use super::executor::Workers;
use super::map::Map;
use super::open_spec::OpenSpec;
use super::output_spec::{DiskSize, OutputSpec, formats, layout_for, output};
use super::part_workers::PartWorkers;
use super::{CancelHandle, to_js};
use crate::container::blocks::InPlace;
use crate::convert::{
    Cancel, Change, InOrder, Output, Progress, ResumePoint, convert_in_order, notice_of_start, read, reshaped, resume,
};
use crate::disk::extent::Extents;
use crate::disk::info::Notice;
use crate::disk::losses::{Losses, Lost};
use crate::disk::sector_sizes::SectorSizes;
use crate::error::fields::Fields;
use crate::error::{Error, Result};
use crate::io::source::{FileId, Source};
use crate::js::errors::JsResult;
use crate::offsets::{GuestOffset, GuestRange};
use crate::open::examination::Examination;
use crate::open::image::Image;
use crate::open::streamed_image::{RoomNeeded, StreamedImage};
use crate::open::{Opened, open, split};
use futures_util::FutureExt;
use js_sys::{Function, Object, Promise, Reflect, Uint8Array};
use serde::Serialize;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use zeroize::Zeroizing;

/// `splitFiles` of the API.
#[wasm_bindgen(js_name = splitFiles)]
pub fn split_files(names: Vec<String>) -> JsResult<JsValue> {
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    to_js(&split::split_files(&names))
}

/// Returns an object whose property `name` is `value`.
fn object_with(name: &str, value: &JsValue) -> JsResult<JsValue> {
    let object = Object::new();
    Reflect::set(&object, &name.into(), value)?;
    Ok(object.into())
}

/// An opened image.
#[wasm_bindgen]
pub struct OpenImage {
    content: Content,
    /// The error for a caller without room, if it is a file to be unpacked.
    room_needed: Option<Error>,
}

/// The kinds of access to an image.
#[derive(Clone)]
enum Content {
    RandomAccess(Rc<Image>),
    InOrder(Rc<StreamedImage>),
}

#[wasm_bindgen]
impl OpenImage {
    /// Opens an image with its companions, and the containers around it. Returns an `OpenImage`, also of a file to be unpacked. For the
    /// configuration of a virtual machine, returns the disk that is to be opened, `{ disk: DiskOfMachine }`; if the caller has to choose a
    /// disk, `{ choice }`, with the error for a caller that cannot. `dispatch` runs a part of a compressed file that is read in place in one of
    /// `workers` workers, as long as the image is open. `measured` gets the finished share while parts are decoded to know their sizes.
    pub async fn open(spec: OpenSpec, dispatch: Function, workers: usize, measured: Function) -> JsResult<JsValue> {
        let decoder = Rc::new(PartWorkers::of_blocks(dispatch, workers));
        let measured = move |share: f64| {
            // An exception in Decant's own listener must not fail the opening.
            let _ = measured.call1(&JsValue::NULL, &share.into());
        };
        let (input, options) = spec.read(InPlace { decoder, measured: Rc::new(measured) });
        let (content, room_needed) = match open(input, &options).await? {
            Opened::Image(image) => (Content::RandomAccess(Rc::new(image)), None),
            Opened::Streamed(image) => (Content::InOrder(Rc::new(image)), None),
            Opened::RoomNeeded(RoomNeeded { file, refusal }) => (Content::InOrder(Rc::new(file)), Some(refusal)),
            Opened::Machine(disk) => return object_with("disk", &to_js(&disk)?),
            Opened::Choice(choice) => return object_with("choice", &choice.refusal().into()),
        };
        Ok(Self { content, room_needed }.into())
    }

    /// Returns `Info`, as far as the headers have it; the caller adds the rest.
    pub fn info(&self) -> JsResult<JsValue> {
        match &self.content {
            Content::RandomAccess(image) => to_js(&image.info()),
            Content::InOrder(image) => to_js(&image.info()),
        }
    }

    /// `Image.members` of the API.
    pub fn members(&self) -> JsResult<JsValue> {
        match &self.content {
            Content::RandomAccess(image) => to_js(&image.disks()),
            Content::InOrder(image) => to_js(&image.disks()),
        }
    }

    /// The capacity that a description of a machine states for a file to be unpacked: its size and its unit, in bytes. Other disks
    /// are compared with theirs by the crate. `undefined` if there is none.
    #[wasm_bindgen(js_name = packedCapacity)]
    pub fn packed_capacity(&self) -> JsResult<JsValue> {
        match &self.content {
            Content::InOrder(image) if image.is_packed() => {
                image.capacity().map_or(Ok(JsValue::UNDEFINED), |it| to_js(&it))
            }
            _ => Ok(JsValue::UNDEFINED),
        }
    }

    /// Whether the image is read in order, by its coordinator only.
    #[wasm_bindgen(js_name = comesInOrder)]
    pub fn comes_in_order(&self) -> bool {
        !matches!(self.content, Content::RandomAccess(_))
    }

    /// The error for a caller without room, if it is a file to be unpacked; `undefined` for an image.
    #[wasm_bindgen(js_name = roomNeeded)]
    pub fn room_needed(&self) -> JsValue {
        self.room_needed.clone().map_or(JsValue::UNDEFINED, JsValue::from)
    }

    /// The companions that are parts of a file to be unpacked, by their numbers.
    pub fn parts(&self) -> Vec<usize> {
        match &self.content {
            Content::InOrder(image) => image.parts().to_vec(),
            Content::RandomAccess(_) => Vec::new(),
        }
    }

    /// Whether the image is in a compressed file that is read in place.
    #[wasm_bindgen(js_name = isInPlace)]
    pub fn is_in_place(&self) -> bool {
        matches!(&self.content, Content::RandomAccess(image) if image.blocks().is_some())
    }

    /// The size of a streamed disk in bytes, if its container states it; `undefined` otherwise.
    #[wasm_bindgen(js_name = statedSize)]
    pub async fn stated_size(&self, cancel: &CancelHandle) -> JsResult<JsValue> {
        let Content::InOrder(image) = &self.content else { return Ok(JsValue::UNDEFINED) };
        let (image, cancel) = (image.clone(), cancel.0.clone());
        Ok(cancel.or(image.stated_size()).await?.map_or(JsValue::UNDEFINED, |size| (size as f64).into()))
    }

    /// For each file that jobs read: the number of the source that workers open for it (0 is the image), or -1 if its
    /// bytes travel with the jobs.
    pub fn opened(&self) -> Vec<i32> {
        let Content::RandomAccess(image) = &self.content else { return vec![-1] };
        let number =
            |(file, given): (&Rc<dyn Source>, FileId)| if file.profile().made_here { -1 } else { given.0.into() };
        image.files().iter().zip(image.given()).map(number).collect()
    }

    /// `Image.formats` of the API.
    pub fn formats(&self) -> JsResult<JsValue> {
        to_js(&formats(self.disk_size(None)?, self.stated_sectors()))
    }

    /// Describes the output `format` with `options`, an object of names and values. `disk_size` is the size that the disk gets in bytes, or
    /// that of a streamed disk, if it was determined. Fails with `usage` for an unknown format or option, and if the format cannot hold the disk.
    pub fn output(&self, format: &str, options: &Object, disk_size: Option<f64>) -> JsResult<JsValue> {
        to_js(&output(format, options, self.disk_size(disk_size)?, self.stated_sectors())?)
    }

    /// Examines the tables, all of them if `deep`. Returns `undefined` for a streamed disk.
    pub async fn examine(&self, deep: bool, cancel: &CancelHandle) -> JsResult<JsValue> {
        let Content::RandomAccess(image) = &self.content else { return Ok(JsValue::UNDEFINED) };
        let (image, cancel) = (image.clone(), cancel.0.clone());
        to_js(&ExaminationMessage::from(cancel.or(Examination::of(&image, deep)).await?))
    }

    /// Begins a pass over the extents.
    pub fn map(&self) -> JsResult<Map> {
        self.begin_map(Image::extents)
    }

    /// Like `map`, but allows locked images.
    pub fn layout(&self) -> JsResult<Map> {
        self.begin_map(Image::layout)
    }

    /// Reads `length` bytes of the disk from `start`. The range must be within the disk, and a few MiB at most.
    pub async fn read(&self, start: f64, length: f64, cancel: &CancelHandle) -> JsResult<Uint8Array> {
        let (image, cancel) = (self.image("read in parts")?, cancel.0.clone());
        let range = GuestRange::from(start as u64..(start + length) as u64);
        let bytes = cancel.or(read(&image, range)).await?;
        Ok(Uint8Array::from(&bytes[..]))
    }

    /// Converts the disk to `target`, in the format of `output`. `dispatch` runs a job in one of `workers`
    /// workers, and may keep `ahead` more until a worker has time. Returns the final progress, the size of the output
    /// and the lost ranges.
    #[allow(clippy::too_many_arguments, reason = "what a conversion consists of; one call from JavaScript")]
    pub async fn convert(
        &self,
        dispatch: Function,
        workers: usize,
        memory: f64,
        ahead: usize,
        output: OutputSpec,
        target: JsValue,
        on_progress: Function,
        cancel: &CancelHandle,
    ) -> JsResult<JsValue> {
        let cancel = cancel.0.clone();
        let report = |progress: Progress| {
            // An exception in Decant's own listener must not fail the conversion.
            let _ =
                to_js(&ProgressMessage::from(progress)).and_then(|message| on_progress.call1(&JsValue::NULL, &message));
        };
        let target = super::targets::target(&target)?;
        let (start, disk_size) = (output.resume_point(), output.disk_size());
        let ((format, options), change, stamp) = (output.output()?, output.change(), output.stamp());
        let may_read_twice = output.two_pass();
        let done = match self.content.clone() {
            Content::RandomAccess(image) => {
                let (layout, reshaped) = cancel.or(reshaped(&image, format, options, change)).await?;
                let files = reshaped.files(&image);
                let reshaped = Some(Rc::new(reshaped));
                let output = Output { may_read_twice, reshaped, ..Output::new(&*layout, stamp, &*target) };
                let given = image.given().collect();
                let executor = Workers::new(dispatch, workers, memory as u64, files, given).ahead(ahead);
                let is_resumed = start.guest.0 > 0;
                // The conversion reports a failure.
                let of_start = if is_resumed { cancel.or(notice_of_start(&image)).await.ok().flatten() } else { None };
                let mut done = resume(&image, &executor, &output, start, &report, &cancel).await?;
                done.notices.extend(of_start);
                done
            }
            Content::InOrder(image) => {
                let decoder = PartWorkers::of_stream(dispatch.clone(), workers);
                let size = change.size.or(disk_size);
                let layout = layout_for(format, &options, size)?;
                let output = Output { may_read_twice, ..Output::new(&*layout, stamp, &*target) };
                let disk = InOrder::new(&image, Some(Rc::new(decoder))).of_size(disk_size);
                let disk = disk.changed(change, size.map(|_| &*layout))?;
                let given = vec![FileId::IMAGE];
                let executor = Workers::new(dispatch, workers, memory as u64, disk.files(), given);
                convert_in_order(&disk, &executor, &output, &report, &cancel).await?
            }
        };
        let Losses { listed, ranges, bytes } = done.lost;
        to_js(&DoneMessage {
            progress: done.progress.into(),
            virtual_size: done.virtual_size,
            rewritten: done.rewritten.iter().map(RangeMessage::from).collect(),
            output_size: done.output_size,
            notices: done.notices,
            lost: listed.iter().map(LostMessage::from).collect(),
            lost_ranges: ranges,
            lost_bytes: bytes,
        })
    }
}

impl OpenImage {
    /// Returns the image if it has random access. Otherwise fails with [`StreamedImage::refusal`] of `done`.
    pub(super) fn image(&self, done: &str) -> Result<Rc<Image>> {
        match &self.content {
            Content::RandomAccess(image) => Ok(image.clone()),
            Content::InOrder(image) => Err(image.refusal(done)),
        }
    }

    fn disk_size(&self, given: Option<f64>) -> Result<DiskSize> {
        let size = given.map(|size| size as u64);
        Ok(match (&self.content, size) {
            (Content::RandomAccess(image), size) => {
                DiskSize::Known(Change { size, fix_gpt: None }.size_of(image.virtual_size())?)
            }
            (Content::InOrder(_), Some(size)) => DiskSize::Known(size),
            (Content::InOrder(image), None) if image.is_once() => DiskSize::Unknown,
            (Content::InOrder(_), None) => DiskSize::Measurable,
        })
    }

    fn stated_sectors(&self) -> SectorSizes {
        match &self.content {
            Content::RandomAccess(image) => image.sectors().unwrap_or_default(),
            Content::InOrder(_) => SectorSizes::default(),
        }
    }

    fn begin_map(&self, extents: impl FnOnce(&Image) -> Result<Extents>) -> JsResult<Map> {
        let image = self.image("mapped")?;
        let places =
            image.files().iter().zip(image.given()).map(|(file, given)| Some((given, file.start()?))).collect();
        Ok(Map::new(extents(&image)?, places))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DoneMessage {
    progress: ProgressMessage,
    virtual_size: u64,
    rewritten: Vec<RangeMessage>,
    output_size: u64,
    notices: Vec<Notice>,
    lost: Vec<LostMessage>,
    lost_ranges: u64,
    lost_bytes: u64,
}

/// `Examination` in `worker-side/coordinator-methods.ts`.
#[derive(Serialize)]
struct ExaminationMessage {
    notices: Vec<Notice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    damage: Option<DamageMessage>,
    lost: u64,
    checked: u64,
}

/// `Notice` of the API.
#[derive(Serialize)]
struct DamageMessage {
    code: String,
    fields: Fields,
    message: String,
}

impl From<Examination> for ExaminationMessage {
    fn from(Examination { notices, damage, lost, checked }: Examination) -> Self {
        let damage = damage.map(|error| DamageMessage {
            code: error.code.clone().into_owned(),
            fields: error.fields.clone(),
            message: error.message(),
        });
        Self { notices, damage, lost, checked }
    }
}

/// A range of the disk.
#[derive(Serialize)]
struct RangeMessage {
    offset: u64,
    length: u64,
}

impl From<&GuestRange> for RangeMessage {
    fn from(range: &GuestRange) -> Self {
        Self { offset: range.start.0, length: range.len() }
    }
}

/// `LostRange` of the API.
#[derive(Serialize)]
struct LostMessage {
    start: u64,
    length: u64,
    code: &'static str,
    reason: &'static str,
}

impl From<&Lost> for LostMessage {
    fn from(lost: &Lost) -> Self {
        Self { start: lost.start.0, length: lost.len, code: lost.damage.code(), reason: lost.damage.reason() }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgressMessage {
    guest_done: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    guest_total: Option<u64>,
    latest_start: u64,
    latest_end: u64,
    data_done: u64,
    read: u64,
    written: u64,
    settled: u64,
    settled_written: u64,
    measuring: bool,
    finalizing: bool,
}

impl From<Progress> for ProgressMessage {
    fn from(progress: Progress) -> Self {
        let Progress { guest_done, guest_total, latest, data_done, read, written, settled, measuring, finalizing } =
            progress;
        let ResumePoint { guest: GuestOffset(settled), written: settled_written } = settled;
        let GuestRange { start: GuestOffset(latest_start), end: GuestOffset(latest_end) } = latest;
        Self {
            guest_done,
            guest_total,
            latest_start,
            latest_end,
            data_done,
            read,
            written,
            settled,
            settled_written,
            measuring,
            finalizing,
        }
    }
}

/// Lets pending events of this worker run.
async fn pause() {
    let wait = Promise::new(&mut |resolve, _| {
        let set_timeout = Reflect::get(&js_sys::global(), &"setTimeout".into()).map(JsCast::unchecked_into::<Function>);
        // Every worker has timers. Without one there would be no pause, which does no harm.
        if set_timeout.and_then(|set_timeout| set_timeout.call1(&JsValue::NULL, &resolve)).is_err() {
            let _ = resolve.call0(&JsValue::NULL);
        }
    });
    // The promise is never rejected.
    let _ = JsFuture::from(wait).await;
}

async fn rest(cancel: Rc<Cancel>) -> Result<()> {
    pause().await;
    cancel.check()
}

#[wasm_bindgen]
impl OpenImage {
    /// Unlocks the first encrypted layer that has no key yet. Calls `on_progress` with the completed share of the work,
    /// 0 to 1.
    pub async fn unlock(
        &self,
        password: Vec<u8>,
        assume: bool,
        on_progress: Function,
        cancel: &CancelHandle,
    ) -> JsResult<()> {
        let password = Zeroizing::new(password);
        let (image, cancel) = (self.image("unlocked")?, cancel.0.clone());
        let rest = move |share: f64| {
            // An exception in Decant's own listener must not fail the operation.
            let _ = on_progress.call1(&JsValue::NULL, &share.into());
            rest(cancel.clone()).boxed_local()
        };
        Ok(image.unlock_next(&password, assume, &rest).await?)
    }

    /// Returns the keys found so far, for pool workers. The receiver must wipe them.
    pub fn keys(&self) -> JsResult<Uint8Array> {
        let keys = self.image("unlocked").map(|image| image.keys()).unwrap_or_default();
        Ok(Uint8Array::from(&keys.to_bytes()?[..]))
    }
}
