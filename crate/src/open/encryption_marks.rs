//! Disks in an archive that its descriptor or configuration marks as encrypted, although their files do not show it. The marks:
//!
//! | hypervisor | mark |
//! |---|---|
//! | VirtualBox | a `HardDisk` with a property `CRYPT/KeyId` or `CRYPT/KeyStore`, and all `HardDisk`s in it, its children |
//! | OVF (DSP0243, encryption) | a `File` to whose `id` or `href` a `CipherReference` or a `DataReference` refers |
//!
//! VMware marks its disks in their descriptors (`format/vmdk/descriptor.rs`). `worker/api/encryption-marks.ts` has the same marks for
//! files that are passed separately.

use super::member_text::text_of;
use super::ovf::{attribute, local, next_tag};
use crate::container::Member;
use crate::disk::file_name::percent_decoded;
use crate::disk::reference::{base_name, resolved};
use crate::error::place::Place;
use crate::error::{Error, ErrorKind, Result};
use decant_text::folded;

const PROPERTIES: [&str; 2] = ["CRYPT/KeyId", "CRYPT/KeyStore"];

/// Fails with `unsupported` if a descriptor or a configuration among `files` marks `image` as encrypted. Fails with `source`, or
/// `internal` if memory runs out.
pub(super) async fn require_plain(image: &Member, files: &[Member]) -> Result<()> {
    let names: Vec<_> = files.iter().map(|file| &*file.name).collect();
    for file in files {
        let name = file.name.to_ascii_lowercase();
        let (by, marked): (_, fn(&str) -> Vec<String>) = match () {
            () if name.ends_with(".vbox") => ("VirtualBox", of_vbox),
            () if name.ends_with(".ovf") => ("OVF", of_ovf),
            () => continue,
        };
        let text = match text_of(file).await {
            // Damaged ones have no influence.
            Err(error) if error.kind == ErrorKind::Corrupt => continue,
            text => text?.unwrap_or_default(),
        };
        if marked(&text).iter().any(|path| refers_to(path, &file.name, &image.name, &names)) {
            return Err(Error::encrypted(by).within(Place::Member(image.name.clone())));
        }
    }
    Ok(())
}

/// Whether `path` in the file `from` refers to the file `image`, one of `files`: by the whole path, or else by its last part.
fn refers_to(path: &str, from: &str, image: &str, files: &[&str]) -> bool {
    is_at(path, from, image) || has_last_part(path, image) && !files.iter().any(|file| is_at(path, from, file))
}

/// Whether `path` in the file `from` is that of the file `name`.
fn is_at(path: &str, from: &str, name: &str) -> bool {
    let is_it = |path: &str| resolved(path, from) == resolved(name, "");
    is_it(path) || percent_decoded(path).is_some_and(|path| is_it(&path))
}

/// Whether `path` ends with the name of the file `name`, in any case.
fn has_last_part(path: &str, name: &str) -> bool {
    let is_it = |path: &str| folded(base_name(path)) == folded(base_name(name));
    is_it(path) || percent_decoded(path).is_some_and(|path| is_it(&path))
}

/// Returns the paths of the encrypted disks of a `.vbox`.
fn of_vbox(text: &str) -> Vec<String> {
    let mut marked = Vec::new();
    // The disks around the tag, outermost first: the path, and whether it is encrypted.
    let mut around: Vec<(Option<String>, bool)> = Vec::new();
    let mut rest = text.as_bytes();
    while let Some(tag) = next_tag(&mut rest) {
        let end = tag.iter().position(u8::is_ascii_whitespace).unwrap_or(tag.len());
        let name = tag[..end].strip_suffix(b"/").unwrap_or(&tag[..end]);
        match name {
            _ if name.starts_with(b"/") && local(&name[1..]) == b"HardDisk" => close(&mut around, &mut marked),
            _ if local(name) == b"HardDisk" => {
                let is_encrypted = around.last().is_some_and(|(_, is_encrypted)| *is_encrypted);
                around.push((attribute(tag, b"location"), is_encrypted));
                if tag.ends_with(b"/") {
                    close(&mut around, &mut marked);
                }
            }
            _ if local(name) == b"Property" => {
                let is_mark = attribute(tag, b"name").is_some_and(|name| PROPERTIES.contains(&&*name));
                let is_set = attribute(tag, b"value").is_some_and(|value| !value.is_empty());
                if let Some((_, is_encrypted)) = around.last_mut() {
                    *is_encrypted |= is_mark && is_set;
                }
            }
            _ => {}
        }
    }
    while !around.is_empty() {
        close(&mut around, &mut marked);
    }
    marked
}

fn close(around: &mut Vec<(Option<String>, bool)>, marked: &mut Vec<String>) {
    if let Some((Some(path), true)) = around.pop() {
        marked.push(path);
    }
}

/// Returns the paths of the encrypted files of an OVF descriptor.
fn of_ovf(text: &str) -> Vec<String> {
    let (mut files, mut marks) = (Vec::new(), Vec::new());
    let mut rest = text.as_bytes();
    while let Some(tag) = next_tag(&mut rest) {
        let end = tag.iter().position(u8::is_ascii_whitespace).unwrap_or(tag.len());
        match local(&tag[..end]) {
            b"File" => files.extend(attribute(tag, b"href").map(|path| (attribute(tag, b"id"), path))),
            b"CipherReference" | b"DataReference" => marks.extend(attribute(tag, b"URI")),
            _ => {}
        }
    }
    let is_marked = |(id, path): &(Option<String>, String)| {
        let of_mark = |mark: &String| mark.strip_prefix('#').unwrap_or(mark).to_owned();
        marks.iter().map(of_mark).any(|mark| mark == *path || id.as_ref() == Some(&mark))
    };
    files.into_iter().filter(is_marked).map(|(_, path)| path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_a_path() {
        let files = ["vm/a.vdi", "vm/Snapshots/b.vdi", "other/b.vdi", "C.vdi"];
        // (path, the files to which it refers)
        for (path, expected) in [
            ("a.vdi", &["vm/a.vdi"][..]),
            ("./%61.vdi", &["vm/a.vdi"]),
            ("Snapshots\\b.vdi", &["vm/Snapshots/b.vdi"]),
            ("b.vdi", &["vm/Snapshots/b.vdi", "other/b.vdi"]),
            ("/home/me/VMs/A.vdi", &["vm/a.vdi"]),
            ("D:\\VMs\\c.VDI", &["C.vdi"]),
            ("d.vdi", &[]),
        ] {
            let found: Vec<_> = files.into_iter().filter(|file| refers_to(path, "vm/m.vbox", file, &files)).collect();
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn of_virtualbox() {
        let disk = |location: &str, content: &str| {
            format!("<HardDisk uuid='{{1}}' location='{location}'>{content}</HardDisk>")
        };
        let key = "<Property name=\"CRYPT/KeyId\" value=\"a\"/>";
        // (what, text, expected)
        let rows: &[(&str, String, &[&str])] = &[
            ("a key", disk("a.vdi", key), &["a.vdi"]),
            ("a key store", disk("a.vdi", "<Property name='CRYPT/KeyStore' value='b'/>"), &["a.vdi"]),
            ("an empty key", disk("a.vdi", "<Property name='CRYPT/KeyId' value=''/>"), &[]),
            ("another property", disk("a.vdi", "<Property name='SetupUuid' value='b'/>"), &[]),
            ("a child", disk("a.vdi", &format!("{key}{}", disk("b.vdi", ""))), &["b.vdi", "a.vdi"]),
            (
                "a child without content",
                disk("a.vdi", &format!("{key}<HardDisk location='b.vdi'/>")),
                &["b.vdi", "a.vdi"],
            ),
            ("another disk", format!("{}{}", disk("a.vdi", key), disk("b.vdi", "")), &["a.vdi"]),
            ("a prefix", "<v:HardDisk location='a.vdi'><v:Property name='CRYPT/KeyId' value='a'/></v:HardDisk><v:HardDisk location='b.vdi'/>".to_owned(), &["a.vdi"]),
            ("no disk", key.to_owned(), &[]),
            ("a comment", format!("<!--{}-->", disk("a.vdi", key)), &[]),
            ("a cut text", format!("<HardDisk location='a.vdi'>{key}"), &["a.vdi"]),
            ("hostile tags", "</HardDisk></HardDisk><HardDisk><Property>".to_owned(), &[]),
        ];
        for (what, text, expected) in rows {
            assert_eq!(of_vbox(text), *expected, "{what}");
        }
    }

    #[test]
    fn of_a_package() {
        const FILES: &str = "<File ovf:id='f1' ovf:href='a.vmdk'/><File ovf:id='f2' ovf:href='b.vmdk'/>";
        for (mark, expected) in [
            ("<xenc:CipherReference URI='f1'/>", &["a.vmdk"][..]),
            ("<xenc:DataReference URI='#f2'/>", &["b.vmdk"]),
            ("<xenc:CipherReference URI='b.vmdk'/>", &["b.vmdk"]),
            ("<xenc:CipherReference URI='c.vmdk'/>", &[]),
            ("<Reference URI='f1'/>", &[]),
        ] {
            assert_eq!(of_ovf(&format!("{FILES}{mark}")), expected, "{mark}");
            assert_eq!(of_ovf(&format!("{mark}{FILES}")), expected, "{mark}");
        }
    }
}
