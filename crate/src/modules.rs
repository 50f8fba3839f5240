//! Modules of WebAssembly, for code that few images need. They are loaded when they are needed.

use crate::error::Result;
use decant_module::Module;
use futures_util::future::LocalBoxFuture;
use std::cell::RefCell;
use std::rc::Rc;

/// Loads a module of WebAssembly by its name, and returns its bytes.
pub type ModuleLoader = Rc<dyn Fn(&'static str) -> LocalBoxFuture<'static, Result<Vec<u8>>>>;

thread_local! {
    static LOADER: RefCell<Option<ModuleLoader>> = const { RefCell::new(None) };
}

/// Sets the loader of this thread.
pub fn load_modules_by(loader: ModuleLoader) {
    LOADER.set(Some(loader));
}

/// Makes `module` ready for use. Fails as the loader does.
pub(crate) async fn prepare(module: &'static Module) -> Result<()> {
    if !module.is_ready() {
        let loader = LOADER.with_borrow(Clone::clone).expect("a platform that lacks modules has set a loader");
        module.add(loader(module.name()).await?);
    }
    Ok(())
}
