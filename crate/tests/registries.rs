//! What lists the members of the registries elsewhere is generated from them, and this test fails if it is stale.
//! `npm run registries` writes it.

use decant::container::{self, CONTAINERS};
use decant::format::{Format, formats, readable};
use decant::output::{FormatOption, OUTPUT_FORMATS, Options, OutputFormat};
use decant_module::Module;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The environment variable with which the test writes what it expects.
const WRITE: &str = "DECANT_WRITE_REGISTRIES";
const NOTE: &str = "// Generated from the registries of the core by `npm run registries`: do not edit.\n";

/// All modules. The crate and the file of each have its name: `crate/NAME`, `NAME.wasm`.
static MODULES: &[&Module] = &[
    &decant_bzip2::MODULE,
    &decant_crypt::MODULE,
    &decant_deflate::MODULE,
    &decant_lz4::MODULE,
    &decant_xz::MODULE,
    &decant_zstd::MODULE,
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in a folder").to_owned()
}

/// An object in an array, on one line if it fits, as Biome formats it.
fn object(fields: &[String]) -> String {
    let line = format!("  {{ {} }},\n", fields.join(", "));
    if line.trim_end().len() <= 120 { line } else { format!("  {{\n    {},\n  }},\n", fields.join(",\n    ")) }
}

/// A text of TypeScript: its names and extensions have no characters that need escapes.
fn quoted(text: &str) -> String {
    format!("'{text}'")
}

fn list<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    format!("[{}]", texts.into_iter().map(quoted).collect::<Vec<_>>().join(", "))
}

fn code(text: &str) -> String {
    format!("`{text}`")
}

fn codes<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    texts.into_iter().map(code).collect::<Vec<_>>().join(", ")
}

/// The name on a narrow screen: the label, unless it is a description.
fn short<'a>(name: &'a str, label: &'a str) -> &'a str {
    if label.contains(' ') { name } else { label }
}

fn input_name(format: &'static Format) -> &'static str {
    short(format.name, format.short_label())
}

fn output_name(format: &'static OutputFormat) -> &'static str {
    short(format.name, format.label)
}

fn wasm_files() -> Vec<String> {
    MODULES.iter().map(|module| format!("{}.wasm", module.name())).collect()
}

/// The tables for the package.
fn package() -> String {
    let mut text = format!("{NOTE}\n/** A format that is recognised by content. */\nexport interface KnownFormat {{\n");
    text += "  name: string;\n";
    text += "  /** Other names, in lower case. */\n  aliases: string[];\n";
    text += "  /** In lower case, with the dot; the most common one first. */\n  extensions: string[];\n";
    text += "  /** An image that Decant reads or not, the configuration of a machine, or something else. */\n";
    text += "  kind: 'image' | 'unsupported' | 'machine' | 'stranger';\n}\n\n/** All formats, in probe order. */\n";
    text += "export const FORMATS: readonly KnownFormat[] = [\n";
    for format in formats() {
        let kind = match format {
            _ if format.is_supported() => "image",
            _ if format.is_machine() => "machine",
            _ if !format.is_image() => "stranger",
            _ => "unsupported",
        };
        let Format { name, aliases, extensions, .. } = *format;
        let (name, kind) = (quoted(name), quoted(kind));
        let (aliases, extensions) = (list(aliases.iter().copied()), list(extensions.iter().copied()));
        let _ = writeln!(text, "  {{ name: {name}, aliases: {aliases}, extensions: {extensions}, kind: {kind} }},");
    }
    let names = formats().filter_map(|format| format.folder_file);
    let _ = write!(
        text,
        "];\n\n/** The names of files that describe a disk in their folder. */\nexport const FOLDER_FILES = {};\n",
        list(names)
    );
    text += "\n/** What an image may be packed in, in probe order. */\n";
    text += "export const CONTAINERS: readonly {\n  name: string;\n  extensions: string[];\n";
    text += "  /** Whether it may contain several files. */\n  isArchive: boolean;\n";
    text += "  /** Whether it can be decoded as a stream. */\n  isReadInOrder: boolean;\n}[] = [\n";
    for container in CONTAINERS {
        let (name, extensions) = (quoted(container.name), list(container.extensions.iter().copied()));
        let (archive, in_order) = (container.is_archive(), container.is_read_in_order());
        let _ = writeln!(
            text,
            "  {{ name: {name}, extensions: {extensions}, isArchive: {archive}, isReadInOrder: {in_order} }},"
        );
    }
    text += "];\n\n/** What Decant writes, in the order in which it is offered. The first extension is that of new files. */\n";
    text += "export const OUTPUTS: readonly {\n  name: string;\n  aliases: string[];\n  extensions: string[];\n";
    text += "  /** Whether a file may have several disks. */\n  severalDisks: boolean;\n  /** The format of the disk in a file: its own, unless the output is a container. */\n  content: string;\n  /** The number of containers around the disk. */\n  containers: number;\n}[] = [\n";
    for format in OUTPUT_FORMATS {
        let several =
            (format.layout)(512, &Options::recommended(format)).unwrap().with_disks(&[512]).unwrap().is_some();
        let OutputFormat { name, aliases, extensions, content, containers, .. } = format;
        text += &object(&[
            format!("name: {}", quoted(name)),
            format!("aliases: {}", list(aliases.iter().copied())),
            format!("extensions: {}", list(extensions.iter().copied())),
            format!("severalDisks: {several}"),
            format!("content: {}", quoted(content)),
            format!("containers: {containers}"),
        ]);
    }
    let names: Vec<_> = MODULES.iter().map(|module| quoted(module.name())).collect();
    text += "];\n\n/**\n * A codec whose wasm, `NAME.wasm`, is loaded only for images, files and outputs that need it. `crypt` has ciphers and\n";
    let _ = writeln!(text, " * hashes.\n */\nexport type Codec = {};", names.join(" | "));
    text += "\n/** The wasm of each codec. The URLs are literals, so that bundlers find them. */\n";
    text += "export const CODEC_URLS: Record<Codec, () => URL> = {\n";
    for module in MODULES {
        let name = module.name();
        let _ = writeln!(text, "  {name}: () => new URL('./{name}.wasm', import.meta.url),");
    }
    text + "};\n"
}

/// Whether `text` is a number of `qemu-img` with one of `units`, or without one.
fn is_number(text: &str, units: &[&str]) -> bool {
    let digits = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    digits.len() < text.len() && (digits.is_empty() || units.contains(&digits))
}

/// The types of the values of an option, for a union.
fn types_of(option: &FormatOption) -> Vec<String> {
    let FormatOption { values, other, .. } = option;
    let all = |is: &dyn Fn(&str) -> bool| values.iter().all(|value| is(value));
    let literals = || values.iter().map(|value| quoted(value));
    match () {
        () if all(&|value| ["on", "off"].contains(&value)) => vec!["SwitchValue".to_owned()],
        () if all(&|value| is_number(value, &[])) => vec!["NumberValue".to_owned()],
        () if all(&|value| is_number(value, &["k", "M"])) => vec!["SizeValue".to_owned()],
        () if other.is_some() => literals().chain(["(string & {})".to_owned()]).collect(),
        () => literals().collect(),
    }
}

/// Documents an option: its default or its only value, and the form of other values.
fn about(FormatOption { name: _, values, other }: &FormatOption, is_implied: bool, types: &[String]) -> String {
    if is_implied || (values.len() == 1 && other.is_none()) {
        return format!("Only {}.", values.iter().copied().map(code).collect::<Vec<_>>().join(" or "));
    }
    let is_listed = types.iter().any(|each| each.starts_with('\''));
    let rest = values[1..].iter().filter(|_| !is_listed).copied().map(code);
    let others: Vec<_> = rest.chain(other.map(|other| other.form.to_owned())).collect();
    let default = format!("By default {}", code(values[0]));
    if others.is_empty() || types == ["SwitchValue"] {
        default + "."
    } else {
        format!("{default}; else {}.", others.join(", "))
    }
}

/// An option in the type of the options of its format.
fn typed(option: &FormatOption, is_implied: bool) -> String {
    let types = types_of(option);
    let about = about(option, is_implied, &types);
    let (name, types) = (option.name, [types, vec!["undefined".to_owned()]].concat());
    let line = format!("    {name}?: {};\n", types.join(" | "));
    let fits = line.trim_end().len() <= 120;
    let line = if fits { line } else { format!("    {name}?:\n      | {};\n", types.join("\n      | ")) };
    format!("    /** {about} */\n{line}")
}

/// The types of the values that are not listed one by one.
const VALUE_TYPES: &str = "\
/** The value of an option that is on or off. */
export type SwitchValue = boolean | 'on' | 'off';

/** The value of an option that is a number. */
export type NumberValue = number | `${number}`;

/** The value of an option that is a size: a number, in bytes unless the option says otherwise, or with a unit: `64k`. */
export type SizeValue = NumberValue | `${number}${'k' | 'K' | 'M' | 'G' | 'T'}`;
";

/// The types of the options of each output.
fn option_types() -> String {
    let mut text = format!("{NOTE}\n{VALUE_TYPES}");
    text += "\n/** The options of each output format. A call with another value fails with `usage`. */\n";
    text += "export interface OptionsByFormat {\n";
    for format in OUTPUT_FORMATS {
        let name = if format.name.contains('.') { quoted(format.name) } else { format.name.to_owned() };
        let listed = format.options.iter().map(|option| typed(option, false));
        let implied = format.implied.iter().flat_map(|options| options.iter()).map(|option| typed(option, true));
        let members: String = listed.chain(implied).collect();
        let members =
            if members.is_empty() { "Record<string, never>".to_owned() } else { format!("{{\n{members}  }}") };
        let _ = write!(text, "  /** The options of `{}`. */\n  {name}: {members};\n", format.name);
    }
    text + "}\n"
}

/// The tables for the element, which uses nothing of the package but its public API.
fn element() -> String {
    let mut extensions: Vec<_> = formats()
        .flat_map(|format| format.extensions)
        .chain(CONTAINERS.iter().flat_map(|container| container.extensions))
        .copied()
        .collect();
    extensions.sort_unstable();
    let lists: [(_, _, Vec<&str>); 2] = [
        ("The names of formats that are read, for people.", "INPUTS", readable().map(input_name).collect()),
        (
            "The names of formats that are written, for people.",
            "OUTPUTS",
            OUTPUT_FORMATS.iter().map(output_name).collect(),
        ),
    ];
    let mut text = NOTE.to_owned();
    for (about, name, members) in lists {
        let _ = write!(text, "\n/** {about} */\nexport const {name} = {};\n", list(members));
    }
    let raw = readable().find(|format| format.is_raw()).expect("raw is a format").extensions;
    let machines: Vec<_> =
        formats().filter(|format| format.is_machine()).flat_map(|format| format.extensions).collect();
    for (about, name, members) in [
        ("The extensions of raw disks, with the dot.", "RAW_EXTENSIONS", raw.to_vec()),
        (
            "The extensions of configurations of virtual machines.",
            "MACHINE_EXTENSIONS",
            machines.into_iter().copied().collect(),
        ),
    ] {
        let _ = write!(text, "\n/** {about} */\nexport const {name} = {};\n", list(members));
    }
    text += "\n/** The extensions of images, of containers, and of files that are refused by name, with the dot. */\n";
    text += "export const EXTENSIONS = [\n";
    for extension in extensions {
        let _ = writeln!(text, "  {},", quoted(extension));
    }
    text + "];\n"
}

/// A row for each format that is read.
fn formats_table() -> String {
    let mut text = "\n| format | name | extensions | rules, tests, limits |\n|---|---|---|---|\n".to_owned();
    for format in readable() {
        let label = input_name(format);
        let names = codes([format.name].iter().chain(format.aliases).copied());
        let page = format!("{}.md", label.to_lowercase());
        let rules = match root().join("docs").join(&page).is_file() {
            true => format!("[{page}]({page})"),
            false => "the file is the disk".to_owned(),
        };
        let _ = writeln!(text, "| {label} | {names} | {} | {rules} |", codes(format.extensions.iter().copied()));
    }
    text
}

/// A row for each container.
fn containers_table() -> String {
    let mut text = "\n| container | extensions | read as a stream |\n|---|---|---|\n".to_owned();
    for container in CONTAINERS {
        let names = [container.name].iter().chain(container.aliases).copied().collect::<Vec<_>>().join(", ");
        let in_order = if container.is_read_in_order() { "yes" } else { "no" };
        let _ = writeln!(text, "| {names} | {} | {in_order} |", codes(container.extensions.iter().copied()));
    }
    text
}

/// A row for each format that is written.
fn outputs_table() -> String {
    let mut text = "\n| output (`-O`) | extensions |\n|---|---|\n".to_owned();
    for format in OUTPUT_FORMATS {
        let names = codes([format.name].iter().chain(format.aliases).copied());
        let _ = writeln!(text, "| {names} | {} |", codes(format.extensions.iter().copied()));
    }
    text
}

fn codec_urls() -> String {
    let lines: Vec<_> = wasm_files().iter().map(|file| format!("new URL('./{file}', import.meta.url);\n")).collect();
    format!("{};\n{}", "new URL('./decant.wasm', import.meta.url)", lines.concat())
}

/// The imports of a project whose bundler copies files that are imported.
fn imports() -> String {
    let mut names: Vec<_> = MODULES.iter().map(|module| (module.name(), module.name())).collect();
    names.push(("decant", "wasm"));
    names.sort_unstable();
    names.iter().map(|(file, name)| format!("import {name} from 'decant/{file}.wasm';\n")).collect()
}

/// A generated part of a file: the file, the texts around the part, and the part.
type Part = (&'static str, &'static str, &'static str, String);

fn parts() -> Vec<Part> {
    let wasm = wasm_files();
    let wasm: Vec<_> = wasm.iter().map(String::as_str).collect();
    let modules: Vec<_> = MODULES.iter().map(|module| module.name()).collect();
    let inputs: Vec<_> = readable().map(input_name).collect();
    let outputs: Vec<_> = OUTPUT_FORMATS.iter().map(output_name).collect();
    let images: Vec<_> = inputs.iter().copied().filter(|name| *name != "raw").collect();
    vec![
        ("README.md", "<!-- inputs -->", "<!-- /inputs -->", inputs.join(", ")),
        ("README.md", "<!-- containers -->", "<!-- /containers -->", container::names().join(", ")),
        ("README.md", "<!-- outputs -->", "<!-- /outputs -->", outputs.join(", ")),
        ("docs/formats.md", "<!-- formats -->\n", "\n<!-- /formats -->", formats_table()),
        ("docs/containers.md", "<!-- containers -->\n", "\n<!-- /containers -->", containers_table()),
        ("docs/outputs.md", "<!-- outputs -->\n", "\n<!-- /outputs -->", outputs_table()),
        ("docs/embedding.md", "<!-- codecs -->", "<!-- /codecs -->", codes(wasm.iter().copied())),
        ("docs/embedding.md", "{ type: 'module' });\n", "```", codec_urls()),
        ("web/index.html", "Converts disk images (", ")", images.join(", ")),
        ("package.json", "Converts virtual disk images (", ")", images.join(", ")),
        ("e2e/consumers/projects/esbuild/main.js", "from 'decant';\n", "import './app.js'", imports()),
        ("e2e/consumers/projects/esbuild/main.js", "new URL({ ", " }[name]", modules.join(", ")),
        ("e2e/consumers/projects/angular/angular.json", "{worker.js,decant.wasm,", "}", wasm.join(",")),
    ]
}

/// Compares the file `path` with `expected`, or writes it.
fn check(path: &str, found: &str, expected: &str) {
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(root().join(path), expected).expect(path);
        return;
    }
    assert!(found == expected, "{path} does not match the registries of the core; run npm run registries");
}

#[test]
fn everything_that_lists_members_is_up_to_date() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap_or_default().replace("\r\n", "\n");
    for (path, expected) in [
        ("worker/public/registry.ts", package()),
        ("worker/public/types.format-options.ts", option_types()),
        ("element/formats.ts", element()),
    ] {
        check(path, &read(path), &expected);
    }
    for (path, start, end, part) in parts() {
        let found = read(path);
        let (before, rest) = found.split_once(start).unwrap_or_else(|| panic!("{path} lacks '{start}'"));
        let (_, after) = rest.split_once(end).unwrap_or_else(|| panic!("{path} lacks '{end}'"));
        check(path, &found, &format!("{before}{start}{part}{end}{after}"));
    }
}

/// Whether the crate in a folder is a module of WebAssembly: it has the feature `direct` (`scripts/wasm.mjs`).
fn is_module(folder: &Path) -> bool {
    std::fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|manifest| manifest.contains("\ndirect ="))
}

#[test]
fn each_module_is_a_crate() {
    let mut folders: Vec<_> = std::fs::read_dir(root().join("crate"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| is_module(path))
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    folders.sort();
    assert_eq!(folders, MODULES.iter().map(|module| module.name()).collect::<Vec<_>>());
}

#[test]
fn names_and_extensions_are_unambiguous() {
    let mut names: Vec<_> = formats().flat_map(|format| std::iter::once(&format.name).chain(format.aliases)).collect();
    let mut extensions: Vec<_> = formats()
        .flat_map(|format| format.extensions)
        .chain(CONTAINERS.iter().flat_map(|container| container.extensions))
        .collect();
    let mut written: Vec<_> = OUTPUT_FORMATS.iter().flat_map(|format| format.extensions).collect();
    for (what, list) in [("name", &mut names), ("extension", &mut extensions), ("output extension", &mut written)] {
        list.sort_unstable();
        for pair in list.windows(2) {
            assert_ne!(pair[0], pair[1], "the {what} of two members");
        }
        let is_plain = |text: &str| {
            text.chars().all(|each| each.is_ascii_lowercase() || each.is_ascii_digit() || ".-".contains(each))
        };
        assert!(list.iter().all(|text| is_plain(text)), "{list:?}");
    }
    assert!(extensions.iter().chain(&written).all(|extension| extension.starts_with('.')));
}
