//! The comparison of two disks, for `worker/`.

use super::CancelHandle;
use super::executor::Workers;
use super::exports::OpenImage;
use crate::convert::{ComparedDisk, Comparing, ComparisonEvents, compare};
use crate::io::source::FileId;
use crate::js::errors::{JsResult, to_js};
use crate::offsets::GuestRange;
use js_sys::{Array, Float64Array, Function, Uint8Array};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// `{ dispatch, workers, memory, seed, strict, firstOnly, shared, progress, differ }`: two functions that run the jobs of a disk in one
    /// of the workers, the memory for both, eight random bytes, the pairs of files that both images have, and listeners.
    pub type ComparisonSpec;
    #[wasm_bindgen(method, getter)]
    fn dispatch(this: &ComparisonSpec) -> Array;
    #[wasm_bindgen(method, getter)]
    fn workers(this: &ComparisonSpec) -> usize;
    #[wasm_bindgen(method, getter)]
    fn memory(this: &ComparisonSpec) -> f64;
    #[wasm_bindgen(method, getter)]
    fn seed(this: &ComparisonSpec) -> Uint8Array;
    #[wasm_bindgen(method, getter)]
    fn strict(this: &ComparisonSpec) -> bool;
    #[wasm_bindgen(method, getter, js_name = firstOnly)]
    fn first_only(this: &ComparisonSpec) -> bool;
    /// `[one, other, one, other, ...]`
    #[wasm_bindgen(method, getter)]
    fn shared(this: &ComparisonSpec) -> Vec<u16>;
    /// `(done, offset)`
    #[wasm_bindgen(method, getter)]
    fn progress(this: &ComparisonSpec) -> Function;
    /// `([offset, length, offset, length, ...])`
    #[wasm_bindgen(method, getter)]
    fn differ(this: &ComparisonSpec) -> Option<Function>;
}

impl ComparisonSpec {
    fn comparing(&self) -> Comparing {
        let seed = self.seed().to_vec().iter().fold(0, |seed, &byte| seed << 8 | u64::from(byte));
        let shared = self.shared().chunks_exact(2).map(|pair| (FileId(pair[0]), FileId(pair[1]))).collect();
        Comparing { seed, strict: self.strict(), first_only: self.first_only(), shared }
    }
}

/// Compares the disks of two images. Returns `Compared` in `messages/coordinator.ts`. Fails for an image that is read in order.
#[wasm_bindgen(js_name = compareDisks)]
pub async fn compare_disks(
    one: &OpenImage,
    other: &OpenImage,
    spec: ComparisonSpec,
    cancel: &CancelHandle,
) -> JsResult<JsValue> {
    let images = [one.image("compared")?, other.image("compared")?];
    let dispatch = spec.dispatch();
    let executor = |at: usize| {
        let (image, dispatch): (_, Function) = (&images[at], dispatch.get(at as u32).unchecked_into());
        let (files, given) = (image.files().clone(), image.given().collect());
        Workers::new(dispatch, spec.workers(), spec.memory() as u64 / 2, files, given)
    };
    let executors = [executor(0), executor(1)];
    let disks = [0, 1].map(|at| ComparedDisk { image: &images[at], executor: &executors[at] });
    let events = Listeners { progress: spec.progress(), differ: spec.differ() };
    let cancel = cancel.0.clone();
    let compared = compare(disks, &spec.comparing(), &events, &cancel).await?;
    to_js(&compared)
}

/// The listeners of the worker. An exception in one of them must not fail the comparison.
struct Listeners {
    progress: Function,
    differ: Option<Function>,
}

impl ComparisonEvents for Listeners {
    fn progress(&self, done: u64, offset: Option<u64>) {
        let offset = offset.map_or(JsValue::UNDEFINED, |offset| (offset as f64).into());
        let _ = self.progress.call2(&JsValue::NULL, &(done as f64).into(), &offset);
    }

    fn differ(&self, ranges: &[GuestRange]) {
        let Some(differ) = &self.differ else { return };
        let numbers: Vec<_> = ranges.iter().flat_map(|range| [range.start.0 as f64, range.len() as f64]).collect();
        let _ = differ.call1(&JsValue::NULL, &Float64Array::from(&numbers[..]));
    }
}
