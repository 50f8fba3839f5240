//! Exports to `worker/`: images, their passwords, and conversions.

use super::CancelHandle;
use super::map::Map;
use super::open_spec::OpenSpec;
use super::output_spec::{DiskSize, chosen, formats, output};
use super::part_workers::PartWorkers;
use crate::container::blocks::InPlace;
use crate::convert::{Cancel, Change, measure, read};
use crate::disk::extent::Extents;
use crate::disk::file_check::CheckProgress;
use crate::disk::sector_sizes::SectorSizes;
use crate::error::{Error, Result};
use crate::io::source::{FileId, Source};
use crate::js::errors::{JsResult, to_js};
use crate::offsets::GuestRange;
use crate::open::examination::Examination;
use crate::open::image::Image;
use crate::open::streamed_image::{RoomNeeded, StreamedImage};
use crate::open::{Opened, open, split};
use futures_util::FutureExt;
use js_sys::{Function, Object, Promise, Reflect, Uint8Array};
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
    pub(super) content: Content,
    /// The error for a caller without room, if it is a file to be unpacked.
    room_needed: Option<Error>,
}

/// The kinds of access to an image.
#[derive(Clone)]
pub(super) enum Content {
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

    /// Describes the output `format` with `options`, an object of names and values. `disk_size` is the size that the disk gets in bytes,
    /// or that of a streamed disk, if it was determined; `more` are the sizes of further disks. Fails with `usage` for an unknown format or option, and if the
    /// format cannot hold the disks.
    pub fn output(&self, format: &str, options: &Object, disk_size: Option<f64>, more: Vec<f64>) -> JsResult<JsValue> {
        let more: Vec<_> = more.into_iter().map(|size| size as u64).collect();
        to_js(&output(format, options, self.disk_size(disk_size)?, &more, self.stated_sectors())?)
    }

    /// Examines the tables, all of them if `deep`. Returns `undefined` for a streamed disk.
    pub async fn examine(&self, deep: bool, cancel: &CancelHandle) -> JsResult<JsValue> {
        let Content::RandomAccess(image) = &self.content else { return Ok(JsValue::UNDEFINED) };
        let (image, cancel) = (image.clone(), cancel.0.clone());
        to_js(&cancel.or(Examination::of(&image, deep)).await?)
    }

    /// The sizes of the disk in the output `format` with `options`, an object of names and values, as `Measured` of the API. `disk_size`
    /// is the size that the disk gets in bytes, if not that of the image.
    pub async fn measure(
        &self,
        format: &str,
        options: &Object,
        disk_size: Option<f64>,
        cancel: &CancelHandle,
    ) -> JsResult<JsValue> {
        let (image, cancel) = (self.image("measured")?, cancel.0.clone());
        let (format, options) = chosen(format, options)?;
        let change = Change { size: disk_size.map(|size| size as u64), fix_gpt: None };
        let measured = cancel.or(measure(&image, format, options, change)).await;
        to_js(&measured.map_err(|error| image.explain(error))?)
    }

    /// Checks the structures of the image's own file. `on_progress` gets the finished share. Returns `undefined` for a streamed disk.
    #[wasm_bindgen(js_name = checkFile)]
    pub async fn check_file(&self, on_progress: Function, cancel: &CancelHandle) -> JsResult<JsValue> {
        let Content::RandomAccess(image) = &self.content else { return Ok(JsValue::UNDEFINED) };
        let (image, cancel) = (image.clone(), cancel.0.clone());
        let progress = CheckProgress::new(move |share| {
            // An exception in Decant's own listener must not fail the check.
            let _ = on_progress.call1(&JsValue::NULL, &share.into());
        });
        to_js(&cancel.or(image.check_file(progress)).await?)
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
