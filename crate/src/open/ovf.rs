//! Reads the disks that an OVF descriptor (DSP0243) lists. Each `Disk` of its `DiskSection` states by `fileRef` the `id` of a `File`, whose
//! `href` is the path. The machine is the first `VirtualSystem`, with its name in `Name`, or else in its `id`.
//!
//! Scans for start tags and their attributes, and ignores everything else: only the order of a list, a name and notices depend on the
//! descriptor. An XML parser would be several times as large.

use crate::container::Member;
use crate::disk::file_name::percent_decoded;
use crate::disk::info::Capacity;
use crate::disk::name_index::NameIndex;
use crate::disk::reference::{base_name, resolved};
use crate::error::{ErrorKind, Result};
use crate::open::member_text::text_of;
use decant_text::folded;

/// Maximum number of files and disks that are read: twice as many as an archive has files.
const MOST: usize = 8192;

/// The disks of an archive according to its first descriptor.
#[derive(Default)]
pub(super) struct Described {
    /// The order of the requested files: first those that the descriptor lists, in its order, then the others.
    pub(super) order: Vec<usize>,
    /// The name of the machine.
    pub(super) machine: Option<String>,
    /// The stated capacities of the requested files, in the order of the request.
    pub(super) capacities: Vec<Option<Capacity>>,
    /// The first file of a disk that is not in the archive.
    pub(super) missing: Option<MissingDisk>,
}

/// A file that a descriptor names and the archive lacks.
pub(super) struct MissingDisk {
    pub(super) path: String,
    pub(super) descriptor: String,
}

/// Reads the first descriptor among `members`, all files of an archive. `files` are the names of members that may be disks. A damaged
/// descriptor is ignored. Fails with `source`, or `internal` if memory runs out.
pub(super) async fn described(files: &[&str], members: &[Member]) -> Result<Described> {
    let is_descriptor = |member: &&Member| member.name.to_ascii_lowercase().ends_with(".ovf");
    let descriptor = members.iter().find(is_descriptor);
    let text = match descriptor {
        Some(member) => match text_of(member).await {
            Err(error) if error.kind == ErrorKind::Corrupt => None,
            text => text?,
        },
        None => None,
    };
    let path = descriptor.map_or("", |member| &member.name);
    let index = NameIndex::new(files.iter().map(|name| resolved(name, "")));
    let all = NameIndex::new(members.iter().map(|member| folded(base_name(&member.name))));
    let (mut order, mut is_listed) = (Vec::new(), vec![false; files.len()]);
    let mut list = |at: usize| {
        if !is_listed[at] {
            is_listed[at] = true;
            order.push(at);
        }
    };
    let Machine { disks, name: machine } = read(&text.unwrap_or_default());
    let (mut capacities, mut missing) = (vec![None; files.len()], None);
    for Disk { path: file, capacity } in disks {
        let decoded = percent_decoded(&file);
        let is_there = [Some(&file), decoded.as_ref()].into_iter().flatten();
        if missing.is_none() && !is_there.clone().any(|name| !all.find(&folded(base_name(name))).is_empty()) {
            missing = Some(MissingDisk { path: file.clone(), descriptor: path.to_owned() });
        }
        for name in is_there {
            for at in index.find(&resolved(name, path)) {
                capacities[at] = capacity;
                list(at);
            }
        }
    }
    (0..files.len()).for_each(list);
    Ok(Described { order, machine, capacities, missing })
}

/// A disk of a machine: the path of its file, and its capacity if that is stated as a number.
struct Disk {
    path: String,
    capacity: Option<Capacity>,
}

struct Machine {
    /// The disks that have a file.
    disks: Vec<Disk>,
    name: Option<String>,
}

/// Reads the name of the first machine, and all disks.
fn read(text: &str) -> Machine {
    let (mut ids, mut paths, mut disks) = (Vec::new(), Vec::new(), Vec::new());
    let (mut id, mut name) = (None, None);
    let mut rest = text.as_bytes();
    while ids.len() + disks.len() < MOST
        && let Some(tag) = next_tag(&mut rest)
    {
        let end = tag.iter().position(u8::is_ascii_whitespace).unwrap_or(tag.len());
        match local(&tag[..end]) {
            b"File" => {
                if let (Some(id), Some(path)) = (attribute(tag, b"id"), attribute(tag, b"href")) {
                    ids.push(id);
                    paths.push(Some(path));
                }
            }
            b"Disk" => disks.extend(attribute(tag, b"fileRef").map(|file| (file, capacity(tag)))),
            // In version 0.9, the machine is a `Content` element.
            b"VirtualSystem" | b"Content" if id.is_none() => id = attribute(tag, b"id"),
            b"Name" if id.is_some() && name.is_none() => name = content(rest),
            _ => {}
        }
    }
    let index = NameIndex::new(ids.into_iter());
    // Each file is listed once, for its first disk.
    let mut path_of = |file: &str| paths[*index.find(file).first()?].take();
    let disk = |(file, capacity): (String, _)| Some(Disk { path: path_of(&file)?, capacity });
    let disks = disks.into_iter().filter_map(disk).collect();
    Machine { disks, name: name.or(id).filter(|name| !name.is_empty()) }
}

/// Returns the capacity that the `Disk` element `tag` states. Units are those of DSP0004, such as `byte * 2^30`, or of version 0.9.
fn capacity(tag: &[u8]) -> Option<Capacity> {
    let units = attribute(tag, b"capacityAllocationUnits").unwrap_or_default();
    let unit = match &*units.trim().to_ascii_lowercase() {
        "" | "byte" | "bytes" => 1,
        "kilobytes" => 1 << 10,
        "megabytes" => 1 << 20,
        "gigabytes" => 1 << 30,
        other => product(other)?,
    };
    let size = attribute(tag, b"capacity")?.trim().parse::<u64>().ok()?.checked_mul(unit)?;
    Some(Capacity { size, unit })
}

/// Returns the product that follows `byte`: factors are numbers, or powers of numbers.
fn product(units: &str) -> Option<u64> {
    let factors = units.strip_prefix("byte")?.trim_start().strip_prefix('*')?;
    factors.split('*').try_fold(1, |product: u64, factor| {
        let factor = match factor.split_once('^') {
            None => factor.trim().parse().ok()?,
            Some((base, power)) => base.trim().parse::<u64>().ok()?.checked_pow(power.trim().parse().ok()?)?,
        };
        product.checked_mul(factor)
    })
}

/// Returns the text of the element whose start tag ends at the start of `rest`, up to the next tag.
fn content(rest: &[u8]) -> Option<String> {
    let text = &rest[1..find(rest, b"<")?];
    unescaped(str::from_utf8(text.trim_ascii()).ok()?).filter(|text| !text.is_empty())
}

/// Returns the next start tag without its brackets, and moves `rest` to its end. Skips comments and the like.
pub(super) fn next_tag<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    loop {
        let text = &rest[find(rest, b"<")? + 1..];
        let other: &[u8] = match text {
            [b'!', b'-', b'-', ..] => b"-->",
            [b'!', b'[', ..] => b"]]>",
            [b'!' | b'?', ..] => b">",
            _ => b"",
        };
        if !other.is_empty() {
            *rest = &text[find(text, other)?..];
            continue;
        }
        let mut quote = None;
        let end = text.iter().position(|&byte| {
            match quote {
                None if byte == b'"' || byte == b'\'' => quote = Some(byte),
                Some(open) if open == byte => quote = None,
                _ => {}
            }
            quote.is_none() && byte == b'>'
        })?;
        *rest = &text[end..];
        return Some(&text[..end]);
    }
}

/// Returns the value of the attribute `wanted` of `tag`, with any prefix.
pub(super) fn attribute(mut tag: &[u8], wanted: &[u8]) -> Option<String> {
    loop {
        let equals = find(tag, b"=")?;
        let (name, rest) = (tag[..equals].trim_ascii_end(), tag[equals + 1..].trim_ascii_start());
        let (quote @ (b'"' | b'\''), value) = rest.split_first()? else { return None };
        let end = find(value, &[*quote])?;
        if local(name) == wanted {
            return unescaped(str::from_utf8(&value[..end]).ok()?);
        }
        tag = &value[end..];
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// Returns the end of `name` without its prefix, and without a name before it.
pub(super) fn local(name: &[u8]) -> &[u8] {
    let start = name.iter().rposition(|byte| *byte == b':' || byte.is_ascii_whitespace());
    &name[start.map_or(0, |at| at + 1)..]
}

/// Replaces references to characters. Returns `None` for any other reference.
fn unescaped(value: &str) -> Option<String> {
    let mut text = String::new();
    for (number, part) in value.split('&').enumerate() {
        let mut literal = part;
        if number > 0 {
            let (reference, rest) = part.split_once(';')?;
            text.push(character(reference)?);
            literal = rest;
        }
        text += literal;
    }
    Some(text)
}

fn character(reference: &str) -> Option<char> {
    const NAMES: [(&str, char); 5] = [("amp", '&'), ("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\'')];
    if let Some((_, named)) = NAMES.iter().find(|(name, _)| *name == reference) {
        return Some(*named);
    }
    let number = reference.strip_prefix('#')?;
    let (digits, radix) = number.strip_prefix('x').map_or((number, 10), |digits| (digits, 16));
    char::from_u32(u32::from_str_radix(digits, radix).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            ("a disk of a missing file", format!("{FILES}<Disk fileRef='f3'/><Disk fileRef='f1'/>"), &["a.vmdk"]),
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
            ("capacity='${size}'", None),
            ("capacity='-1'", None),
            ("capacity='1' capacityAllocationUnits='bit'", None),
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
