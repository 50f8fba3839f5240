//! What `worker/` calls: images, their maps, and conversions.

use super::open_spec::OpenSpec;
use crate::convert::{Cancel, Progress, convert};
use crate::damage::Lost;
use crate::extent::{Extent, ExtentKind, Extents};
use crate::extras::Keys;
use crate::image::Image;
use crate::units::MAX_SIZE;
use js_sys::Function;
use serde::Serialize;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

pub(super) type JsResult<T> = std::result::Result<T, JsValue>;

/// The values of Rust as plain JavaScript objects, numbers as numbers.
fn to_js(value: &impl Serialize) -> JsResult<JsValue> {
    Ok(value.serialize(&serde_wasm_bindgen::Serializer::new().serialize_missing_as_null(false))?)
}

/// An opened image.
#[wasm_bindgen]
pub struct OpenImage {
    image: Rc<Image>,
}

#[wasm_bindgen]
impl OpenImage {
    /// Opens an image with its companions.
    pub async fn open(spec: OpenSpec) -> JsResult<OpenImage> {
        let (source, options, keys) = spec.read()?;
        let image = Image::open(source, &options).await?;
        if let Some(keys) = keys {
            image.set_keys(Keys::from_bytes(&keys)?);
        }
        Ok(Self { image: Rc::new(image) })
    }

    /// What the headers say: `Info`, without what only the caller knows.
    pub fn info(&self) -> JsResult<JsValue> {
        to_js(&self.image.info())
    }

    /// Whether reading needs a build with extras.
    #[wasm_bindgen(js_name = needsExtras)]
    pub fn needs_extras(&self) -> bool {
        self.image.needs_extras()
    }

    /// More for `Info.safety`, from a look at the tables.
    pub async fn survey(&self) -> JsResult<JsValue> {
        to_js(&self.image.survey().await)
    }

    /// Begins a pass over the extents.
    pub fn map(&self) -> JsResult<Map> {
        Ok(Map { extents: self.image.extents()?, open: None })
    }

    /// Converts the disk into `sink`. `executor` is a function that dispatches a job, or `undefined`
    /// with the pool of threads. Answers with the last progress and what was lost.
    pub async fn convert(
        &self,
        dispatch: Option<Function>,
        workers: usize,
        budget: f64,
        sink: JsValue,
        on_progress: Function,
        cancel: &CancelHandle,
    ) -> JsResult<JsValue> {
        let (image, cancel) = (self.image.clone(), cancel.0.clone());
        let report = |progress: Progress| {
            // A listener of our own that throws is a fault there, and no reason to fail here.
            let _ =
                to_js(&ProgressMessage::from(progress)).and_then(|message| on_progress.call1(&JsValue::NULL, &message));
        };
        #[cfg(feature = "threads")]
        let executor = {
            let _ = (dispatch, workers);
            super::threads::Pool::new(image.files().clone(), &image.keys(), budget as u64)?
        };
        #[cfg(not(feature = "threads"))]
        let executor = match dispatch {
            Some(dispatch) => super::workers::Workers::new(dispatch, workers, budget as u64),
            None => return Err(crate::Error::new(crate::ErrorKind::Internal, "There is nobody to dispatch to").into()),
        };
        let sink = super::sink(&sink)?;
        let done = convert(&image, &executor, &*sink, &report, &cancel).await?;
        to_js(&DoneMessage { progress: done.progress.into(), lost: done.lost.iter().map(LostMessage::from).collect() })
    }
}

#[cfg(feature = "extras")]
impl OpenImage {
    pub(super) fn image(&self) -> Rc<Image> {
        self.image.clone()
    }
}

#[derive(Serialize)]
struct DoneMessage {
    progress: ProgressMessage,
    lost: Vec<LostMessage>,
}

/// `LostRange` of the API.
#[derive(Serialize)]
struct LostMessage {
    start: u64,
    length: u64,
    reason: &'static str,
}

impl From<&Lost> for LostMessage {
    fn from(lost: &Lost) -> Self {
        Self { start: lost.start, length: lost.len, reason: lost.damage.reason() }
    }
}

/// Ends a conversion.
#[wasm_bindgen]
#[derive(Default)]
pub struct CancelHandle(pub(super) Rc<Cancel>);

#[wasm_bindgen]
impl CancelHandle {
    /// A handle for one conversion.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// The conversion fails with `cancelled`, at once.
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgressMessage {
    guest_done: u64,
    guest_total: u64,
    data_done: u64,
    read: u64,
    written: u64,
    finalizing: bool,
}

impl From<Progress> for ProgressMessage {
    fn from(progress: Progress) -> Self {
        let Progress { guest_done, guest_total, data_done, read, written, finalizing } = progress;
        Self { guest_done, guest_total, data_done, read, written, finalizing }
    }
}

/// A pass over the extents.
#[wasm_bindgen]
pub struct Map {
    extents: Extents,
    /// The last extent so far, which the next batch may extend.
    open: Option<MapExtent>,
}

#[wasm_bindgen]
impl Map {
    /// The next extents, a bounded number, `undefined` when there are no more.
    pub async fn next(&mut self) -> JsResult<JsValue> {
        let mut batch = Vec::new();
        if !self.extents.next(&mut batch).await? {
            return match self.open.take() {
                Some(last) => to_js(&[last]),
                None => Ok(JsValue::UNDEFINED),
            };
        }
        let mut ready = Vec::new();
        for extent in &batch {
            let next = MapExtent::from(extent);
            if !self.open.as_mut().is_some_and(|open| open.try_extend(&next)) {
                ready.extend(self.open.replace(next));
            }
        }
        to_js(&ready)
    }
}

/// `Extent` of the API, with the number of its file. Sizes in bytes.
#[derive(Clone, PartialEq, Serialize)]
struct MapExtent {
    start: u64,
    length: u64,
    kind: &'static str,
    depth: u16,
    compressed: bool,
    encrypted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

impl From<&Extent> for MapExtent {
    fn from(extent: &Extent) -> Self {
        let mut map = Self {
            start: extent.start.0,
            length: extent.len,
            kind: "data",
            depth: extent.depth,
            compressed: false,
            encrypted: false,
            file: None,
            offset: None,
            reason: None,
        };
        match extent.kind {
            ExtentKind::Unallocated { host } | ExtentKind::Zero { host } => {
                map.kind = if matches!(extent.kind, ExtentKind::Zero { .. }) { "zero" } else { "unallocated" };
                map.offset = host.map(|host| host.0).filter(|&host| host <= MAX_SIZE);
            }
            ExtentKind::Data { file, host, encrypted: None } => {
                map.file = Some(file.0);
                map.offset = Some(host.0);
            }
            ExtentKind::Data { .. } => map.encrypted = true,
            ExtentKind::Compressed { .. } => map.compressed = true,
            ExtentKind::Lost(damage) => {
                map.kind = "lost";
                map.reason = Some(damage.reason());
            }
        }
        map
    }
}

impl MapExtent {
    /// As `qemu-img map` does: neighbours are one where all that is said of them is the same.
    fn try_extend(&mut self, next: &MapExtent) -> bool {
        let continued = Self {
            start: next.start,
            length: next.length,
            offset: self.offset.map(|offset| offset + self.length),
            ..self.clone()
        };
        let one = continued == *next;
        if one {
            self.length += next.length;
        }
        one
    }
}
