//! The rules of OVAs: each is broken in one way that the second reader finds, and Decant's OVAs keep all of them.

use super::ova_rules::{check, files};
use super::{MIB, Output, entry};
use crate::common::*;
use decant::ErrorKind;
use decant::io::target::{Abilities, Holes};
use decant::output::Options;
use sha2::{Digest, Sha256};

const ANY_ORDER: Abilities = Abilities { ascending: false, holes: Holes::Skip, short_hole: 0, late_start: u64::MAX };
const ASCENDING: Abilities = Abilities { ascending: true, holes: Holes::WriteZeros, short_hole: 0, late_start: 0 };

fn given(options: &[(&str, &str)]) -> Vec<(String, String)> {
    options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn made(disk: &[u8], options: &[(&str, &str)], abilities: Abilities) -> Vec<u8> {
    let output: &Output = entry("ova");
    let options = Options::new(output.format(), &given(options)).unwrap();
    let case = Case { format: Some("raw".to_owned()), ..Case::new(disk.to_vec()) };
    let converted = case.convert_with(output.format(), options, Answers::InOrder, abilities, MIB);
    converted.result.unwrap();
    converted.target.bytes.take()
}

fn descriptor(archive: &[u8]) -> String {
    String::from_utf8(files(archive).unwrap()[0].content.to_vec()).unwrap()
}

/// The files of an archive.
type Files = Vec<(String, Vec<u8>)>;

/// A change to the files of a machine.
enum Change {
    /// Replaces a text in the descriptor. The manifest fits.
    Descriptor(&'static str, &'static str),
    /// Replaces a text in the manifest.
    Manifest(fn(&str) -> String),
    Files(fn(&mut Files)),
    /// Changes the first header.
    Header(fn(&mut [u8])),
    Archive(fn(&mut Vec<u8>)),
}
use Change::{Archive, Descriptor, Files as OfFiles, Header, Manifest};

fn header(name: &str, size: usize) -> Vec<u8> {
    let mut header = vec![0; 512];
    let mut put = |at: usize, field: &[u8]| header[at..at + field.len()].copy_from_slice(field);
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(124, format!("{size:011o}\0").as_bytes());
    put(156, b"0");
    put(257, b"ustar\x0000");
    set_checksum(&mut header);
    header
}

fn set_checksum(header: &mut [u8]) {
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

fn packed(files: &Files) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, content) in files {
        archive.extend(header(name, content.len()));
        archive.extend(content);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.resize((archive.len() + 1024).next_multiple_of(10_240), 0);
    archive
}

fn manifest_of(files: &Files) -> String {
    let digest = |content: &[u8]| Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    files.iter().map(|(name, content)| format!("SHA256({name})= {}\n", digest(content))).collect()
}

fn changed(mut files: Files, change: &Change) -> Vec<u8> {
    match change {
        Descriptor(from, to) => {
            let text = String::from_utf8(files[0].1.clone()).unwrap();
            assert!(text.contains(from), "{from}");
            files[0].1 = text.replacen(from, to, 1).into_bytes();
            let last = files.len() - 1;
            files[last].1 = manifest_of(&files[..last].to_vec()).into_bytes();
        }
        Manifest(change) => {
            let last = files.last_mut().unwrap();
            last.1 = change(std::str::from_utf8(&last.1).unwrap()).into_bytes();
        }
        OfFiles(change) => change(&mut files),
        Header(_) | Archive(_) => {}
    }
    let mut archive = packed(&files);
    match change {
        Header(change) => {
            change(&mut archive[..512]);
            set_checksum(&mut archive[..512]);
        }
        Archive(change) => change(&mut archive),
        _ => {}
    }
    archive
}

/// (change, the rule that it breaks)
const BROKEN: &[(Change, &str)] = &[
    // The archive.
    (Header(|header| header[156] = b'x'), "regular files only, without pax headers"),
    (Header(|header| header[156] = b'g'), "regular files only, without pax headers"),
    (Header(|header| header[156] = b'5'), "regular files only, without pax headers"),
    (Header(|header| header[156] = b'2'), "regular files only, without pax headers"),
    (Header(|header| header[257..265].fill(0)), "old GNU or ustar headers"),
    (
        Header(|header| header[124..136].copy_from_slice(b"000000010000")),
        "sizes in eleven octal digits, or in base 256",
    ),
    (
        Header(|header| header[124..136].copy_from_slice(b"\x80\0\0\0\0\0\0\0\0\0\x10\0")),
        "base 256 for sizes of 8 GiB and more only",
    ),
    (
        Header(|header| header[124..136].copy_from_slice(b"\xff\0\0\0\0\0\0\x02\0\0\0\0")),
        "sizes in octal digits, or in base 256",
    ),
    (Header(|header| header[..100].fill(b'a')), "names of at most 99 bytes"),
    (Header(|header| header[..4].copy_from_slice(b"./a.")), "characters of names"),
    (Header(|header| header[..4].copy_from_slice(b".abc")), "characters of names"),
    (Header(|header| header[..4].copy_from_slice(b"a(b)")), "characters of names"),
    (Header(|header| header[..4].copy_from_slice(b"a b ")), "characters of names"),
    (Archive(|archive| archive[0] ^= 1), "the checksum of a header"),
    (Archive(|archive| archive.truncate(archive.len() - 512)), "whole records"),
    (Archive(|archive| *archive.last_mut().unwrap() = 1), "zeros after the last file"),
    (OfFiles(|files| files.swap(0, 1)), "the descriptor first"),
    (OfFiles(|files| files.swap(1, 2)), "the manifest last, with the name of the descriptor"),
    (OfFiles(|files| files[0].0 = "disk.OVF".to_owned()), "the descriptor first"),
    (OfFiles(|files| files[1].0 = "disk-disk1.VMDK".to_owned()), "disks called .vmdk"),
    (OfFiles(|files| files[2].0 = "other.mf".to_owned()), "the manifest last, with the name of the descriptor"),
    (OfFiles(|files| files.insert(1, ("readme.txt".to_owned(), Vec::new()))), "disks called .vmdk"),
    (OfFiles(|files| files.insert(1, files[1].clone())), "names of files once each"),
    (OfFiles(|files| files.truncate(1)), "a descriptor, disks and a manifest"),
    // The manifest.
    (Manifest(|text| text.replace("SHA256(", "SHA256 (")), "the spelling of the manifest"),
    (Manifest(|text| text.replace(")= ", ") = ")), "the spelling of the manifest"),
    (Manifest(|text| text.replace(")= ", ")=")), "the spelling of the manifest"),
    (Manifest(|text| text.replace('\n', "\r\n")), "the digests of the manifest, in lower case"),
    (Manifest(|text| text.replace("SHA256", "SHA1")), "the spelling of the manifest"),
    (Manifest(|text| text.replace("SHA256", "SHA512")), "the spelling of the manifest"),
    (Manifest(|text| text.replace("(disk", "(./disk")), "the spelling of the manifest"),
    (
        Manifest(|text| text.to_uppercase().replace("DISK", "disk").replace(".OVF", ".ovf").replace(".VMDK", ".vmdk")),
        "the digests of the manifest, in lower case",
    ),
    (
        Manifest(|text| text.lines().take(1).map(|line| format!("{line}\n")).collect()),
        "a line of the manifest for each file",
    ),
    (Manifest(|text| text.to_owned() + text), "a line of the manifest for each file"),
    (
        Manifest(|text| {
            text.replace("= ", "= 0").replace("\n", "").replace("SHA256", "\nSHA256").trim().to_owned() + "\n"
        }),
        "the digests of the manifest, in lower case",
    ),
    // The descriptor.
    (
        Descriptor(" xmlns:vmw=\"http://www.vmware.com/schema/ovf\"", " xmlns:vmw=\"http://example.com\""),
        "the namespaces",
    ),
    (Descriptor(" xmlns:vmw", " xmlns:vbox=\"http://www.virtualbox.org/ovf/machine\" xmlns:vmw"), "the namespaces"),
    (Descriptor(" xmlns:vmw", " xmlns:x=\"http://www.citrix.com/\" xmlns:vmw"), "the namespaces"),
    (Descriptor("</Name>", "</Nam>"), "well-formed XML"),
    (Descriptor("ovf:href", "href"), "the files in the order of the archive"),
    (Descriptor("ovf:href=\"disk-disk1", "ovf:href=\"disk-disk2"), "the files in the order of the archive"),
    (Descriptor("ovf:size=\"", "ovf:size=\"1"), "the sizes of files"),
    (Descriptor("ovf:size=\"", "ovf:size=\"-"), "the sizes of files"),
    (Descriptor("ovf:id=\"file1\"", "ovf:id=\"file 1\""), "the IDs of files"),
    (Descriptor("ovf:id=\"file1\"", "ovf:id=\"file2\""), "the disks in the order of the files"),
    (Descriptor("ovf:diskId=\"vmdisk1\" ", ""), "the IDs of disks"),
    (Descriptor("ovf:diskId=\"vmdisk1\"", "ovf:diskId=\"vm/1\""), "the IDs of disks"),
    (Descriptor("#streamOptimized", "#sparse"), "the format of a disk"),
    (Descriptor("ovf:capacity=", "ovf:size="), "the capacity of the VMDK"),
    (Descriptor("ovf:capacity=\"1", "ovf:capacity=\"2"), "the capacity of the VMDK"),
    (Descriptor("\"byte\"", "\"byte * 2^10\""), "the capacity in bytes"),
    (Descriptor("ovf:format", "ovf:populatedSize=\"1048577\" ovf:format"), "a populated size within the capacity"),
    (Descriptor("ovf:format", "ovf:populatedSize=\"-1\" ovf:format"), "a populated size within the capacity"),
    (Descriptor("    <Disk ", "    <Disk ovf:diskId=\"a\"/>\n    <Disk "), "as many files as disks"),
    (Descriptor("    <Info>Virtual disks</Info>\n", ""), "a section with its info"),
    (Descriptor("    <Info>Networks</Info>\n", ""), "a section with its info"),
    (Descriptor("    <Info>A virtual machine</Info>\n", ""), "a section with its info"),
    (Descriptor("      <Info>The operating system</Info>\n", ""), "a section with its info"),
    (Descriptor("      <Info>Virtual hardware</Info>\n", ""), "a section with its info"),
    (Descriptor("  </References>\n  <DiskSection>", "  <DiskSection>"), "well-formed XML"),
    (Descriptor("<References>", "<NetworkSection/><References>"), "the order of sections"),
    (Descriptor("VirtualSystem ovf:id=\"disk\"", "VirtualSystem ovf:id=\"a disk\""), "the name of the machine"),
    (Descriptor("<Name>disk", "<Name>a_disk"), "the name of the machine"),
    (Descriptor("ovf:id=\"101\"", "ovf:id=\"Linux\""), "the number of the operating system"),
    (Descriptor(" vmw:osType=\"otherLinux64Guest\"", ""), "the operating system of VMware"),
    (Descriptor("<vssd:InstanceID>0<", "<vssd:InstanceID>1<"), "a system"),
    (
        Descriptor("        <vssd:VirtualSystemIdentifier>disk</vssd:VirtualSystemIdentifier>\n", ""),
        "a system with an identifier",
    ),
    (Descriptor("vmx-13", "virtualbox-2.2"), "a family of VMware from 11 to 15"),
    (Descriptor("vmx-13", "vmx-10"), "a family of VMware from 11 to 15"),
    (Descriptor("vmx-13", "vmx-20"), "a family of VMware from 11 to 15"),
    (Descriptor("<Item>", "<StorageItem/><Item>"), "items of OVF 1"),
    (Descriptor("<rasd:VirtualQuantity>2<", "<rasd:VirtualQuantity>65535<"), "the number of CPUs"),
    (Descriptor("byte * 2^20", "KiB"), "memory in MiB"),
    (Descriptor("<rasd:VirtualQuantity>2048<", "<rasd:VirtualQuantity>0<"), "the size of the memory"),
    (Descriptor("<rasd:ResourceType>4<", "<rasd:ResourceType>15<"), "known resources only"),
    (Descriptor("<rasd:ResourceSubType>lsilogic<", "<rasd:ResourceSubType>virtio-scsi<"), "a known controller"),
    (Descriptor("<rasd:ResourceType>6<", "<rasd:ResourceType>20<"), "a known controller"),
    (Descriptor("<rasd:InstanceID>4<", "<rasd:InstanceID>3<"), "the IDs of items once each"),
    (Descriptor("<rasd:Parent>3<", "<rasd:Parent>2<"), "a disk on a controller"),
    (Descriptor("        <rasd:Parent>3</rasd:Parent>\n", ""), "a disk on a controller"),
    (Descriptor("        <rasd:AddressOnParent>0</rasd:AddressOnParent>\n", ""), "the address of a disk"),
    (Descriptor("<rasd:AddressOnParent>0<", "<rasd:AddressOnParent>7<"), "the address of a disk"),
    (Descriptor("ovf:/disk/vmdisk1", "ovf:/disk/vmdisk2"), "the items in the order of the disks"),
    (Descriptor("ovf:/disk/vmdisk1", "ovf://disk/vmdisk1"), "the items in the order of the disks"),
    (Descriptor("<rasd:ElementName>Hard disk 1<", "<rasd:ElementName><"), "the name of an item"),
    (Descriptor("<rasd:ResourceSubType>E1000<", "<rasd:ResourceSubType>virtio<"), "a known network adapter"),
    (
        Descriptor("        <rasd:AutomaticAllocation>true</rasd:AutomaticAllocation>\n", ""),
        "an adapter that is allocated",
    ),
    (Descriptor("        <rasd:Connection>VM Network</rasd:Connection>\n", ""), "an adapter with its network"),
    (Descriptor("ovf:name=\"VM Network\"", "ovf:name=\"LAN\""), "an adapter with its network"),
    (
        Descriptor("        <rasd:Address>0</rasd:Address>\n", "        <rasd:Weight>1</rasd:Weight>\n"),
        "the elements of an item in the order of their names",
    ),
    (
        Descriptor("</rasd:VirtualQuantity>", "</rasd:VirtualQuantity><rasd:Weight>1</rasd:Weight>"),
        "no settings of resources on a host",
    ),
    (Descriptor("vmw:value=\"bios\"", "vmw:value=\"uefi\""), "the firmware"),
    (Descriptor("ovf:required=\"false\"", "ovf:required=\"true\""), "settings that are not required"),
];

#[test]
fn every_broken_rule_is_found() {
    let archive = made(&[1; MIB as usize], &[], ANY_ORDER);
    let good: Files = files(&archive).unwrap().iter().map(|file| (file.name.clone(), file.content.to_vec())).collect();
    check(&packed(&good)).unwrap();
    for (at, (change, rule)) in BROKEN.iter().enumerate() {
        assert_eq!(check(&changed(good.clone(), change)).err(), Some(*rule), "row {at}");
    }
}

#[test]
fn small_disks() {
    for size in [0, 1, 511, 512, 513] {
        let disk = vec![7; size];
        let archive = made(&disk, &[], ANY_ORDER);
        let capacity = size.next_multiple_of(512).max(512);
        assert!(descriptor(&archive).contains(&format!("ovf:capacity=\"{capacity}\"")), "{size}");
        let mut expected = disk;
        expected.resize(capacity, 0);
        assert!(Case::new(archive.clone()).bytes().unwrap() == expected, "{size}");
        check(&archive).unwrap_or_else(|rule| panic!("{size}: {rule}"));
    }
}

/// The same bytes for targets that take the start last and for those that need two passes, with the same UUID.
#[test]
fn the_same_bytes() {
    let disk: Vec<u8> = (0..3 * MIB).map(|at| (at.wrapping_mul(at >> 7) >> 5) as u8).collect();
    let uuid = ("uuid", "01234567-89AB-cdef-0123-456789abcdef");
    let archive = made(&disk, &[uuid], ANY_ORDER);
    assert!(archive == made(&disk, &[uuid], ASCENDING), "ascending");
    let vmdk = &check(&archive).unwrap()[0];
    let text = String::from_utf8_lossy(&vmdk[512..1536]).into_owned();
    assert!(text.contains("CID=67452301\n") && text.contains("\"89abcdef0123456789abcdef67452301\""), "{text}");
    assert!(archive != made(&disk, &[], ANY_ORDER), "the UUID of the stamp");
}

/// (options, texts of the descriptor, texts that it lacks)
type Described = (&'static [(&'static str, &'static str)], &'static [&'static str], &'static [&'static str]);

const DESCRIBED: &[Described] = &[
    (
        &[],
        &[
            "<rasd:VirtualQuantity>2<",
            "<rasd:VirtualQuantity>2048<",
            "vmw:value=\"bios\"",
            "ovf:id=\"101\" vmw:osType=\"otherLinux64Guest\"",
            "<rasd:ResourceSubType>lsilogic<",
            "<rasd:ResourceSubType>E1000<",
            ">vmx-13<",
        ],
        &[],
    ),
    (&[("cpus", "16"), ("memory", "6G")], &["<rasd:VirtualQuantity>16<", "<rasd:VirtualQuantity>6144<"], &[]),
    (&[("memory", "512")], &["<rasd:VirtualQuantity>512<"], &[]),
    // VMware starts no other sizes.
    (&[("memory", "1001M")], &["<rasd:VirtualQuantity>1004<"], &[]),
    (&[("firmware", "efi")], &["vmw:value=\"efi\""], &[]),
    (
        &[("os", "windows2022")],
        &["ovf:id=\"123\" vmw:osType=\"windows9Server64Guest\"", "<rasd:ResourceSubType>lsilogicsas<"],
        &[],
    ),
    (&[("os", "Ubuntu")], &["ovf:id=\"94\" vmw:osType=\"ubuntu64Guest\""], &[]),
    (&[("os", "debian11_64Guest")], &["ovf:id=\"96\" vmw:osType=\"debian11_64Guest\""], &[]),
    (&[("os", "windows9_64Guest")], &["ovf:id=\"120\"", "<rasd:ResourceSubType>lsilogicsas<"], &[]),
    (&[("os", "windows10"), ("controller", "lsilogic")], &["<rasd:ResourceSubType>lsilogic<"], &[]),
    (
        &[("controller", "sata")],
        &["<rasd:ResourceSubType>vmware.sata.ahci<", "<rasd:ResourceType>20<", "SATA controller 0"],
        &["lsilogic"],
    ),
    (&[("controller", "nvme")], &["<rasd:ResourceSubType>vmware.nvme.controller<", "<rasd:ResourceType>20<"], &[]),
    (&[("controller", "pvscsi")], &["<rasd:ResourceSubType>VirtualSCSI<"], &[]),
    (&[("controller", "buslogic")], &["<rasd:ResourceSubType>buslogic<"], &[]),
    (&[("controller", "ide")], &["<rasd:ResourceType>5<"], &["<rasd:ResourceType>6<", "lsilogic"]),
    (
        &[("network", "vmxnet3+E1000")],
        &["<rasd:ResourceSubType>VMXNET3<", "Network adapter 2", "<rasd:AddressOnParent>8<"],
        &["Network adapter 3"],
    ),
    (&[("network", "none")], &[], &["NetworkSection", "E1000", "VM Network"]),
    (&[("hwversion", "11")], &[">vmx-11<"], &[]),
    (&[("name", "web_1+a=b.2")], &["ovf:id=\"web-1-a-b.2\"", "ovf:href=\"web_1+a=b.2-disk1.vmdk\""], &[]),
    (&[("name", "../My VM (ü)")], &["<Name>My-VM</Name>"], &[]),
    (&[("name", "...")], &["<Name>disk</Name>"], &[]),
];

#[test]
fn the_hardware_of_options() {
    let disk = [1; 4096];
    for (options, texts, lacking) in DESCRIBED {
        let archive = made(&disk, options, ANY_ORDER);
        check(&archive).unwrap_or_else(|rule| panic!("{options:?}: {rule}"));
        let found = descriptor(&archive);
        for text in *texts {
            assert!(found.contains(text), "{options:?}: {text} in {found}");
        }
        for text in *lacking {
            assert!(!found.contains(text), "{options:?}: {text} in {found}");
        }
    }
    let long = made(&disk, &[("name", &"a".repeat(300))], ANY_ORDER);
    assert_eq!(files(&long).unwrap()[1].name.len(), 80 + "-disk1.vmdk".len());
}

#[test]
fn options_that_are_refused() {
    // (option, value, a part of the message)
    for (name, value, reason) in [
        ("cpus", "0", "a number from 1 to 65534"),
        ("cpus", "65535", "a number from 1 to 65534"),
        ("cpus", "two", "a number from 1 to 65534"),
        ("cpus", "", "a number from 1 to 65534"),
        ("memory", "0", "a number of MiB"),
        ("memory", "-1G", "a number of MiB"),
        ("memory", "1.5G", "a number of MiB"),
        ("memory", "1k", "a number of MiB"),
        ("memory", "65T", "a number of MiB"),
        ("memory", "18446744073709551615T", "a number of MiB"),
        ("firmware", "uefi", "choose one of bios, efi"),
        ("os", "amiga", "an ID of VMware"),
        ("os", "a\"Guest", "an ID of VMware"),
        ("controller", "virtio", "choose one of auto"),
        ("network", "E1000+", "joined by +"),
        ("network", "virtio", "joined by +"),
        ("network", "E1000+E1000+E1000+E1000+E1000+E1000+E1000+E1000+E1000+E1000+E1000", "joined by +"),
        ("hwversion", "20", "choose one of 13"),
        ("uuid", "0123", "a UUID"),
        ("uuid", "0123456789ab-cdef-0123-456789abcdef-", "a UUID"),
        ("size", "1G", "the disk keeps its size"),
        ("subformat", "streamOptimized", "has no option"),
    ] {
        let error = Options::new(entry("ova").format(), &given(&[(name, value)])).err();
        let error = error.unwrap_or_else(|| panic!("{name}={value} is accepted"));
        assert_eq!(error.kind, ErrorKind::Usage, "{name}={value}");
        assert!(error.message().contains(reason), "{name}={value}: {error}");
    }
}
