//! A caller's source, which is on the calling side: only this worker can read it.

use crate::error::{ErrorKind, Result};
use crate::io::source::{Profile, Reader, Source};
use crate::js::errors::caught;
use crate::offsets::{ByteRange, HostOffset};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use js_sys::{Promise, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen]
extern "C" {
    /// `CustomSource` of the package: `fetch` resolves to exactly `length` bytes, a new array each time.
    type JsCaller;
    #[wasm_bindgen(method, getter)]
    fn size(this: &JsCaller) -> f64;
    #[wasm_bindgen(method, getter)]
    fn gap(this: &JsCaller) -> f64;
    #[wasm_bindgen(method, getter, js_name = minRead)]
    fn min_read(this: &JsCaller) -> f64;
    #[wasm_bindgen(method, getter, js_name = readsAtOnce)]
    fn reads_at_once(this: &JsCaller) -> u32;
    #[wasm_bindgen(method, getter)]
    fn expects(this: &JsCaller) -> bool;
    /// Announces reads of the reader with this number: `[offset, length, offset, length, ...]`; none cancel them.
    #[wasm_bindgen(method)]
    fn expect(this: &JsCaller, reader: u32, ranges: Vec<f64>);
    #[wasm_bindgen(method, catch)]
    fn fetch(this: &JsCaller, offset: f64, length: f64) -> std::result::Result<Promise, JsValue>;
    /// Abandons a promise of `fetch`.
    #[wasm_bindgen(method, js_name = giveUp)]
    fn give_up(this: &JsCaller, promise: &Promise);
}

pub(super) struct CallerSource {
    object: JsCaller,
    size: u64,
    profile: Profile,
}

impl CallerSource {
    /// Wraps `value` if it is a caller's source; otherwise returns it as the error.
    pub(super) fn new(value: JsValue) -> std::result::Result<Self, JsValue> {
        if !js_sys::Reflect::has(&value, &"fetch".into())? {
            return Err(value);
        }
        let object: JsCaller = value.unchecked_into();
        let profile = Profile {
            gap: object.gap() as u64,
            min_read: object.min_read() as u64,
            reads_at_once: object.reads_at_once() as usize,
            opened_by_workers: false,
            made_here: false,
            expects: object.expects(),
        };
        Ok(Self { size: object.size() as u64, object, profile })
    }

    async fn fill(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let failed = |thrown: JsValue| caught(&thrown, ErrorKind::Source, "read the image");
        let promise = self.object.fetch(offset as f64, buf.len() as f64).map_err(failed)?;
        let waiting = Waiting { object: &self.object, promise: Some(promise.clone()) };
        let bytes: Uint8Array = waiting.settled(JsFuture::from(promise).await).map_err(failed)?.unchecked_into();
        bytes.copy_to(buf);
        Ok(())
    }
}

/// A read in progress. It is abandoned when dropped before it settles.
struct Waiting<'a> {
    object: &'a JsCaller,
    promise: Option<Promise>,
}

impl Waiting<'_> {
    fn settled<T>(mut self, result: T) -> T {
        self.promise = None;
        result
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(promise) = &self.promise {
            self.object.give_up(promise);
        }
    }
}

impl Source for CallerSource {
    fn size(&self) -> u64 {
        self.size
    }

    fn profile(&self) -> Profile {
        self.profile
    }

    fn expect(&self, reader: Reader, ranges: &[ByteRange]) {
        let ranges = ranges.iter().flat_map(|range| [range.start.0 as f64, range.len as f64]).collect();
        self.object.expect(reader.0, ranges);
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        self.fill(offset.0, buf).boxed_local()
    }
}
