//! A virtual machine in a tar archive (OVA): an OVF descriptor, the disks as streamOptimized VMDKs, and a manifest.
//!
//! The archive is in the format of `tar --format=oldgnu`: VirtualBox and vSphere read no pax headers. The descriptor and the headers of
//! the disks have the sizes of their files, so they are written last. The manifest has the digests of these files, and is at the end.

mod descriptor;

use super::layout::{Assembler, Layout, Stamp, Writes, size_needed};
use super::options::{FormatOption, Options};
use super::vmdk::StreamOptimized;
use super::{OutputFormat, tar_header};
use crate::compress::{EncodedPart, Encoding};
use crate::disk::guest_os::{self, GuestOs};
use crate::disk::hardware::{ADAPTERS, Hardware, MOST_ADAPTERS};
use crate::disk::info::Notice;
use crate::disk::reference::hexadecimal;
use crate::error::{Error, ErrorKind, Result};
use crate::offsets::GuestRange;
use decant_crypt::{Hash, Hasher};
use descriptor::{CONTROLLERS, Controller, Disk, LSI_LOGIC, LSI_LOGIC_SAS, Machine};

pub(super) const FORMAT: OutputFormat = OutputFormat {
    name: "ova",
    label: "OVA",
    hint: "A virtual machine",
    extensions: &[".ova"],
    content: "vmdk",
    containers: 1,
    options: &[
        FormatOption::open("cpus", &["2"], "a number from 1 to 65534", |text| {
            Hardware::cpus_of(text).map(|count| count.to_string())
        }),
        FormatOption::open("memory", &["2048M"], "a number of MiB, or with a unit: 4G", memory_of),
        FormatOption::new("firmware", &["bios", "efi"]),
        FormatOption::open("os", guest_os::NAMES, "an ID of VMware, such as debian11_64Guest", os_of),
        FormatOption::new(
            "controller",
            &["auto", "lsilogic", "lsilogicsas", "pvscsi", "buslogic", "sata", "nvme", "ide"],
        ),
        FormatOption::open(
            "network",
            &["E1000", "E1000e", "VMXNET3", "PCNet32", "none"],
            "several adapters, joined by +",
            network_of,
        ),
        FormatOption::new("hwversion", &["13", "11", "12", "14", "15"]),
        FormatOption::open("name", &["disk"], "a name", |text| Some(name_of(text))),
        FormatOption::UUID,
    ],
    layout: |virtual_size, options| Ok(Box::new(Ova::new(virtual_size, options)?)),
    ..OutputFormat::DEFAULT
};

/// The memory of a machine is a multiple of this many MiB: VMware starts no other.
const MEMORY_STEP: u64 = 4;
/// The time of all files: 1980-01-01. GNU tar warns of 1970, and readers do not use it.
const MODIFIED: u64 = 315_532_800;
/// The longest name of a machine: names of files have at most 99 bytes, with `-disk1.vmdk`.
const LONGEST_NAME: usize = 80;
/// The unit of tar, in bytes.
const BLOCK: u64 = 512;

/// Reads a number of MiB, or a size with a unit, for the option `memory`.
fn memory_of(text: &str) -> Option<String> {
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let unit: u64 = match &text[digits.len()..] {
        "" | "M" | "m" | "MiB" => 1 << 20,
        "G" | "g" | "GiB" => 1 << 30,
        "T" | "t" | "TiB" => 1 << 40,
        _ => return None,
    };
    let mib = Hardware::memory_of(digits, unit)? >> 20;
    Some(format!("{}M", mib.next_multiple_of(MEMORY_STEP)))
}

/// Reads an operating system that is not in the list: an ID of VMware, or a name in another case.
fn os_of(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    if guest_os::NAMES.contains(&&*lower) {
        return Some(lower);
    }
    let is_id = text.ends_with("Guest") || text.ends_with("Guest64");
    let is_plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    (is_id && is_plain && text.len() <= 40).then(|| text.to_owned())
}

fn network_of(text: &str) -> Option<String> {
    let adapter = |text: &str| ADAPTERS.iter().copied().find(|adapter| adapter.eq_ignore_ascii_case(text));
    let adapters = text.split('+').map(adapter).collect::<Option<Vec<_>>>()?;
    (adapters.len() <= MOST_ADAPTERS).then(|| adapters.join("+"))
}

/// Makes the name of a machine and of its files: Proxmox refuses other characters, and Xen Orchestra names that start with a dot.
fn name_of(text: &str) -> String {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "._=+-".contains(letter);
    let mut name = String::new();
    for letter in text.chars() {
        match letter {
            letter if is_allowed(letter) => name.push(letter),
            _ if name.ends_with('-') => {}
            _ => name.push('-'),
        }
        if name.len() == LONGEST_NAME {
            break;
        }
    }
    let name = name.trim_start_matches(['.', '-']).trim_end_matches('-');
    if name.is_empty() { "disk".to_owned() } else { name.to_owned() }
}

#[derive(Clone)]
struct Ova {
    machine: Machine,
    /// One disk or more.
    disks: Vec<StreamOptimized>,
    uuid: Option<[u8; 16]>,
}

impl Ova {
    fn new(virtual_size: u64, options: &Options) -> Result<Self> {
        let mut ova = Self { machine: machine_of(options), disks: Vec::new(), uuid: options.uuid() };
        if ova.machine.controller.name == "nvme" && ["11", "12"].contains(&ova.machine.hardware) {
            let message = "controller=nvme needs hwversion=13 or later: older virtual hardware has no NVMe";
            return Err(Error::new(ErrorKind::Usage, message));
        }
        ova.add(virtual_size)?;
        Ok(ova)
    }

    /// Adds a disk.
    fn add(&mut self, virtual_size: u64) -> Result<()> {
        let Controller { name, adapter, .. } = self.machine.controller;
        let most = self.machine.controller.room();
        if self.disks.len() == most {
            let message = format!(
                "Controllers of the kind '{name}' have room for {most} disks; choose another kind, or fewer disks"
            );
            return Err(Error::new(ErrorKind::Limit, message).coded("controller-full").field("most", most as u64));
        }
        self.disks.push(StreamOptimized::with(virtual_size, adapter, self.machine.hardware)?);
        Ok(())
    }

    /// The files of the disks, whose sizes are not known yet.
    fn files(&self) -> Vec<Disk> {
        let file = |number| format!("{}-disk{number}.vmdk", self.machine.name);
        let disk = |(number, vmdk): (usize, &StreamOptimized)| Disk {
            file: file(number),
            size: 0,
            capacity: vmdk.disk_size(),
        };
        (1..).zip(&self.disks).map(disk).collect()
    }
}

/// The machine that the options describe.
fn machine_of(options: &Options) -> Machine {
    let os = options.text("os");
    let named = GuestOs::by_name(os);
    let system = named.unwrap_or_else(|| GuestOs::of_id(os));
    let controller: &Controller = match options.get("controller") {
        // Windows has no drivers for other controllers before VMware's are installed.
        "auto" if system.is_windows() => &LSI_LOGIC_SAS,
        name => CONTROLLERS.iter().find(|controller| controller.name == name).unwrap_or(&LSI_LOGIC),
    };
    Machine {
        name: options.text("name").to_owned(),
        cpus: Hardware::cpus_of(options.text("cpus")).unwrap_or(1),
        memory: options.text("memory").trim_end_matches('M').parse().unwrap_or(MEMORY_STEP),
        firmware: options.get("firmware"),
        os: (system.cim, named.map_or(os, |named| named.vmware).to_owned()),
        controller,
        adapters: match options.text("network") {
            "none" => Vec::new(),
            adapters => adapters.split('+').map(str::to_owned).collect(),
        },
        hardware: options.get("hwversion"),
    }
}

impl Layout for Ova {
    fn encoding(&self) -> Encoding {
        self.disks[0].encoding()
    }

    fn unit(&self) -> u64 {
        self.disks[0].unit()
    }

    fn disk_size(&self) -> u64 {
        self.disks[0].disk_size()
    }

    fn notice(&self) -> Option<Notice> {
        self.disks[0].notice()
    }

    /// A conversion may add hardware and the name of its file, which make the descriptor longer: by less than a record of tar.
    fn size_for(&self, units: u64) -> u64 {
        let names = self.files().into_iter().map(|disk| disk.file);
        let names = names.chain([self.machine.descriptor_name()]);
        let manifest: String = names.map(|name| manifest_line(&name, &[0; 32])).collect();
        let end = tar_header::RECORD
            + self.reserved()
            + self.disks[0].size_for(units)
            + member("", manifest.as_bytes()).len() as u64;
        end + tar_header::zeros_after(end)
    }

    fn resized(&self, _virtual_size: u64) -> Result<Box<dyn Layout>> {
        Err(size_needed("An OVA"))
    }

    fn reserved(&self) -> u64 {
        start_of(&self.machine, &self.files()).0.len() as u64
    }

    fn writes_later(&self) -> bool {
        self.disks.len() > 1
    }

    fn digests(&self) -> bool {
        true
    }

    fn with_disks(&self, more: &[u64]) -> Result<Option<Box<dyn Layout>>> {
        let mut ova = self.clone();
        more.iter().try_for_each(|virtual_size| ova.add(*virtual_size))?;
        Ok(Some(Box::new(ova)))
    }

    fn disk(&self, number: usize) -> Option<&dyn Layout> {
        self.disks.get(number).map(|disk| disk as &dyn Layout)
    }

    fn assembler(&self, stamp: &Stamp) -> Result<Option<Box<dyn Assembler>>> {
        let random = self.uuid.unwrap_or(stamp.random);
        let mut files = Vec::new();
        for (number, (vmdk, disk)) in (0..).zip(self.disks.iter().zip(self.files())) {
            // Disks with the same identifiers are taken for copies.
            let mut random = random;
            random[0] ^= number;
            let Some(vmdk) = vmdk.assembler(&Stamp { random, ..*stamp })? else { return Ok(None) };
            files.push(DiskFile { disk, vmdk, start: self.reserved(), hasher: Hasher::new(Hash::Sha256)? });
        }
        Ok(Some(Box::new(OvaAssembler { machine: self.machine.clone(), files, current: 0 })))
    }
}

/// Assembles the disks, and adds the other files.
struct OvaAssembler {
    machine: Machine,
    /// The files of the disks.
    files: Vec<DiskFile>,
    /// The number of the disk that is written.
    current: usize,
}

/// The file of a disk.
struct DiskFile {
    /// The disk. The OVF states its size as the size of the file so far.
    disk: Disk,
    vmdk: Box<dyn Assembler>,
    /// The offset of the file, once it is the current one.
    start: u64,
    /// The digest of the file.
    hasher: Hasher,
}

impl DiskFile {
    fn end(&self) -> u64 {
        self.start + self.disk.size
    }
}

impl OvaAssembler {
    /// Adds the writes of `ask` to the file of the current disk.
    fn of_disk(
        &mut self,
        writes: &mut Writes,
        ask: impl FnOnce(&mut dyn Assembler, &mut Writes) -> Result<()>,
    ) -> Result<()> {
        let DiskFile { disk, vmdk, start, .. } = &mut self.files[self.current];
        let mut part = Writes::default();
        ask(&mut **vmdk, &mut part)?;
        disk.size = disk.size.max(part.end());
        writes.add(*start, part);
        Ok(())
    }
}

impl Assembler for OvaAssembler {
    fn begin(&mut self, writes: &mut Writes) -> Result<()> {
        self.of_disk(writes, |vmdk, writes| vmdk.begin(writes))
    }

    fn place(&mut self, region: GuestRange, parts: &[EncodedPart], writes: &mut Writes) -> Result<()> {
        self.of_disk(writes, |vmdk, writes| vmdk.place(region, parts, writes))
    }

    fn end_disk(&mut self, writes: &mut Writes) -> Result<()> {
        self.of_disk(writes, |vmdk, writes| vmdk.finish(writes))?;
        // The files of disks are whole blocks.
        let end = self.files[self.current].end();
        let Some(next) = self.files.get_mut(self.current + 1) else { return Ok(()) };
        writes.later(end, BLOCK);
        next.start = end + BLOCK;
        self.current += 1;
        self.begin(writes)
    }

    fn written(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
        // The last bytes of a disk may come after the next disk has begun.
        let file = self.files.iter_mut().find(|file| (file.start..file.end()).contains(&offset));
        if let Some(file) = file {
            file.hasher.add(bytes)?;
        }
        Ok(())
    }

    fn finish(&mut self, writes: &mut Writes) -> Result<()> {
        let disks: Vec<_> = self.files.iter().map(|file| file.disk.clone()).collect();
        let (start, descriptor) = start_of(&self.machine, &disks);
        let mut of_descriptor = Hasher::new(Hash::Sha256)?;
        of_descriptor.add(descriptor.as_bytes())?;
        let descriptor_name = self.machine.descriptor_name();
        let mut manifest = String::new();
        let of_disks = self.files.iter().map(|file| (&file.disk.file, &file.hasher));
        for (name, hasher) in std::iter::once((&descriptor_name, &of_descriptor)).chain(of_disks) {
            let mut digest = [0; 32];
            hasher.hash(&mut digest)?;
            manifest += &manifest_line(name, &digest);
        }
        let end = self.files[self.current].end();
        let mut last = member(&format!("{}.mf", self.machine.name), manifest.as_bytes());
        last.resize(last.len() + tar_header::zeros_after(end + last.len() as u64) as usize, 0);
        writes.own(end, last);
        for file in &self.files[1..] {
            writes.own(file.start - BLOCK, header_of(&file.disk));
        }
        writes.own(0, start);
        Ok(())
    }
}

/// The line of a file in the manifest. Most readers know no other spelling.
fn manifest_line(name: &str, digest: &[u8; 32]) -> String {
    format!("SHA256({name})= {}\n", hexadecimal(digest))
}

/// A file in the archive, with its header.
fn member(name: &str, content: &[u8]) -> Vec<u8> {
    let size = content.len() as u64;
    let mut member = tar_header::header(name.as_bytes(), size, MODIFIED).to_vec();
    member.extend_from_slice(content);
    member.resize((BLOCK + size).next_multiple_of(BLOCK) as usize, 0);
    member
}

fn header_of(disk: &Disk) -> Vec<u8> {
    tar_header::header(disk.file.as_bytes(), disk.size, MODIFIED).to_vec()
}

/// The start of the archive, up to the file of the first of `disks`, and the descriptor in it. Its length does not depend on the sizes
/// of files.
fn start_of(machine: &Machine, disks: &[Disk]) -> (Vec<u8>, String) {
    let descriptor = machine.descriptor(disks);
    let mut start = member(&machine.descriptor_name(), descriptor.as_bytes());
    start.extend(header_of(&disks[0]));
    (start, descriptor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offsets::GuestOffset;
    use crate::output::layout::Write;

    const GRAIN: u64 = 64 << 10;
    /// The length of a grain that was not compressible.
    const ENCODED: usize = 66_048;

    /// The start of an archive whose disk has `grains` such grains, and the length of the archive.
    fn made(grains: u64) -> (Vec<u8>, u64) {
        let layout = (FORMAT.layout)(grains * GRAIN, &Options::recommended(&FORMAT)).unwrap();
        let mut assembler = layout.assembler(&Stamp::default()).unwrap().unwrap();
        let mut writes = Writes::default();
        assembler.begin(&mut writes).unwrap();
        for grain in 0..grains {
            let guest = GuestOffset(grain * GRAIN);
            let part =
                EncodedPart { guest, len: GRAIN, crc: 0, start: 0, encoded_len: ENCODED, padding: 0, is_stored: false };
            writes.0.clear();
            assembler.place(GuestRange { start: guest, end: guest + GRAIN }, &[part], &mut writes).unwrap();
        }
        assembler.end_disk(&mut writes).unwrap();
        writes.0.clear();
        assembler.finish(&mut writes).unwrap();
        let len = writes.end();
        match writes.0.pop() {
            Some(Write::Own { offset: 0, bytes, times: 1 }) => (bytes, len),
            other => panic!("{other:?}"),
        }
    }

    /// The size of a file of 8 GiB or more does not fit octal digits.
    #[test]
    fn the_sizes_of_large_files() {
        // (grains, whether the size of the file is in base 256)
        for (grains, is_large) in [(1000, false), (130_000, false), (130_200, true), (200_000, true)] {
            let (start, len) = made(grains);
            let header = start.last_chunk::<512>().unwrap();
            let size = match header[124] {
                0x80 => u64::from_be_bytes(*header[124..136].last_chunk().unwrap()),
                _ => u64::from_str_radix(std::str::from_utf8(&header[124..135]).unwrap(), 8).unwrap(),
            };
            assert_eq!(header[124] == 0x80, is_large, "{grains}");
            assert_eq!(size >= 1 << 33, is_large, "{grains}");
            assert!(size > grains * ENCODED as u64 && size.is_multiple_of(512), "{grains}");
            let descriptor = String::from_utf8_lossy(&start);
            assert!(descriptor.contains(&format!("ovf:size=\"{size}\"")), "{grains}");
            assert!(len.is_multiple_of(10_240) && len > start.len() as u64 + size, "{grains}");
        }
    }
}
