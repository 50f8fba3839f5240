//! `bindgen IN.wasm OUT_DIR`: writes `index.js`, `index.d.ts` and `index_bg.wasm` for the web.

mod names;

use std::error::Error;
use std::path::Path;
use wasm_bindgen_cli_support::Bindgen;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, out_dir] = &arguments[..] else {
        eprintln!("bindgen IN.wasm OUT_DIR");
        std::process::exit(2);
    };
    if let Err(error) = write(input, Path::new(out_dir)) {
        eprintln!("bindgen: {error:#}");
        std::process::exit(1);
    }
}

fn write(input: &str, folder: &Path) -> Result<(), Box<dyn Error>> {
    Bindgen::new()
        .input_path(input)
        .out_name("index")
        .typescript(true)
        .remove_producers_section(true)
        .web(true)?
        .generate(folder)?;
    names::shorten(folder)
}
