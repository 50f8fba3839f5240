//! The side of the host: instantiates modules, and sends them requests, through JavaScript.

use crate::{Failure, MAX_REQUEST, Module, Request};
use js_sys::Promise;
use std::cell::RefCell;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen(module = "/src/module.js")]
extern "C" {
    /// A module, instantiated for this thread.
    type Instance;

    /// Instantiates the module that exports the function `name`. Returns `undefined` if memory runs out.
    #[wasm_bindgen(static_method_of = Instance)]
    fn create(name: &str, bytes: &[u8]) -> Option<Instance>;

    /// Returns the length of the output, or the number of a failure; `undefined` if memory runs out.
    #[wasm_bindgen(method)]
    fn serve(this: &Instance, request: &[u8], input: &[u8], output: &mut [u8], wipes: bool) -> Option<i32>;

    /// Resolves when the operation `number` of the platform has ended. An instance of this thread began it.
    #[wasm_bindgen(static_method_of = Instance)]
    fn settled(number: i32) -> Promise;
}

/// Waits for the operation `number` of the platform, which an instance of this thread began.
pub async fn settled(number: i32) {
    // It never fails.
    let _ = JsFuture::from(Instance::settled(number)).await;
}

thread_local! {
    static INSTANCES: RefCell<Vec<(&'static str, Instance)>> = const { RefCell::new(Vec::new()) };
}

impl Module {
    /// Lets the module serve `request`. Returns the length of the output. The module must be ready.
    pub fn serve<R: Request>(&self, request: R, input: &[u8], output: &mut [u8]) -> Result<usize, R::Failure> {
        served(request, |encoded, wipes| self.call(encoded, input, output, wipes))
    }

    /// Creates a separate instance. Returns `None` if memory runs out. The module must be ready.
    pub fn separate_instance(&self) -> Option<SeparateInstance> {
        self.instance().map(SeparateInstance)
    }

    /// Creates an instance. Returns `None` if memory runs out.
    fn instance(&self) -> Option<Instance> {
        Instance::create(self.name(), self.bytes.get().expect("its user has waited until it was ready"))
    }

    /// Serves an encoded request by the instance of this thread. Returns `None` if memory runs out.
    fn call(&self, request: &[u8], input: &[u8], output: &mut [u8], wipes: bool) -> Option<i32> {
        INSTANCES.with_borrow_mut(|instances| {
            let found = instances.iter().position(|(name, _)| *name == self.name());
            let number = match found {
                Some(number) => number,
                None => {
                    instances.push((self.name(), self.instance()?));
                    instances.len() - 1
                }
            };
            instances[number].1.serve(request, input, output, wipes)
        })
    }
}

/// A separate instance of a module. Its memory is given back when it is dropped.
pub struct SeparateInstance(Instance);

impl SeparateInstance {
    /// As [`Module::serve`].
    pub fn serve<R: Request>(&self, request: R, input: &[u8], output: &mut [u8]) -> Result<usize, R::Failure> {
        served(request, |encoded, wipes| self.0.serve(encoded, input, output, wipes))
    }
}

/// Serves `request` by `call`, which takes it encoded, and whether it wipes the buffer.
fn served<R: Request>(request: R, call: impl FnOnce(&[u8], bool) -> Option<i32>) -> Result<usize, R::Failure> {
    let mut encoded = [0; MAX_REQUEST];
    let encoded = postcard::to_slice(&request, &mut encoded).expect("requests are short");
    let returned = call(encoded, request.wipes()).ok_or(R::Failure::OUT_OF_MEMORY)?;
    usize::try_from(returned).map_err(|_| R::Failure::with_number(returned).expect("both sides are of one version"))
}
