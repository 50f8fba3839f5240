//! A source whose ranges arrive in pieces: a file of a browser, or a caller's source, which only this worker can read.

use crate::error::{Error, ErrorKind, Result};
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
    /// `RangedSource` of the package, or its `CustomSource`, which has the other properties, too.
    type JsSource;
    #[wasm_bindgen(method, getter)]
    fn size(this: &JsSource) -> f64;
    #[wasm_bindgen(method, getter)]
    fn gap(this: &JsSource) -> Option<f64>;
    #[wasm_bindgen(method, getter, js_name = minRead)]
    fn min_read(this: &JsSource) -> f64;
    #[wasm_bindgen(method, getter, js_name = readsAtOnce)]
    fn reads_at_once(this: &JsSource) -> u32;
    #[wasm_bindgen(method, getter)]
    fn expects(this: &JsSource) -> bool;
    /// Announces reads of the reader with this number: `[offset, length, offset, length, ...]`; none cancel them.
    #[wasm_bindgen(method)]
    fn expect(this: &JsSource, reader: u32, ranges: Vec<f64>);
    #[wasm_bindgen(method)]
    fn begin(this: &JsSource, offset: f64, length: f64) -> JsRange;

    /// `RangeReader` of the package.
    type JsRange;
    /// Resolves to the next bytes, which are valid until the next call.
    #[wasm_bindgen(method)]
    fn next(this: &JsRange) -> Promise;
    /// Ends the reading, and frees what it holds.
    #[wasm_bindgen(method)]
    fn end(this: &JsRange);
}

pub(super) struct RangedSource {
    object: JsSource,
    size: u64,
    profile: Profile,
}

impl RangedSource {
    /// Wraps `value` if it has ranges; otherwise returns it as the error.
    pub(super) fn new(value: JsValue) -> std::result::Result<Self, JsValue> {
        if !js_sys::Reflect::has(&value, &"begin".into())? {
            return Err(value);
        }
        let object: JsSource = value.unchecked_into();
        let profile = object.gap().map_or_else(Profile::default, |gap| Profile {
            gap: gap as u64,
            min_read: object.min_read() as u64,
            reads_at_once: object.reads_at_once() as usize,
            opened_by_workers: false,
            made_here: false,
            expects: object.expects(),
        });
        Ok(Self { size: object.size() as u64, object, profile })
    }

    async fn fill(&self, offset: u64, mut buf: &mut [u8]) -> Result<()> {
        let range = Range(self.object.begin(offset as f64, buf.len() as f64));
        while !buf.is_empty() {
            let piece = JsFuture::from(range.0.next()).await;
            let piece = piece.map_err(|thrown| caught(&thrown, ErrorKind::Source, "read the image"))?;
            let piece: Uint8Array = piece.unchecked_into();
            let len = piece.length() as usize;
            if !(1..=buf.len()).contains(&len) {
                let reason = "Could not read the image: the file is shorter than when it was chosen";
                return Err(Error::new(ErrorKind::Source, reason));
            }
            let (filled, rest) = buf.split_at_mut(len);
            piece.copy_to(filled);
            buf = rest;
        }
        Ok(())
    }
}

/// A range that is being read. It ends when it is dropped.
struct Range(JsRange);

impl Drop for Range {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Source for RangedSource {
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
