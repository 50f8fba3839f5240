//! A second, strict reader of OVAs. It enforces what consumers enforce, each rule by name: VirtualBox, vSphere and ESXi, Proxmox, Xen
//! Orchestra, Forklift, Harvester and virt-v2v.

use quick_xml::NsReader;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::ResolveResult;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

const BLOCK: usize = 512;
const RECORD: usize = 10_240;
const OVF: &str = "http://schemas.dmtf.org/ovf/envelope/1";
const RASD: &str = "http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData";
const VSSD: &str = "http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_VirtualSystemSettingData";
const VMW: &str = "http://www.vmware.com/schema/ovf";
const XSI: &str = "http://www.w3.org/2001/XMLSchema-instance";
const FORMAT: &str = "http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized";

/// The broken rule.
pub type Checked<T> = Result<T, &'static str>;

/// Fails with `rule` unless it is kept.
fn require(is_kept: bool, rule: &'static str) -> Checked<()> {
    if is_kept { Ok(()) } else { Err(rule) }
}

/// A file of an archive.
pub struct File<'a> {
    pub name: String,
    pub content: &'a [u8],
}

/// The files of the archive.
pub fn files(archive: &[u8]) -> Checked<Vec<File<'_>>> {
    let (mut files, mut at) = (Vec::new(), 0);
    require(archive.len().is_multiple_of(RECORD), "whole records")?;
    while archive.get(at..at + BLOCK).is_some_and(|block| block != [0; BLOCK]) {
        let header = &archive[at..at + BLOCK];
        let (name, size) = header_of(header)?;
        let content = archive.get(at + BLOCK..at + BLOCK + size as usize).ok_or("whole files")?;
        at += (BLOCK + content.len()).next_multiple_of(BLOCK);
        files.push(File { name, content });
    }
    require(archive.len() - at >= 2 * BLOCK, "two blocks of zeros at the end")?;
    require(archive[at..].iter().all(|&byte| byte == 0), "zeros after the last file")?;
    Ok(files)
}

/// The name and the size that a header states.
pub fn header_of(header: &[u8]) -> Checked<(String, u64)> {
    let sum = header.iter().enumerate().map(|(at, &byte)| if (148..156).contains(&at) { 32 } else { u64::from(byte) });
    require(octal(&header[148..156]) == Some(sum.sum()), "the checksum of a header")?;
    require([&b"ustar  \0"[..], b"ustar\x0000"].contains(&&header[257..265]), "old GNU or ustar headers")?;
    require(header[156] == b'0', "regular files only, without pax headers")?;
    let size = match &header[124..136] {
        [0x80, 0, 0, 0, size @ ..] => {
            let size = u64::from_be_bytes(size.try_into().unwrap());
            require(size >= 1 << 33, "base 256 for sizes of 8 GiB and more only")?;
            size
        }
        field => {
            require(field[11] == 0, "sizes in eleven octal digits, or in base 256")?;
            octal(field).ok_or("sizes in octal digits, or in base 256")?
        }
    };
    let name = header[..100].split(|&byte| byte == 0).next().unwrap_or_default();
    require(name.len() < 100, "names of at most 99 bytes")?;
    let name = String::from_utf8(name.to_vec()).map_err(|_| "characters of names")?;
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._=+-".contains(&byte));
    require(is_plain && !name.starts_with('.'), "characters of names")?;
    Ok((name, size))
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    u64::from_str_radix(text.trim_matches(['\0', ' ']), 8).ok()
}

/// An element, with the namespaces of its name and of its attributes.
#[derive(Debug)]
pub struct Element {
    namespace: String,
    name: String,
    attributes: Vec<(String, String, String)>,
    children: Vec<Element>,
    text: String,
}

impl Element {
    fn new(reader: &NsReader<&[u8]>, start: &BytesStart<'_>) -> Checked<Self> {
        const RULE: &str = "well-formed XML";
        let namespace = |resolved: &ResolveResult<'_>| match resolved {
            ResolveResult::Bound(namespace) => namespace.0.to_string(),
            _ => String::new(),
        };
        let (resolved, name) = reader.resolver().resolve_element(start.name());
        let (resolved, name) = (namespace(&resolved), name.into_inner().to_string());
        let mut attributes = Vec::new();
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|_| RULE)?;
            let (of, local) = reader.resolver().resolve_attribute(attribute.key);
            attributes.push((namespace(&of), local.into_inner().to_string(), attribute.value.to_string()));
        }
        Ok(Self { namespace: resolved, name, attributes, children: Vec::new(), text: String::new() })
    }

    fn is(&self, namespace: &str, name: &str) -> bool {
        self.namespace == namespace && self.name == name
    }

    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.is(OVF, name))
    }

    fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.is(OVF, name))
    }

    fn attribute(&self, namespace: &str, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(of, local, _)| of == namespace && local == name).map(|(_, _, value)| &**value)
    }

    fn ovf(&self, name: &str) -> Option<&str> {
        self.attribute(OVF, name).filter(|value| !value.is_empty())
    }

    /// The text of the resource element `name`.
    fn rasd(&self, name: &str) -> Option<&str> {
        self.children.iter().find(|child| child.is(RASD, name)).map(|child| child.text.trim())
    }
}

fn document(text: &str) -> Checked<Element> {
    const RULE: &str = "well-formed XML";
    require(text.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>"), RULE)?;
    let mut reader = NsReader::from_str(text);
    let mut open: Vec<Element> = Vec::new();
    loop {
        let event = reader.read_event().map_err(|_| RULE)?;
        let ended = match event {
            Event::Start(start) => {
                open.push(Element::new(&reader, &start)?);
                None
            }
            Event::Empty(start) => Some(Element::new(&reader, &start)?),
            Event::End(_) => open.pop(),
            Event::Text(text) => {
                if let Some(element) = open.last_mut() {
                    element.text += &text;
                }
                None
            }
            Event::Eof => return Err(RULE),
            _ => None,
        };
        if let Some(element) = ended {
            match open.last_mut() {
                Some(parent) => parent.children.push(element),
                None => return Ok(element),
            }
        }
    }
}

/// Checks that `archive` is an OVA that every consumer reads. Returns its disks: their files.
pub fn check(archive: &[u8]) -> Checked<Vec<Vec<u8>>> {
    let files = files(archive)?;
    let [descriptor, disks @ .., manifest] = &files[..] else { return Err("a descriptor, disks and a manifest") };
    let name = descriptor.name.strip_suffix(".ovf").ok_or("the descriptor first")?;
    require(manifest.name == format!("{name}.mf"), "the manifest last, with the name of the descriptor")?;
    require(disks.iter().all(|disk| disk.name.ends_with(".vmdk")), "disks called .vmdk")?;
    let names: BTreeSet<_> = files.iter().map(|file| &file.name).collect();
    require(names.len() == files.len(), "names of files once each")?;
    check_manifest(manifest.content, &files[..files.len() - 1])?;
    let text = std::str::from_utf8(descriptor.content).map_err(|_| "well-formed XML")?;
    check_descriptor(text, disks)?;
    Ok(disks.iter().map(|disk| disk.content.to_vec()).collect())
}

fn check_manifest(manifest: &[u8], files: &[File<'_>]) -> Checked<()> {
    let text = std::str::from_utf8(manifest).map_err(|_| "the spelling of the manifest")?;
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    require(lines.len() == files.len(), "a line of the manifest for each file")?;
    for (line, file) in lines.into_iter().zip(files) {
        let digest = line.strip_prefix("SHA256(").and_then(|line| line.strip_prefix(&*file.name));
        let digest = digest.and_then(|rest| rest.strip_prefix(")= ")?.strip_suffix('\n'));
        let digest = digest.ok_or("the spelling of the manifest")?;
        let found: String = Sha256::digest(file.content).iter().map(|byte| format!("{byte:02x}")).collect();
        require(digest == found, "the digests of the manifest, in lower case")?;
    }
    Ok(())
}

fn check_descriptor(text: &str, files: &[File<'_>]) -> Checked<()> {
    for (prefix, namespace) in
        [("", OVF), (":ovf", OVF), (":rasd", RASD), (":vssd", VSSD), (":vmw", VMW), (":xsi", XSI)]
    {
        require(text.contains(&format!(" xmlns{prefix}=\"{namespace}\"")), "the namespaces")?;
    }
    require(!text.contains("virtualbox.org") && !text.contains("citrix"), "the namespaces")?;
    let envelope = document(text)?;
    require(envelope.is(OVF, "Envelope"), "an envelope")?;
    let sections: Vec<_> = envelope.children.iter().map(|section| &*section.name).collect();
    let expected: &[&str] = &["References", "DiskSection", "NetworkSection", "VirtualSystem"];
    let with_network = sections.contains(&"NetworkSection");
    let expected: Vec<_> = expected.iter().filter(|name| with_network || **name != "NetworkSection").copied().collect();
    require(sections == expected, "the order of sections")?;
    let [references, disks, .., system] = &envelope.children[..] else { return Err("the order of sections") };
    let disks = check_disks(references, disks, files)?;
    let networks = match envelope.child("NetworkSection") {
        Some(section) => {
            has_info(section)?;
            section.all("Network").filter_map(|network| network.ovf("name")).collect()
        }
        None => Vec::new(),
    };
    check_system(system, &disks, &networks)
}

fn has_info(section: &Element) -> Checked<()> {
    require(section.children.first().is_some_and(|child| child.is(OVF, "Info")), "a section with its info")
}

fn is_id(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._~-".contains(&byte))
}

/// Returns the IDs of the disks.
fn check_disks<'a>(references: &Element, section: &'a Element, files: &[File<'_>]) -> Checked<Vec<&'a str>> {
    has_info(section)?;
    let (listed, disks): (Vec<_>, Vec<_>) = (references.all("File").collect(), section.all("Disk").collect());
    require(listed.len() == files.len() && disks.len() == files.len(), "as many files as disks")?;
    let mut ids = Vec::new();
    for ((listed, disk), file) in listed.iter().zip(&disks).zip(files) {
        require(listed.ovf("href") == Some(&file.name), "the files in the order of the archive")?;
        let size = listed.ovf("size").and_then(|size| size.parse().ok());
        require(size == Some(file.content.len()), "the sizes of files")?;
        let id = listed.ovf("id").filter(|id| is_id(id)).ok_or("the IDs of files")?;
        require(disk.ovf("fileRef") == Some(id), "the disks in the order of the files")?;
        require(disk.ovf("format") == Some(FORMAT), "the format of a disk")?;
        require(disk.ovf("capacityAllocationUnits") == Some("byte"), "the capacity in bytes")?;
        let capacity = disk.ovf("capacity").and_then(|capacity| capacity.parse::<u64>().ok());
        let sectors = u64::from_le_bytes(file.content[12..20].try_into().map_err(|_| "a VMDK")?);
        require(capacity == Some(sectors * 512) && sectors > 0, "the capacity of the VMDK")?;
        let populated = disk.ovf("populatedSize").map_or(Ok(0), str::parse::<u64>);
        require(populated.is_ok_and(|size| Some(size) <= capacity), "a populated size within the capacity")?;
        require(file.content[..8] == *b"KDMV\x03\0\0\0", "a VMDK of version 3")?;
        let id = disk.ovf("diskId").filter(|id| is_id(id)).ok_or("the IDs of disks")?;
        require(!ids.contains(&id), "the IDs of disks")?;
        ids.push(id);
    }
    let files: BTreeSet<_> = listed.iter().filter_map(|file| file.ovf("id")).collect();
    require(files.len() == listed.len(), "the IDs of files")?;
    Ok(ids)
}

fn check_system(system: &Element, disks: &[&str], networks: &[&str]) -> Checked<()> {
    has_info(system)?;
    let is_name =
        |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b".-".contains(&b));
    require(system.ovf("id").is_some_and(is_name), "the name of the machine")?;
    require(system.child("Name").is_some_and(|name| is_name(&name.text)), "the name of the machine")?;
    let os = system.child("OperatingSystemSection").ok_or("an operating system")?;
    has_info(os)?;
    require(os.ovf("id").is_some_and(|id| id.parse::<u16>().is_ok()), "the number of the operating system")?;
    require(os.attribute(VMW, "osType").is_some_and(|id| id.contains("Guest")), "the operating system of VMware")?;
    let hardware = system.child("VirtualHardwareSection").ok_or("a hardware section")?;
    has_info(hardware)?;
    check_family(hardware.child("System").ok_or("a system")?)?;
    check_items(hardware, disks, networks)?;
    let firmware = hardware.children.iter().filter(|child| child.is(VMW, "Config"));
    for config in firmware {
        require(config.ovf("required") == Some("false"), "settings that are not required")?;
        require(config.attribute(VMW, "key") == Some("firmware"), "no other settings")?;
        require(config.attribute(VMW, "value").is_some_and(|value| ["bios", "efi"].contains(&value)), "the firmware")?;
    }
    Ok(())
}

fn check_family(system: &Element) -> Checked<()> {
    let text = |name: &str| system.children.iter().find(|child| child.is(VSSD, name)).map(|child| &*child.text);
    require(text("InstanceID") == Some("0") && text("ElementName").is_some(), "a system")?;
    require(text("VirtualSystemIdentifier").is_some_and(|name| !name.is_empty()), "a system with an identifier")?;
    let version = text("VirtualSystemType").and_then(|text| text.strip_prefix("vmx-")?.parse::<u8>().ok());
    require(version.is_some_and(|version| (11..=15).contains(&version)), "a family of VMware from 11 to 15")
}

/// A controller: its ID, and the addresses on it.
struct Controller<'a> {
    id: &'a str,
    kind: &'static str,
    addresses: BTreeSet<u8>,
}

fn check_items(hardware: &Element, disks: &[&str], networks: &[&str]) -> Checked<()> {
    let known = ["Info", "System", "Item", "Config"];
    require(hardware.children.iter().all(|child| known.contains(&&*child.name)), "items of OVF 1")?;
    let items: Vec<_> = hardware.all("Item").collect();
    let number = |item: &Element, name: &str| item.rasd(name).and_then(|text| text.parse::<u64>().ok());
    let mut ids = BTreeSet::new();
    let (mut controllers, mut attached) = (Vec::<Controller<'_>>::new(), Vec::new());
    let (mut cpus, mut memory, mut adapters) = (0, 0, 0);
    for item in &items {
        let names: Vec<_> = item.children.iter().map(|child| &*child.name).collect();
        require(names.is_sorted(), "the elements of an item in the order of their names")?;
        require(item.children.iter().all(|child| child.namespace == RASD), "the elements of an item")?;
        let is_plain = !names.iter().any(|name| ["Weight", "Reservation", "Limit"].contains(name));
        require(is_plain, "no settings of resources on a host")?;
        let id = item.rasd("InstanceID").ok_or("the ID of an item")?;
        require(ids.insert(id), "the IDs of items once each")?;
        require(item.rasd("ElementName").is_some_and(|name| !name.is_empty()), "the name of an item")?;
        let sub_type = item.rasd("ResourceSubType");
        match number(item, "ResourceType") {
            Some(3) => {
                let count = number(item, "VirtualQuantity");
                require(count.is_some_and(|count| (1..65_535).contains(&count)), "the number of CPUs")?;
                cpus += 1;
            }
            Some(4) => {
                require(item.rasd("AllocationUnits") == Some("byte * 2^20"), "memory in MiB")?;
                require(number(item, "VirtualQuantity").is_some_and(|size| size > 0), "the size of the memory")?;
                memory += 1;
            }
            Some(kind @ (5 | 6 | 20)) => {
                let kind = match (kind, sub_type) {
                    (5, _) => "IDE",
                    (6, Some("lsilogic" | "lsilogicsas" | "buslogic" | "VirtualSCSI")) => "SCSI",
                    (20, Some("AHCI" | "vmware.sata.ahci")) => "SATA",
                    (20, Some("NVMe" | "vmware.nvme.controller")) => "NVMe",
                    _ => return Err("a known controller"),
                };
                controllers.push(Controller { id, kind, addresses: BTreeSet::new() });
            }
            Some(10) => {
                let is_known = ["E1000", "E1000e", "VMXNET3", "PCNet32"].map(Some).contains(&sub_type);
                require(is_known, "a known network adapter")?;
                require(item.rasd("AutomaticAllocation").is_some(), "an adapter that is allocated")?;
                let network = item.rasd("Connection");
                require(network.is_some_and(|name| networks.contains(&name)), "an adapter with its network")?;
                adapters += 1;
            }
            Some(17) => attached.push(item),
            _ => return Err("known resources only"),
        }
    }
    require(cpus == 1 && memory == 1, "one item for CPUs, and one for memory")?;
    require(networks.is_empty() == (adapters == 0), "networks for adapters only")?;
    let count = |kind| controllers.iter().filter(|controller| controller.kind == kind).count();
    require(count("SCSI") <= 1 && count("SATA") <= 1 && count("IDE") <= 2, "the number of controllers")?;
    require(attached.len() == disks.len(), "an item for each disk")?;
    for (item, disk) in attached.iter().zip(disks) {
        let resource = item.rasd("HostResource").and_then(|resource| resource.strip_prefix("ovf:/disk/"));
        require(resource == Some(disk), "the items in the order of the disks")?;
        let on = controllers.iter_mut().find(|controller| item.rasd("Parent") == Some(controller.id));
        let Controller { kind, addresses, .. } = on.ok_or("a disk on a controller")?;
        let address = item.rasd("AddressOnParent").and_then(|text| text.parse().ok()).ok_or("the address of a disk")?;
        let is_right = match *kind {
            "IDE" => address < 2,
            "SATA" => address < 30,
            "SCSI" => address < 16 && address != 7,
            _ => address < 15,
        };
        require(is_right && addresses.insert(address), "the address of a disk")?;
    }
    Ok(())
}
