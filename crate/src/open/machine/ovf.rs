//! The disks that an OVF descriptor (DSP0243) describes. Each `Disk` of its `DiskSection` states by `fileRef` the `id` of a `File`, whose
//! `href` is the path, and by `parentRef` the `diskId` of its parent, which has the data that its file lacks. The machine is the first
//! `VirtualSystem`, with its name in `Name`, or else in its `id`.

use super::hardware::{OvfHardware, of_ovf, unit_of};
use super::{Machine, MachineDisk, is_path};
use crate::disk::info::Capacity;
use crate::disk::name_index::NameIndex;
use crate::format::RAW;
use crate::open::chain::open_options::StatedParent;
use crate::xml::{Tag, Tags};
use std::collections::HashSet;

/// Maximum number of files and disks that are read: twice as many as an archive has files. Also the maximum number of parents of all
/// disks together.
const MOST: usize = 8192;
/// The elements that refer to encrypted files, and the one that has an encrypted part of the descriptor.
const ENCRYPTED_FILES: [&str; 2] = ["CipherReference", "DataReference"];
const ENCRYPTED_PART: &str = "EncryptedData";
/// The start of a resource of the machine that is one of its disks, after the scheme `ovf:`.
const DISK: &str = "/disk/";

/// A `File`.
struct File {
    id: Option<String>,
    path: String,
    pieces: Option<u64>,
}

/// The standard of the file system of CDs, whose address VirtualBox states as the format of an image in a drive.
const OF_CDS: &str = "ecma-119";

/// A `Disk`.
struct Entry {
    id: String,
    file: Option<String>,
    parent: Option<String>,
    format: Option<&'static str>,
    capacity: Option<Capacity>,
    /// Whether it is no hard disk, but a medium in a drive.
    is_in_drive: bool,
}

impl Entry {
    fn of(tag: &Tag<'_>) -> Self {
        let text = |name| tag.attribute(name).filter(|value| !value.is_empty());
        Self {
            is_in_drive: text("format").is_some_and(|uri| uri.to_ascii_lowercase().contains(OF_CDS)),
            id: text("diskId").unwrap_or_default(),
            file: text("fileRef"),
            parent: text("parentRef"),
            format: text("format").and_then(|uri| stated_format(&uri)),
            capacity: capacity(tag),
        }
    }
}

/// Reads the first machine, and all disks.
pub(super) fn read(text: &str) -> Machine {
    let (mut files, mut disks, mut marks, mut used) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut id, mut name, mut is_encrypted) = (None, None, false);
    for tag in Tags::of(text).filter(|tag| !tag.is_end) {
        if files.len() + disks.len() >= MOST {
            break;
        }
        match &*tag.name {
            "File" => {
                let file = |path| File { id: tag.attribute("id"), path, pieces: pieces(&tag) };
                files.extend(tag.attribute("href").filter(|path| is_path(path)).map(file));
            }
            "Disk" => disks.push(Entry::of(&tag)),
            // Version 0.9 has the machine as content of that type.
            "VirtualSystem" | "Content" if id.is_none() => id = tag.attribute("id"),
            "Name" if id.is_some() && name.is_none() => name = tag.content(),
            "HostResource" => used.extend(tag.content()),
            ENCRYPTED_PART => is_encrypted = true,
            element if ENCRYPTED_FILES.contains(&element) => marks.extend(tag.attribute("URI")),
            _ => {}
        }
    }
    let OvfHardware { hardware, controllers, in_drives } = of_ovf(text);
    for disk in &mut disks {
        disk.is_in_drive |= in_drives.iter().any(|resource| disk_of(resource) == Some(&*disk.id));
    }
    let disks = Disks::new(&files, &disks, &controllers).of_machine(&used);
    let marks: HashSet<_> = marks.iter().map(|mark| mark.strip_prefix('#').unwrap_or(mark)).collect();
    let is_marked =
        |file: &&File| marks.contains(&*file.path) || file.id.as_ref().is_some_and(|id| marks.contains(&**id));
    let encrypted = files.iter().filter(is_marked).map(|file| file.path.clone()).collect();
    Machine { name: name.or(id), hardware, disks, encrypted, is_encrypted, ..Machine::default() }
}

/// The disks of a descriptor and their files, by their IDs.
struct Disks<'a> {
    files: &'a [File],
    entries: &'a [Entry],
    files_by_id: NameIndex,
    entries_by_id: NameIndex,
    /// The kinds of controllers, by the resources of the disks on them.
    controllers: &'a [(String, &'static str)],
}

impl<'a> Disks<'a> {
    fn new(files: &'a [File], entries: &'a [Entry], controllers: &'a [(String, &'static str)]) -> Self {
        let id = |file: &File| file.id.clone().unwrap_or_default();
        let (files_by_id, entries_by_id) =
            (NameIndex::new(files.iter().map(id)), NameIndex::new(entries.iter().map(|entry| entry.id.clone())));
        Self { files, entries, files_by_id, entries_by_id, controllers }
    }

    /// Returns the disks of the machine: not those in drives, or that are only parents of others. `used` has the resources of the machine's items.
    fn of_machine(&self, used: &[String]) -> Vec<MachineDisk> {
        let mut is_parent = vec![false; self.entries.len()];
        for parent in self.entries.iter().filter_map(|entry| self.parent(entry)) {
            is_parent[parent] = true;
        }
        let used = used.iter().filter_map(|resource| disk_of(resource));
        for disk in used {
            self.entries_by_id.find(disk).into_iter().for_each(|at| is_parent[at] = false);
        }
        let disks = (0..self.entries.len()).filter(|&at| !is_parent[at] && !self.entries[at].is_in_drive);
        let mut parents_left = MOST;
        disks.filter_map(|at| self.disk(at, &mut parents_left)).collect()
    }

    /// The disk of entry `number`; `None` if it is empty: neither it nor a parent has a file. An unknown file has its ID as a path, so it
    /// is missing. `parents_left` is the number of parents that it and the next disks may have.
    fn disk(&self, number: usize, parents_left: &mut usize) -> Option<MachineDisk> {
        let entry = &self.entries[number];
        let mut parents = self.parents(entry, *parents_left);
        *parents_left -= parents.len().min(*parents_left);
        let Entry { mut format, capacity, .. } = *entry;
        let (path, pieces) = match (self.file(entry), &entry.file) {
            (Some(File { path, pieces, .. }), _) => (path.clone(), *pieces),
            // If the descriptor lists no files, the files beside it are the disks.
            (None, Some(_)) if self.files.is_empty() => return None,
            (None, Some(id)) => (id.clone(), None),
            // The disk has no changes over its parent.
            (None, None) if !parents.is_empty() => {
                let StatedParent { name, is_raw } = parents.remove(0);
                format = format.or(is_raw.then_some(RAW.name));
                (name, None)
            }
            (None, None) => return None,
        };
        let is_it = |(resource, _): &&(String, &'static str)| disk_of(resource) == Some(&*entry.id);
        let controller = self.controllers.iter().find(is_it).map(|&(_, kind)| kind);
        Some(MachineDisk { path, format, capacity, pieces, parents, controller })
    }

    /// The files of the disks below `entry`, from its parent on. A circle ends with the first disk that comes again, and an
    /// unknown parent or file has its ID as a name, as has the parent after `most` of them: opening the disk reports it.
    fn parents(&self, entry: &Entry, most: usize) -> Vec<StatedParent> {
        let (mut parents, mut is_known) = (Vec::new(), HashSet::new());
        let mut entry = entry;
        while let Some(id) = &entry.parent {
            let Some(parent) = self.parent(entry).filter(|_| parents.len() < most) else {
                parents.push(StatedParent { name: id.clone(), is_raw: false });
                break;
            };
            entry = &self.entries[parent];
            if let Some(file) = &entry.file {
                let name = self.file(entry).map_or_else(|| file.clone(), |file| file.path.clone());
                parents.push(StatedParent { name, is_raw: entry.format == Some(RAW.name) });
            }
            if !is_known.insert(parent) {
                break;
            }
        }
        parents
    }

    fn parent(&self, entry: &Entry) -> Option<usize> {
        self.entries_by_id.find(entry.parent.as_ref()?).first().copied()
    }

    fn file(&self, entry: &Entry) -> Option<&File> {
        Some(&self.files[*self.files_by_id.find(entry.file.as_ref()?).first()?])
    }
}

/// Returns the ID of the disk that `resource` of an item is.
fn disk_of(resource: &str) -> Option<&str> {
    resource.strip_prefix("ovf:").unwrap_or(resource).strip_prefix(DISK)
}

/// Returns the format that the URI of a `Disk` states if that is raw. Other formats are known by the content, since oVirt states VMDK for
/// raw disks.
fn stated_format(uri: &str) -> Option<&'static str> {
    let words = |byte: char| !byte.is_ascii_alphanumeric();
    uri.split(words).any(|word| word.eq_ignore_ascii_case(RAW.name)).then_some(RAW.name)
}

/// Returns the number of pieces of a `File`, if it is stored in pieces.
fn pieces(file: &Tag<'_>) -> Option<u64> {
    let number = |name| file.attribute(name)?.trim().parse::<u64>().ok();
    let count = number("size")?.div_ceil(number("chunkSize").filter(|size| *size > 0)?);
    (count > 0).then_some(count)
}

/// Returns the capacity that the `Disk` element `tag` states.
fn capacity(tag: &Tag<'_>) -> Option<Capacity> {
    let unit = unit_of(&tag.attribute("capacityAllocationUnits").unwrap_or_default())?;
    let size = tag.attribute("capacity")?.trim().parse::<u64>().ok()?.checked_mul(unit)?;
    Some(Capacity { size, unit })
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::*;

    fn read(text: &str) -> Machine {
        Kind::Ovf.read(text)
    }

    /// Delta disks: the file of a disk, and the files of the layers below it.
    #[test]
    fn the_parents_of_disks() {
        const FILES: &str = "<File id='f1' href='a'/><File id='f2' href='b'/><File id='f3' href='c'/>";
        let item = |disk: &str| format!("<rasd:HostResource>{disk}</rasd:HostResource>");
        // (what, disks, expected: the disks, each with its parents)
        let rows: &[(&str, String, &[&[&str]])] = &[
            ("none", "<Disk diskId='1' fileRef='f1' parentRef=''/>".to_owned(), &[&["a"]]),
            ("one", "<Disk diskId='1' fileRef='f1'/><Disk diskId='2' fileRef='f2' parentRef='1'/>".to_owned(), &[&["b", "a"]]),
            ("the parent last", "<Disk diskId='2' fileRef='f2' parentRef='1'/><Disk diskId='1' fileRef='f1'/>".to_owned(), &[&["b", "a"]]),
            (
                "two",
                "<Disk diskId='1' fileRef='f1'/><Disk diskId='2' fileRef='f2' parentRef='1'/><Disk diskId='3' fileRef='f3' parentRef='2'/>".to_owned(),
                &[&["c", "b", "a"]],
            ),
            (
                "two disks over one",
                "<Disk diskId='1' fileRef='f1'/><Disk diskId='2' fileRef='f2' parentRef='1'/><Disk diskId='3' fileRef='f3' parentRef='1'/>".to_owned(),
                &[&["b", "a"], &["c", "a"]],
            ),
            (
                "a parent that is a disk of the machine, too",
                format!("<Disk diskId='1' fileRef='f1'/><Disk diskId='2' fileRef='f2' parentRef='1'/>{}{}", item("ovf:/disk/1"), item("/disk/2")),
                &[&["a"], &["b", "a"]],
            ),
            ("nothing changed", "<Disk diskId='1' fileRef='f1'/><Disk diskId='2' parentRef='1'/>".to_owned(), &[&["a"]]),
            ("an unknown parent", "<Disk diskId='1' fileRef='f1' parentRef='x'/>".to_owned(), &[&["a", "x"]]),
            (
                "a parent with an unknown file",
                "<Disk diskId='1' fileRef='y'/><Disk diskId='2' fileRef='f2' parentRef='1'/>".to_owned(),
                &[&["b", "y"]],
            ),
            ("itself", format!("<Disk diskId='1' fileRef='f1' parentRef='1'/>{}", item("ovf:/disk/1")), &[&["a", "a", "a"]]),
            (
                "a circle",
                format!("<Disk diskId='1' fileRef='f1' parentRef='2'/><Disk diskId='2' fileRef='f2' parentRef='1'/>{}", item("ovf:/disk/1")),
                &[&["a", "b", "a", "b"]],
            ),
            ("no disks", item("ovf:/disk/1"), &[]),
        ];
        for (what, disks, expected) in rows {
            let found = read(&format!("{FILES}{disks}")).disks;
            let found: Vec<Vec<_>> = found
                .into_iter()
                .map(|disk| {
                    std::iter::once(disk.path).chain(disk.parents.into_iter().map(|parent| parent.name)).collect()
                })
                .collect();
            assert_eq!(found, *expected, "{what}");
        }
    }

    #[test]
    fn hostile_paths_and_chains() {
        let long = "a".repeat(5000);
        let long = read(&format!("<File id='f' href='{long}'/><File id='g' href='b'/><Disk fileRef='f'/>"));
        assert_eq!(long.disks[0].path, "f");
        let disk = |number: usize| format!("<Disk diskId='{number}' fileRef='f{number}' parentRef='{}'/>", number + 1);
        let disks: String = (0..8000).map(disk).collect();
        let used: String = (0..8000).map(|number| format!("<HostResource>/disk/{number}</HostResource>")).collect();
        let all = read(&("<File href='a'/>".to_owned() + &disks + &used)).disks;
        let parents: usize = all.iter().map(|disk| disk.parents.len()).sum();
        assert!(all.len() == 8000 && parents <= 2 * MOST + 8000, "{parents}");
    }

    #[test]
    fn stated_formats_and_pieces() {
        // (attributes of the disk and of the file, format, pieces)
        for (disk, file, format, pieces) in [
            ("format='http://www.vmware.com/specifications/vmdk.html#sparse'", "", None, None),
            ("format='http://www.gnome.org/~markmc/qcow-image-format.html'", "", None, None),
            ("ovf:format='http://example.com/formats/raw'", "", Some("raw"), None),
            ("format='http://example.com/disk.html#RAW'", "", Some("raw"), None),
            ("format='http://example.com/drawing'", "", None, None),
            ("", "ovf:size='10' ovf:chunkSize='4'", None, Some(3)),
            ("", "size='4' chunkSize='4'", None, Some(1)),
            ("", "size='4'", None, None),
            ("", "chunkSize='4'", None, None),
            ("", "size='-4' chunkSize='x'", None, None),
            ("", "size='4' chunkSize='0'", None, None),
            ("", "size='0' chunkSize='4'", None, None),
        ] {
            let found = read(&format!("<File id='1' href='a' {file}/><Disk fileRef='1' {disk}/>")).disks.remove(0);
            assert_eq!((found.format, found.pieces), (format, pieces), "{disk}{file}");
        }
    }

    #[test]
    fn encrypted_files() {
        const FILES: &str = "<File ovf:id='f1' ovf:href='a.vmdk'/><File ovf:id='f2' ovf:href='b.vmdk'/>";
        for (mark, expected) in [
            ("<xenc:CipherReference URI='f1'/>", &["a.vmdk"][..]),
            ("<xenc:DataReference URI='#f2'/>", &["b.vmdk"]),
            ("<xenc:CipherReference URI='b.vmdk'/>", &["b.vmdk"]),
            ("<xenc:CipherReference URI='c.vmdk'/>", &[]),
            ("<Reference URI='f1'/>", &[]),
        ] {
            for text in [format!("{FILES}{mark}"), format!("{mark}{FILES}")] {
                let machine = read(&text);
                assert_eq!(
                    (&machine.encrypted[..], machine.is_encrypted),
                    (&expected.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>()[..], false),
                    "{mark}"
                );
            }
        }
        assert!(read("<EncryptedData Id=\"a\"><CipherData/></EncryptedData>").is_encrypted);
    }

    #[test]
    fn the_files_of_disks_in_their_order() {
        const FILES: &str = r#"<File ovf:id="f1" ovf:href="a.vmdk"/><File ovf:id="f2" ovf:href="b.vmdk"/>"#;
        let second_first = r#"<Disk ovf:fileRef="f2"/><Disk ovf:fileRef="f1"/>"#;
        // (what, text, expected)
        let rows: &[(&str, String, &[&str])] = &[
            ("disks in another order", format!("{FILES}{second_first}"), &["b.vmdk", "a.vmdk"]),
            ("disks first", format!("{second_first}{FILES}"), &["b.vmdk", "a.vmdk"]),
            ("no disks", FILES.to_owned(), &[]),
            ("no files", second_first.to_owned(), &[]),
            ("a disk without a file", format!("{FILES}<Disk ovf:diskId='d'/><Disk fileRef='f1'/>"), &["a.vmdk"]),
            ("a disk of an unknown file", format!("{FILES}<Disk fileRef='f3'/><Disk fileRef='f1'/>"), &["f3", "a.vmdk"]),
            ("disks of one file", format!("{FILES}<Disk fileRef='f1'/><Disk fileRef='f1'/>"), &["a.vmdk"]),
            (
                "other prefixes, quotes and spaces",
                "<o:File\n\tx:size='1'  x:href = 'a>\"b.vmdk' x:id='1'\n></o:File><o:Disk x:fileRef = \"1\" />".to_owned(),
                &["a>\"b.vmdk"],
            ),
            (
                "characters",
                "<File id='&#49;' href='&lt;&amp;&#x61;&apos;&quot;&gt;&amp;lt;'/><Disk fileRef='1'/>".to_owned(),
                &["<&a'\">&lt;"],
            ),
            (
                "entities of a document type",
                "<!DOCTYPE x [<!ENTITY a 'b'><!ENTITY c '&a;&a;'>]><File id='1' href='&c;'/><File id='2' href='&#xd800;'/><File id='3' href='&'/><File id='4' href='d&#x110000;'/><Disk fileRef='1'/><Disk fileRef='2'/><Disk fileRef='3'/><Disk fileRef='4'/>"
                    .to_owned(),
                &[],
            ),
            (
                "comments and the like",
                format!("<?xml version='1.0'?><!-- <Disk fileRef='f1'/> -->{FILES}<![CDATA[<Disk fileRef='f1'/>]]>{second_first}"),
                &["b.vmdk", "a.vmdk"],
            ),
            ("similar names", format!("{FILES}<DiskSection fileRef='f1'/><Disk xfileRef='f1'/></Disk fileRef='f1'>"), &[]),
            ("a cut tag", format!("{FILES}<Disk fileRef='f2'/><Disk fileRef='f1'"), &["b.vmdk"]),
            ("a cut value", format!("{FILES}<Disk fileRef='f2'/><Disk fileRef='f1/>"), &["b.vmdk"]),
            ("a cut comment", format!("{FILES}<Disk fileRef='f2'/><!-- <Disk fileRef='f1'/>"), &["b.vmdk"]),
            ("values without quotes", "<File id=1 href=a/><Disk fileRef=1/>".to_owned(), &[]),
            ("no document", "<<<>>>&&&=\"'é".to_owned(), &[]),
            ("nothing", String::new(), &[]),
        ];
        for (what, text, expected) in rows {
            let found = read(text).disks.into_iter().map(|disk| disk.path).collect::<Vec<_>>();
            assert_eq!(found, *expected, "{what}");
        }
    }

    /// The ISO of a machine of VirtualBox.
    #[test]
    fn media_in_drives() {
        const FILES: &str = "<File id='f1' href='a'/><File id='f2' href='b'/>";
        const DISK: &str =
            "<Disk diskId='1' fileRef='f1' format='http://www.vmware.com/interfaces/specifications/vmdk.html'/>";
        let item = |kind: &str, disk: &str| {
            format!("<Item><r:HostResource>/disk/{disk}</r:HostResource><r:ResourceType>{kind}</r:ResourceType></Item>")
        };
        let machine =
            |more: &str, items: &str| format!("{FILES}{DISK}{more}<VirtualSystem id='m'>{items}</VirtualSystem>");
        let iso = "<Disk diskId='2' fileRef='f2' format='http://www.ecma-international.org/publications/standards/Ecma-119.htm'/>";
        let other = "<Disk diskId='2' fileRef='f2'/>";
        // (what, text, the disks)
        let rows: &[(&str, String, &[&str])] = &[
            ("by its format", machine(iso, &item("17", "1")), &["a"]),
            ("by its drive", machine(other, &[item("17", "1"), item("15", "2")].concat()), &["a"]),
            ("a DVD", machine(other, &[item("16", "2"), item("17", "1")].concat()), &["a"]),
            ("a floppy disk", machine(other, &item("14", "2")), &["a"]),
            ("a hard disk", machine(other, &[item("17", "1"), item("17", "2")].concat()), &["a", "b"]),
            ("an empty drive", machine(other, "<Item><r:ResourceType>15</r:ResourceType></Item>"), &["a", "b"]),
        ];
        for (what, text, expected) in rows {
            let found = read(text).disks.into_iter().map(|disk| disk.path).collect::<Vec<_>>();
            assert_eq!(found, *expected, "{what}");
        }
    }

    #[test]
    fn the_name_of_the_machine() {
        // (what, text, expected)
        let rows = [
            ("an ID", "<VirtualSystem ovf:id='vm'><Info>A</Info></VirtualSystem>", Some("vm")),
            ("a name", "<VirtualSystem ovf:id='vm'><Info>A</Info><Name> web &amp; db\n</Name>", Some("web & db")),
            ("another prefix", "<ovf:VirtualSystem ovf:id='vm'><ovf:Name>web</ovf:Name>", Some("web")),
            ("two machines", "<VirtualSystem id='a'></VirtualSystem><VirtualSystem id='b'></VirtualSystem>", Some("a")),
            ("an empty name", "<VirtualSystem id='vm'><Name></Name>", Some("vm")),
            ("a name with an entity", "<VirtualSystem id='vm'><Name>&x;</Name>", Some("vm")),
            ("a name of another element", "<Name>other</Name><VirtualSystem id='vm'/>", Some("vm")),
            ("similar names", "<VirtualSystem id='vm'><ElementName>a</ElementName><Product Name='b'/>", Some("vm")),
            ("a name that is cut off", "<VirtualSystem id='vm'><Name>web", Some("vm")),
            ("an empty ID", "<VirtualSystem id=''/>", None),
            ("no machine", "<Envelope><Disk fileRef='f1'/></Envelope>", None),
            (
                "version 0.9",
                "<Content ovf:id='old vm' xsi:type='ovf:VirtualSystem_Type'><Info>A</Info>",
                Some("old vm"),
            ),
        ];
        for (what, text, expected) in rows {
            assert_eq!(read(text).name.as_deref(), expected, "{what}");
        }
    }

    #[test]
    fn the_capacities_of_disks() {
        // (attributes, the size, a size that differs from it)
        let rows: &[(&str, Option<(u64, u64)>)] = &[
            ("capacity='8192'", Some((8192, 8704))),
            ("ovf:capacity='8192' ovf:capacityAllocationUnits='byte'", Some((8192, 7680))),
            ("capacity='10' capacityAllocationUnits='byte * 2^30'", Some((10 << 30, 11 << 30))),
            ("capacity='10' capacityAllocationUnits='byte*2^20'", Some((10 << 20, 9 << 20))),
            ("capacity='10' capacityAllocationUnits='byte * 1024 * 1024'", Some((10 << 20, 12 << 20))),
            ("capacity='3' capacityAllocationUnits='byte * 10^9'", Some((3_000_000_000, 4_000_000_000))),
            ("capacity='20' capacityAllocationUnits='GigaBytes'", Some((20 << 30, 21 << 30))),
            ("capacity='7' capacityAllocationUnits='KB'", Some((7 << 10, 8 << 10))),
            ("capacity='4' capacityAllocationUnits='MB'", Some((4 << 20, 5 << 20))),
            ("capacity='4' capacityAllocationUnits=' MegaByte '", Some((4 << 20, 5 << 20))),
            ("capacity='20' capacityAllocationUnits='GB'", Some((20 << 30, 21 << 30))),
            ("capacity='20' capacityAllocationUnits='GiB'", Some((20 << 30, 21 << 30))),
            ("capacity='2' capacityAllocationUnits='TeraBytes'", Some((2 << 40, 3 << 40))),
            ("capacity='10' capacityAllocationUnits='Bytes * 2 ^ 20'", Some((10 << 20, 9 << 20))),
            ("capacity='${size}'", None),
            ("capacity='-1'", None),
            ("capacity='1' capacityAllocationUnits='bit'", None),
            ("capacity='1' capacityAllocationUnits='Mbit'", None),
            ("capacity='1' capacityAllocationUnits='byte * 2^64'", None),
            ("capacity='1' capacityAllocationUnits='byte * '", None),
            ("capacity='18446744073709551615' capacityAllocationUnits='byte * 2'", None),
            ("capacity='18446744073709551616'", None),
            ("", None),
        ];
        for (attributes, expected) in rows {
            let text = format!("<File id='1' href='a'/><Disk fileRef='1' {attributes}/>");
            let found = read(&text).disks[0].capacity;
            assert_eq!(found.map(|capacity| capacity.size), expected.map(|(size, _)| size), "{attributes}");
            if let (Some(capacity), Some((size, other))) = (found, expected) {
                let is_same = |size: u64| !capacity.differs_from(size);
                assert!(is_same(*size) && is_same(size - 1) && is_same(size + 511) && !is_same(*other), "{attributes}");
            }
        }
    }
}
