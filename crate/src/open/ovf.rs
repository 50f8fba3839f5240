//! What an OVF descriptor (DSP0243) says of disks. Each `Disk` of its `DiskSection` states by `fileRef` the `id` of a `File`, whose
//! `href` is the path. The machine is the first `VirtualSystem`, with its name in `Name`, or else in its `id`.
//!
//! Scans for start tags and their attributes, and ignores what it does not understand: only the order of a list and a name depend
//! on it. An XML parser would be several times as large.

use crate::container::Member;
use crate::disk::file_name::percent_decoded;
use crate::disk::name_index::NameIndex;
use crate::disk::reference::resolved;
use crate::error::{ErrorKind, Result};
use crate::open::member_text::text_of;

/// Maximum number of files and disks that are read: twice as many as an archive has files.
const MOST: usize = 8192;

/// Returns the order of `files`, files of an archive with `members`: as its first descriptor lists their disks, then the
/// others; and the name of the machine. A damaged descriptor has no influence. Fails with `source`, or `internal` if memory runs
/// out.
pub(super) async fn described(files: &[&str], members: &[Member]) -> Result<(Vec<usize>, Option<String>)> {
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
    let (mut order, mut is_listed) = (Vec::new(), vec![false; files.len()]);
    let mut list = |at: usize| {
        if !is_listed[at] {
            is_listed[at] = true;
            order.push(at);
        }
    };
    let (paths, machine) = read(&text.unwrap_or_default());
    for file in paths {
        let decoded = percent_decoded(&file);
        for name in [Some(file), decoded].into_iter().flatten() {
            index.find(&resolved(&name, path)).into_iter().for_each(&mut list);
        }
    }
    (0..files.len()).for_each(list);
    Ok((order, machine))
}

/// Returns the paths of the files of all disks, in the order of the disks, and the name of the first machine.
fn read(text: &str) -> (Vec<String>, Option<String>) {
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
            b"Disk" => disks.extend(attribute(tag, b"fileRef")),
            b"VirtualSystem" if id.is_none() => id = attribute(tag, b"id"),
            b"Name" if id.is_some() && name.is_none() => name = content(rest),
            _ => {}
        }
    }
    let index = NameIndex::new(ids.into_iter());
    // A file counts once.
    let files = disks.iter().filter_map(|disk| paths[*index.find(disk).first()?].take()).collect();
    (files, name.or(id).filter(|name| !name.is_empty()))
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
            assert_eq!(read(text).0, *expected, "{what}");
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
        ];
        for (what, text, expected) in rows {
            assert_eq!(read(text).1.as_deref(), expected, "{what}");
        }
    }
}
