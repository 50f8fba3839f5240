//! A hasher of JavaScript, for the digests of disks.

use crate::convert::DiskHasher;
use crate::error::{Error, ErrorKind, Result};
use crate::js::bytes::JsBytes;
use crate::js::errors::caught;
use decant_crypt::SHA256;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use js_sys::{Promise, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen]
extern "C" {
    /// `DiskHasher` in `worker-side/disk-hasher.ts`. The promises delay the next call.
    pub type JsHasher;
    #[wasm_bindgen(method, catch)]
    fn add(this: &JsHasher, bytes: &Uint8Array) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch, js_name = addZeros)]
    fn add_zeros(this: &JsHasher, length: f64) -> std::result::Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn end(this: &JsHasher) -> std::result::Result<Uint8Array, JsValue>;
}

pub(super) struct WorkerHasher(pub(super) JsHasher);

impl DiskHasher<Uint8Array> for WorkerHasher {
    fn add<'a>(&'a self, bytes: &'a Uint8Array, start: usize, len: usize) -> LocalBoxFuture<'a, Result<()>> {
        settled(self.0.add(&bytes.view(start, len))).boxed_local()
    }

    fn add_zeros(&self, len: u64) -> LocalBoxFuture<'_, Result<()>> {
        settled(self.0.add_zeros(len as f64)).boxed_local()
    }

    fn end(&self) -> Result<[u8; SHA256]> {
        let hash = self.0.end().map_err(failed)?;
        let wrong = |_| Error::new(ErrorKind::Internal, "A digest has another length");
        hash.to_vec().try_into().map_err(wrong)
    }
}

fn failed(thrown: JsValue) -> Error {
    caught(&thrown, ErrorKind::Internal, "compute the digest")
}

async fn settled(added: std::result::Result<Promise, JsValue>) -> Result<()> {
    JsFuture::from(added.map_err(failed)?).await.map(drop).map_err(failed)
}
