//! The list of formats on the page's first screen matches the registries.

use decant::format::readable;
use decant::output::OUTPUT_FORMATS;

#[test]
fn the_page_lists_all_formats() {
    let page = include_str!("../../element/formats.ts");
    // Programs write names as QEMU does, people in capitals.
    let shown = |name: &str| match name {
        "vpc" => "VHD".to_owned(),
        "qcow2" | "raw" | "raw.gz" | "tar.gz" => name.to_owned(),
        _ => name.to_uppercase(),
    };
    let inputs: Vec<_> = readable().map(|format| shown(format.name)).collect();
    let outputs: Vec<_> = OUTPUT_FORMATS.iter().map(|format| shown(format.name)).collect();
    for (list, names) in [("INPUTS", inputs), ("OUTPUTS", outputs)] {
        let expected = format!("export const {list} = ['{}'];", names.join("', '"));
        assert!(page.contains(&expected), "element/formats.ts needs {expected}");
    }
}
