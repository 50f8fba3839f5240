//! What `worker/` calls: images, their maps, and conversions.

use crate::convert::{Cancel, Progress, convert};
use crate::extent::{Extent, ExtentKind, ExtentWalk};
use crate::image::{Image, OpenOptions};
use crate::units::MAX_SIZE;
use js_sys::Function;
use serde::Serialize;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

type JsResult<T> = std::result::Result<T, JsValue>;

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
    /// Opens a `Blob` or a source object.
    pub async fn open(source: JsValue, format: Option<String>, name: Option<String>) -> JsResult<OpenImage> {
        let image = Image::open(super::source(source), &OpenOptions { format, name }).await?;
        Ok(Self { image: Rc::new(image) })
    }

    /// What the headers say: `Info`, without what only the caller knows.
    pub fn info(&self) -> JsResult<JsValue> {
        to_js(&self.image.info())
    }

    /// Begins a pass over the extents.
    pub fn map(&self) -> Map {
        Map { walk: self.image.extents(), open: None }
    }

    /// Converts the disk into `sink`. `executor` is a function that dispatches a job, or `undefined`
    /// with the pool of threads. Answers with the last progress.
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
            super::threads::Pool::new(image.source().clone(), budget as u64)
        };
        #[cfg(not(feature = "threads"))]
        let executor = match dispatch {
            Some(dispatch) => super::workers::Workers::new(dispatch, workers, budget as u64),
            None => return Err(crate::Error::new(crate::ErrorKind::Internal, "There is nobody to dispatch to").into()),
        };
        let sink = super::sink(&sink)?;
        let done = convert(&image, &executor, &*sink, &report, &cancel).await?;
        to_js(&ProgressMessage::from(done))
    }
}

/// Ends a conversion.
#[wasm_bindgen]
#[derive(Default)]
pub struct CancelHandle(Rc<Cancel>);

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
    read: u64,
    written: u64,
    finalizing: bool,
}

impl From<Progress> for ProgressMessage {
    fn from(progress: Progress) -> Self {
        let Progress { guest_done, guest_total, read, written, finalizing } = progress;
        Self { guest_done, guest_total, read, written, finalizing }
    }
}

/// A pass over the extents.
#[wasm_bindgen]
pub struct Map {
    walk: Box<dyn ExtentWalk>,
    /// The last extent so far, which the next batch may extend.
    open: Option<MapExtent>,
}

#[wasm_bindgen]
impl Map {
    /// The next extents, a bounded number, `undefined` when there are no more.
    pub async fn next(&mut self) -> JsResult<JsValue> {
        let mut batch = Vec::new();
        if !self.walk.next(&mut batch).await? {
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

/// `Extent` of the API. Sizes in bytes.
#[derive(Clone, Serialize)]
struct MapExtent {
    start: u64,
    length: u64,
    kind: &'static str,
    compressed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
}

impl From<&Extent> for MapExtent {
    fn from(extent: &Extent) -> Self {
        let (kind, compressed, offset) = match extent.kind {
            ExtentKind::Unallocated => ("unallocated", false, None),
            ExtentKind::Zero { host } => ("zero", false, host),
            ExtentKind::Data { host } => ("data", false, Some(host)),
            ExtentKind::Compressed { .. } => ("data", true, None),
        };
        Self {
            start: extent.start.0,
            length: extent.len,
            kind,
            compressed,
            offset: offset.map(|host| host.0).filter(|&host| host <= MAX_SIZE),
        }
    }
}

impl MapExtent {
    /// As `qemu-img map` does: neighbours are one where all that is said of them is the same.
    fn try_extend(&mut self, next: &MapExtent) -> bool {
        let one = self.kind == next.kind
            && self.compressed == next.compressed
            && self.offset.map(|offset| offset + self.length) == next.offset;
        if one {
            self.length += next.length;
        }
        one
    }
}
