//! `bindgen IN.wasm OUT_DIR`: writes `index.js`, `index.d.ts` and `index_bg.wasm` for the web.

use wasm_bindgen_cli_support::Bindgen;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, out_dir] = &arguments[..] else {
        eprintln!("bindgen IN.wasm OUT_DIR");
        std::process::exit(2);
    };
    let result = Bindgen::new()
        .input_path(input)
        .out_name("index")
        .typescript(true)
        .remove_producers_section(true)
        .web(true)
        .and_then(|bindgen| bindgen.generate(out_dir));
    if let Err(error) = result {
        eprintln!("bindgen: {error:#}");
        std::process::exit(1);
    }
}
