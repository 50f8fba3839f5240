//! The tests as one program, which is linked once. Tests with a custom allocator are in two more programs, and those of the
//! registries in one that is compiled quickly: see Cargo.toml.

mod ambiguous;
mod begun;
mod chains;
mod check;
mod check_formats;
mod codecs;
mod common;
mod compare;
mod containers;
mod deflate;
mod digests;
mod disks;
mod encode;
mod encryption;
mod examination;
mod expected;
mod formats;
mod generated;
mod guessed;
mod gzip;
mod hostile;
mod identities;
mod in_flight;
mod inflate;
mod luks;
mod machines;
mod matrix;
mod outputs;
mod ova;
mod overlaps;
mod pairs;
mod parallels;
mod parts;
mod profile;
mod qed;
mod raw_among_files;
mod reads;
mod reshape;
mod salvage;
mod sector_size;
mod shown;
mod sparse;
mod split;
mod split_names;
mod stated_raw;
mod streamed_sizes;
mod sums;
mod tables_once;
mod tar;
mod vdi;
mod vhd;
mod vhdx;
mod vmdk;
mod vmdk_footer;
mod vmdk_links;
mod writers;
mod zip;
mod zstd;

#[test]
fn no_file_of_tests_is_forgotten() {
    let programs = [include_str!("all.rs"), include_str!("fuzzed.rs"), include_str!("measured.rs")].concat();
    let manifest = include_str!("../Cargo.toml");
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests")).unwrap();
    let names = folder.map(|file| file.unwrap().file_name().into_string().unwrap());
    for name in names.filter_map(|name| Some(name.strip_suffix(".rs")?.to_owned())) {
        let is_named = programs.contains(&format!("\nmod {name};\n"))
            || manifest.contains(&format!("[[test]]\nname = \"{name}\"\n"));
        assert!(is_named, "{name}");
    }
}
