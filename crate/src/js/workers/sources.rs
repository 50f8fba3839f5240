//! Sources and streams of JavaScript: files of browsers and of Node, and a caller's.

use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Profile, Reader, Source};
use crate::io::stream::ByteStream;
use crate::js::bytes::view_mut;
use crate::js::errors::caught;
use crate::offsets::{ByteRange, HostOffset};
use crate::open::Input;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use js_sys::{Promise, Uint8Array};
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

/// Makes a source of an object with `begin` or `read`.
pub(super) fn source(value: JsValue) -> Rc<dyn Source> {
    match RangedSource::new(value) {
        Ok(source) => Rc::new(source),
        Err(object) => Rc::new(ObjectSource::new(object)),
    }
}

/// Makes the input of an image: a stream of an object with `next`, otherwise a source.
pub(super) fn input(value: JsValue) -> Input {
    match CallerStream::new(value) {
        Ok(stream) => Input::Stream(Box::new(stream)),
        Err(value) => Input::File(source(value)),
    }
}

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

struct RangedSource {
    object: JsSource,
    size: u64,
    profile: Profile,
}

impl RangedSource {
    /// Wraps `value` if it has ranges; otherwise returns it as the error.
    fn new(value: JsValue) -> std::result::Result<Self, JsValue> {
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

#[wasm_bindgen]
extern "C" {
    /// `CustomStream` of the package: `next` resolves to the next `length` bytes, or all that are left, in a new array each time.
    type JsStream;
    #[wasm_bindgen(method, catch)]
    fn next(this: &JsStream, length: f64) -> std::result::Result<Promise, JsValue>;
}

struct CallerStream {
    object: JsStream,
    position: u64,
    has_ended: bool,
}

impl CallerStream {
    /// Wraps `value` if it is a caller's stream; otherwise returns it as the error.
    fn new(value: JsValue) -> std::result::Result<Self, JsValue> {
        if !js_sys::Reflect::has(&value, &"next".into())? {
            return Err(value);
        }
        Ok(Self { object: value.unchecked_into(), position: 0, has_ended: false })
    }

    async fn fill(&mut self, buf: &mut [u8]) -> Result<usize> {
        if self.has_ended {
            return Ok(0);
        }
        let failed = |thrown: JsValue| caught(&thrown, ErrorKind::Source, "read the image");
        let promise = self.object.next(buf.len() as f64).map_err(failed)?;
        let bytes: Uint8Array = JsFuture::from(promise).await.map_err(failed)?.unchecked_into();
        let len = bytes.length() as usize;
        let room = buf.get_mut(..len).ok_or_else(|| Error::new(ErrorKind::Internal, "A stream gave too many bytes"))?;
        bytes.copy_to(room);
        self.has_ended = len < buf.len();
        self.position += len as u64;
        Ok(len)
    }
}

impl ByteStream for CallerStream {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        self.fill(buf).boxed_local()
    }

    fn file_position(&self) -> u64 {
        self.position
    }
}

#[wasm_bindgen]
extern "C" {
    /// `ObjectSource`: `read` fills the bytes before it returns, and keeps no reference to them. It may return a
    /// promise, to let other tasks run.
    type JsObject;
    #[wasm_bindgen(method, getter)]
    fn size(this: &JsObject) -> f64;
    #[wasm_bindgen(method, catch)]
    fn read(this: &JsObject, offset: f64, bytes: &Uint8Array) -> std::result::Result<Option<Promise>, JsValue>;
}

/// A file that this worker reads by itself, as in Node.
struct ObjectSource {
    object: JsObject,
    size: u64,
}

impl ObjectSource {
    fn new(object: JsValue) -> Self {
        let object: JsObject = object.unchecked_into();
        let size = object.size() as u64;
        Self { object, size }
    }

    async fn fill(&self, offset: u64, buf: &mut [u8]) -> Result<()> {
        let failed = |thrown: JsValue| caught(&thrown, ErrorKind::Source, "read the image");
        let rest = self.object.read(offset as f64, &view_mut(buf)).map_err(failed)?;
        if let Some(rest) = rest {
            JsFuture::from(rest).await.map_err(failed)?;
        }
        Ok(())
    }
}

impl Source for ObjectSource {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        self.fill(offset.0, buf).boxed_local()
    }
}
