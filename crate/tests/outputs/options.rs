//! The options of `qemu-img` for the formats that Decant writes: each is taken with the value that describes the output, and
//! refused with any other, with the reason.

use crate::common::qemu;
use decant::output::{Options, by_name};

/// (formats, option, accepted values, a refused value, a part of the reason)
type Row = (&'static [&'static str], &'static str, &'static [&'static str], &'static str, &'static str);

const ALL: &[&str] = &["qcow2", "vmdk", "vpc", "vhdx", "vdi", "raw"];
const UUID: &str = "00010203-0405-0607-0809-0a0b0c0d0e0f";
const ROWS: &[Row] = &[
    (ALL, "preallocation", &["off"], "full", "it is always off"),
    (ALL, "nocow", &["off", "no", "false", "n"], "on", "it is always off"),
    (ALL, "extent_size_hint", &["0", "0k"], "1M", "it is always 0"),
    (ALL, "size", &[], "1M", "the disk keeps its size"),
    (&["qcow2", "vmdk"], "backing_file", &[], "a", "contains the whole disk"),
    (&["qcow2", "vmdk"], "backing_fmt", &[], "raw", "contains the whole disk"),
    (&["qcow2"], "cluster_size", &["64k", "65536", "2M"], "3k", "choose one of"),
    (&["qcow2"], "compat", &["1.1", "v3", "0.10", "v2"], "0.9", "choose one of 1.1, 0.10"),
    (&["qcow2"], "compression_type", &["zlib", "zstd"], "lzma", "choose one of"),
    (&["qcow2"], "data_file", &[], "a", "the output is one file"),
    (&["qcow2"], "data_file_raw", &["off"], "on", "it is always off"),
    (&["qcow2"], "encrypt.cipher-alg", &[], "aes-256", "not encrypted"),
    (&["qcow2"], "encrypt.cipher-mode", &[], "xts", "not encrypted"),
    (&["qcow2"], "encrypt.format", &[], "luks", "not encrypted"),
    (&["qcow2"], "encrypt.hash-alg", &[], "sha256", "not encrypted"),
    (&["qcow2"], "encrypt.iter-time", &[], "1", "not encrypted"),
    (&["qcow2"], "encrypt.ivgen-alg", &[], "plain64", "not encrypted"),
    (&["qcow2"], "encrypt.ivgen-hash-alg", &[], "sha256", "not encrypted"),
    (&["qcow2"], "encrypt.key-secret", &[], "a", "not encrypted"),
    (&["qcow2"], "encryption", &["off"], "on", "it is always off"),
    (&["qcow2"], "extended_l2", &["off"], "on", "it is always off"),
    (&["qcow2"], "lazy_refcounts", &["off", "no"], "on", "it is always off"),
    (&["qcow2"], "refcount_bits", &["16"], "1", "it is always 16"),
    (&["vmdk"], "adapter_type", &["ide", "lsilogic", "buslogic", "legacyESX"], "sata", "choose one of"),
    (&["vmdk"], "compat6", &["off"], "on", "it is always off"),
    (&["vmdk"], "hwversion", &["undefined", "4", "21"], "3", "choose one of"),
    (&["vmdk"], "subformat", &["streamOptimized"], "monolithicFlat", "it is always streamOptimized"),
    (&["vmdk"], "toolsversion", &["2147483647"], "1", "it is always 2147483647"),
    (&["vmdk"], "zeroed_grain", &["off"], "on", "it is always off"),
    (&["vpc"], "force_size", &["on", "true", "yes", "y"], "off", "it is always on"),
    (&["vhdx"], "block_size", &["0", "1M", "33554432", "256M"], "512k", "choose one of"),
    (&["vhdx"], "block_state_zero", &["off"], "on", "it is always off"),
    (&["vhdx"], "log_size", &["1M", "0"], "2M", "choose one of"),
    (&["vhdx"], "subformat", &["dynamic", "fixed"], "differencing", "choose one of"),
    (&["vdi"], "static", &["off", "on", "yes"], "1", "choose one of"),
    (&["vhdx", "vdi"], "uuid", &[UUID, "{00010203-0405-0607-0809-0A0B0C0D0E0F}"], "00010203", "it is a UUID, such as"),
    (&["vpc"], "subformat", &["dynamic", "fixed"], "sparse", "choose one of"),
];

fn check(format: &str, name: &str, value: &str) -> Result<(), String> {
    let given = [(name.to_owned(), value.to_owned())];
    Options::new(by_name(format).unwrap(), &given).map(drop).map_err(|error| error.message())
}

#[test]
fn are_taken_or_refused_with_the_reason() {
    for (formats, name, accepted, refused, reason) in ROWS {
        for format in *formats {
            for value in *accepted {
                check(format, name, value).unwrap_or_else(|error| panic!("{format} {name}={value}: {error}"));
            }
            let error = check(format, name, refused).expect_err(name);
            assert!(error.contains(reason) && error.contains(name), "{format} {name}={refused}: {error}");
        }
    }
}

#[test]
fn all_of_qemu_img_are_known() {
    for format in ALL {
        let help = qemu("qemu-img", &["create", "-f", format, "-o", "help", "unused", "1M"]);
        let names: Vec<_> = help.lines().filter_map(|line| line.trim().split_once('=')).map(|(name, _)| name).collect();
        assert!(names.len() > 3, "{format}: {help}");
        for name in names {
            assert!(ROWS.iter().any(|row| row.0.contains(format) && row.1 == name), "{format}: {name} has no row");
        }
    }
}
