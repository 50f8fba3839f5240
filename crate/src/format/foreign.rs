//! Formats that are known by name but not read. Each is recognised by the signature that its
//! specification gives.

use super::{Format, Sample};

macro_rules! known {
    ($name:literal, $label:literal, $of_qemu:literal, $probe:expr) => {
        Format { name: $name, label: $label, of_qemu: $of_qemu, probe: $probe, open: None }
    };
}

fn at(sample: &Sample, offset: usize, signature: &[u8]) -> bool {
    sample.head.get(offset..offset + signature.len()) == Some(signature)
}

/// The formats, most specific signature first.
pub(super) const FORMATS: &[Format] = &[
    known!("vmdk", "VMDK (VMware disk)", true, |s| at(s, 0, b"KDMV")
        || at(s, 0, b"COWD")
        || at(s, 0, b"# Disk Descriptor")),
    known!("vhdx", "VHDX (Hyper-V disk)", true, |s| at(s, 0, b"vhdxfile")),
    known!("vdi", "VDI (VirtualBox disk)", true, |s| at(s, 64, &[0x7f, 0x10, 0xda, 0xbe])),
    known!("qed", "QED (QEMU enhanced disk)", true, |s| at(s, 0, b"QED\0")),
    known!("parallels", "Parallels disk", true, |s| at(s, 0, b"WithoutFreeSpace") || at(s, 0, b"WithouFreSpacExt")),
    known!("luks", "a LUKS volume", true, |s| at(s, 0, b"LUKS\xba\xbe")),
    known!("bochs", "Bochs disk", true, |s| at(s, 0, b"Bochs Virtual HD Image")),
    known!("cloop", "a compressed loop image", true, |s| at(s, 0, b"#!/bin/sh\n#V2.0 Format\nmodprobe cloop")),
    known!("dmg", "DMG (Apple disk)", true, |s| s.tail.starts_with(b"koly")),
    known!("xz", "an xz-compressed file", false, |s| at(s, 0, &[0xfd, b'7', b'z', b'X', b'Z', 0])),
    known!("gzip", "a gzip-compressed file", false, |s| at(s, 0, &[0x1f, 0x8b, 8])),
    known!("zstd", "a zstd-compressed file", false, |s| at(s, 0, &[0x28, 0xb5, 0x2f, 0xfd])),
    known!("bzip2", "a bzip2-compressed file", false, |s| at(s, 0, b"BZh")
        && at(s, 4, &[0x31, 0x41, 0x59, 0x26, 0x53, 0x59])),
    known!("zip", "a zip archive", false, |s| at(s, 0, b"PK\x03\x04") || at(s, 0, b"PK\x05\x06")),
    known!("tar", "a tar archive (an OVA is one)", false, |s| at(s, 257, b"ustar")),
    known!("iso", "an ISO 9660 image", false, |s| at(s, 16 * 2048 + 1, b"CD001")),
    known!("vhd", "VHD (Virtual PC disk)", true, |s| at(s, 0, b"conectix") || s.tail.starts_with(b"conectix")),
];
