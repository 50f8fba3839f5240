//! Short names for what the wasm imports and exports.
//!
//! wasm-bindgen names them by their types and by hashes, once in the wasm and once in its script: 3 KB to load.

use std::collections::hash_map::DefaultHasher;
use std::error::Error;
use std::hash::{Hash, Hasher};
use std::path::Path;
use walrus::ModuleConfig;

/// The module of all imports, as wasm-bindgen calls it.
const MODULE: &str = "./index_bg.js";

/// Shortens the names in `index_bg.wasm` and `index.js`, which are in `folder`. Fails if the script lacks one of them.
pub fn shorten(folder: &Path) -> Result<(), Box<dyn Error>> {
    let (wasm, script) = (folder.join("index_bg.wasm"), folder.join("index.js"));
    let mut module = ModuleConfig::new().generate_producers_section(false).parse_file(&wasm)?;
    let mut source = std::fs::read_to_string(&script)?;
    let mut hasher = DefaultHasher::new();
    for (number, import) in module.imports.iter_mut().enumerate() {
        import.name.hash(&mut hasher);
        let name = short(number);
        replace(&mut source, &format!("\n        {}: ", import.name), &format!("\n        {name}: "))?;
        import.name = name;
    }
    for (number, export) in module.exports.iter_mut().enumerate() {
        export.name.hash(&mut hasher);
        let name = short(number);
        for end in ["(", ".", ",", ")", ";"] {
            source = source.replace(&format!("wasm.{}{end}", export.name), &format!("wasm.{name}{end}"));
        }
        export.name = name;
    }
    // A script of another build does not have this module, so that it cannot take one import for another.
    let digest = format!("{:x}", hasher.finish());
    replace(&mut source, &format!("\"{MODULE}\""), &format!("\"{digest}\""))?;
    for import in module.imports.iter_mut() {
        import.module.clone_from(&digest);
    }
    std::fs::write(script, source)?;
    module.emit_wasm_file(wasm)?;
    Ok(())
}

fn replace(source: &mut String, name: &str, by: &str) -> Result<(), Box<dyn Error>> {
    if !source.contains(name) {
        return Err(format!("index.js has no {}: wasm-bindgen writes it in another way", name.trim()).into());
    }
    *source = source.replacen(name, by, 1);
    Ok(())
}

/// The name with this number: `a` to `z`, then `aa` and so on.
fn short(number: usize) -> String {
    let letter = char::from(b'a' + (number % 26) as u8);
    match number / 26 {
        0 => letter.to_string(),
        more => format!("{}{letter}", short(more - 1)),
    }
}
