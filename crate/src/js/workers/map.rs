//! The map of a disk, for `worker/`.

use super::CancelHandle;
use crate::disk::extent::{Extent, ExtentKind, Extents};
use crate::error::damage::Damage;
use crate::io::source::FileId;
use crate::js::errors::{JsResult, to_js};
use crate::offsets::{HostOffset, MAX_SIZE};
use serde::Serialize;
use wasm_bindgen::prelude::*;

/// A pass over the extents.
#[wasm_bindgen]
pub struct Map {
    extents: Extents,
    /// For each file: the caller's file that contains it, and its offset there; `None` if it is not part of one.
    places: Vec<Option<(FileId, u64)>>,
    /// The last extent so far, which the next batch may extend.
    open: Option<MapExtent>,
}

impl Map {
    pub(super) fn new(extents: Extents, places: Vec<Option<(FileId, u64)>>) -> Self {
        Self { extents, places, open: None }
    }
}

#[wasm_bindgen]
impl Map {
    /// Returns the next extents, a bounded number; `undefined` at the end. A cancelled pass cannot be continued.
    pub async fn next(&mut self, cancel: &CancelHandle) -> JsResult<JsValue> {
        let cancel = cancel.0.clone();
        let mut batch = Vec::new();
        if !cancel.or(self.extents.next(&mut batch)).await? {
            return match self.open.take() {
                Some(last) => to_js(&[last]),
                None => Ok(JsValue::UNDEFINED),
            };
        }
        let mut ready = Vec::new();
        for extent in &batch {
            let next = MapExtent::new(extent, &self.places);
            if !self.open.as_mut().is_some_and(|open| open.try_extend(&next)) {
                ready.extend(self.open.replace(next));
            }
        }
        to_js(&ready)
    }
}

/// `Extent` of the API, with its file's number. Sizes in bytes.
#[derive(Clone, PartialEq, Serialize)]
struct MapExtent {
    offset: u64,
    length: u64,
    kind: &'static str,
    depth: u16,
    compressed: bool,
    encrypted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<u16>,
    #[serde(rename = "hostOffset", skip_serializing_if = "Option::is_none")]
    host_offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
}

impl MapExtent {
    /// Converts `extent`. `places` is as in [`Map`].
    fn new(extent: &Extent, places: &[Option<(FileId, u64)>]) -> Self {
        let mut map = Self {
            offset: extent.start.0,
            length: extent.len,
            kind: "data",
            depth: extent.layer,
            compressed: false,
            encrypted: false,
            file: None,
            host_offset: None,
            code: extent.doubt.map(Damage::code),
            message: extent.doubt.map(Damage::reason),
        };
        let place_of = |file: FileId| places[usize::from(file.0)];
        match extent.kind {
            ExtentKind::Unallocated { host } | ExtentKind::Zero { host } => {
                map.kind = if matches!(extent.kind, ExtentKind::Zero { .. }) { "zero" } else { "unallocated" };
                let offset = |(file, host): (FileId, HostOffset)| host.0.checked_add(place_of(file)?.1);
                map.host_offset = host.and_then(offset).filter(|&host| host <= MAX_SIZE);
            }
            ExtentKind::Data { file, host, encrypted: None } => {
                map.file = place_of(file).map(|(given, _)| given.0);
                map.host_offset = place_of(file).map(|(_, start)| host.0 + start);
            }
            ExtentKind::Data { .. } => map.encrypted = true,
            ExtentKind::Compressed { .. } => map.compressed = true,
            ExtentKind::Lost(damage) => {
                map.kind = "lost";
                map.code = Some(damage.code());
                map.message = Some(damage.reason());
            }
        }
        map
    }

    /// Merges `next` if it continues this extent with equal properties, like `qemu-img map`.
    fn try_extend(&mut self, next: &MapExtent) -> bool {
        let continued = Self {
            offset: next.offset,
            length: next.length,
            host_offset: self.host_offset.map(|offset| offset + self.length),
            ..self.clone()
        };
        let one = continued == *next;
        if one {
            self.length += next.length;
        }
        one
    }
}
