//! The rule for showing foreign texts, and every place where a message contains one. `e2e/node/shown.spec.ts` runs the
//! same cases in TypeScript.

use crate::common::small::*;
use crate::common::*;
use decant::error::shown::{LONGEST_MESSAGE, shown};

#[derive(serde::Deserialize)]
struct Table {
    /// The first and the last character of each escaped range.
    hidden: Vec<(u32, u32)>,
    /// A text, and its shown form.
    cases: Vec<(String, String)>,
}

fn table() -> Table {
    serde_json::from_str(include_str!("shown.json")).unwrap()
}

#[test]
fn texts_are_escaped_and_cut() {
    for (text, expected) in table().cases {
        assert_eq!(shown(&text), expected);
        assert_eq!(shown(&expected), expected, "what is shown is shown as it is");
    }
}

#[test]
fn exactly_the_hidden_characters_are_escaped() {
    let table = table();
    for character in '\0'..=char::MAX {
        let hidden = table.hidden.iter().any(|&(first, last)| (first..=last).contains(&u32::from(character)));
        assert_eq!(shown(&character.to_string()).starts_with("\\u"), hidden, "{:x}", u32::from(character));
    }
}

/// An image without data, of clusters of 2 MiB, with header extensions and a name of a backing file.
fn image(extensions: &[(u32, &str)], backing: Option<&str>, more: Patch) -> Vec<u8> {
    const CLUSTER: usize = 2 << 20;
    let extensions: Vec<u8> =
        extensions.iter().flat_map(|(kind, content)| extension(*kind, content.as_bytes())).collect();
    let backing_at = 104 + extensions.len() + 8;
    let header: Patch = &[
        (0, b"QFI\xfb\0\0\0\x03"),
        (20, &21u32.to_be_bytes()),
        (24, &(1u64 << 20).to_be_bytes()),
        (36, &1u32.to_be_bytes()),
        (40, &(CLUSTER as u64).to_be_bytes()),
        (96, &4u32.to_be_bytes()),
        (100, &104u32.to_be_bytes()),
        (104, &extensions),
    ];
    let name: Patch = match backing {
        Some(name) => &[
            (8, &(backing_at as u64).to_be_bytes()),
            (16, &(name.len() as u32).to_be_bytes()),
            (backing_at, name.as_bytes()),
        ],
        None => &[],
    };
    changed(vec![0; 2 * CLUSTER], &[header, name, more].concat())
}

/// A table of `count` snapshots, which all have this ID and name, for `image`.
fn snapshots(count: u32, id: &str, name: &str) -> Vec<u8> {
    const AT: u64 = 4 << 20;
    let lengths = [(id.len() as u16).to_be_bytes(), (name.len() as u16).to_be_bytes()].concat();
    let mut entry = [&[0; 12][..], &lengths, &[0; 24], id.as_bytes(), name.as_bytes()].concat();
    entry.resize(entry.len().next_multiple_of(8), 0);
    let table = entry.repeat(count as usize);
    image(&[], None, &[(60, &count.to_be_bytes()), (64, &AT.to_be_bytes()), (AT as usize, &table)])
}

/// An image whose LUKS header has these names of a cipher, a mode and a hash.
fn luks([cipher, mode, hash]: [&str; 3]) -> Vec<u8> {
    const AT: u64 = 4 << 20;
    let names: Vec<u8> = [cipher, mode, hash].iter().flat_map(|name| field::<32>(name)).collect();
    let mut header = [b"LUKS\xba\xbe\0\x01", &names[..]].concat();
    header.resize(592, 0);
    header[111] = 32;
    header[167] = 1;
    let extension = extension(0x0537_be77, &[AT.to_be_bytes(), 592u64.to_be_bytes()].concat());
    image(&[], None, &[(35, &[2]), (104, &extension), (AT as usize, &header)])
}

/// `name` as a field of `N` bytes: cut, or padded with zeros.
fn field<const N: usize>(name: &str) -> [u8; N] {
    std::array::from_fn(|at| name.as_bytes().get(at).copied().unwrap_or(0))
}

/// A raw disk.
fn numbered() -> Vec<u8> {
    vec![1; 4096]
}

/// The part of `name` that fits in `most` bytes.
fn fitting(name: &str, most: usize) -> &str {
    &name[..name.floor_char_boundary(most)]
}

/// All messages about `case`: notices, and errors of opening, unlocking and converting.
fn messages(case: Case) -> Vec<String> {
    let notices = Case { password: None, ..case.clone() }.with(Answers::InOrder, |image| async move {
        Ok(image.info().safety.into_iter().map(|notice| notice.message).collect::<Vec<_>>())
    });
    let failure = case.bytes().err().map(|error| error.message());
    notices.unwrap_or_default().into_iter().chain(failure).collect()
}

#[test]
fn no_message_has_a_text_as_it_is() {
    const BASE: &str = "base.raw";
    let broken = || b"QFI\xfb\0\0\0\x03".repeat(64);
    let over = |name: Option<String>, backing: &str, format: &str, companion: (String, Vec<u8>)| {
        let format = if format.is_empty() { vec![] } else { vec![(BACKING_FORMAT, format)] };
        Case { name, companions: vec![companion], ..Case::new(image(&format, Some(backing), &[])) }
    };
    let locked = |names: [&str; 3]| Case { password: Some(b"secret".to_vec()), ..Case::new(luks(names)) };
    let data_file: Patch =
        &[(79, &[4]), (2 << 20, &(4u64 << 20 | 1 << 63).to_be_bytes()), (4 << 20, &[0x80]), (6 << 20, &[0])];
    // (place, its maximum length in bytes, an image with the text there)
    type Place<'a> = (&'a str, usize, &'a dyn Fn(&str) -> Case);
    let places: &[Place] = &[
        ("a backing file", 1023, &|name| Case::new(image(&[], Some(name), &[]))),
        ("a backing file that is a circle", 1023, &|name| Case {
            name: Some(name.to_owned()),
            ..Case::new(image(&[], Some(name), &[]))
        }),
        ("a backing file's format", 1 << 20, &|name| over(None, BASE, name, (BASE.to_owned(), numbered()))),
        ("a data file", 1 << 20, &|name| Case::new(image(&[(DATA_FILE, name)], None, &[(79, &[4])]))),
        ("a data file that is too short", 1 << 20, &|name| Case {
            companions: vec![(name.to_owned(), Vec::new())],
            ..Case::new(image(&[(DATA_FILE, name)], None, data_file))
        }),
        ("a feature", 46, &|name| {
            let table = format!("\0\u{9}{name}{}", "\0".repeat(46 - name.len()));
            Case::new(image(&[(0x6803_f857, &table)], None, &[(78, &[2])]))
        }),
        ("snapshots", 65_535, &|name| Case {
            snapshot: Some("none".to_owned()),
            ..Case::new(snapshots(20, name, name))
        }),
        ("the snapshot that is asked for", 1 << 20, &|name| Case {
            snapshot: Some(name.to_owned()),
            ..Case::new(snapshots(20, "1", "then"))
        }),
        ("the format that is asked for", 1 << 20, &|name| Case { format: Some(name.to_owned()), ..Case::new(small()) }),
        ("the image itself, incomplete", 1 << 20, &|name| Case {
            name: Some(name.to_owned()),
            ..Case::new(image(&[], Some(BASE), &[]))
        }),
        ("the image itself, encrypted", 1 << 20, &|name| Case {
            name: Some(name.to_owned()),
            ..Case::new(luks(["aes", "xts-plain64", "sha256"]))
        }),
        ("a companion that is broken", 1 << 20, &|name| {
            over(None, BASE, "qcow2", (format!("{name}/{BASE}"), broken()))
        }),
        ("a companion in no known format", 1 << 20, &|name| {
            over(None, BASE, "", (format!("{name}/{BASE}"), numbered()))
        }),
        ("a companion that may be another one", 1 << 20, &|name| {
            let companion = (format!("{name}/disk.qcow2"), numbered());
            over(Some("vm/disk.qcow2".to_owned()), "../base/disk.qcow2", "raw", companion)
        }),
        ("a cipher", 32, &|name| locked([name, "xts-plain64", "sha256"])),
        ("a mode", 32, &|name| locked(["aes", name, "sha256"])),
        ("a hash", 32, &|name| locked(["aes", "xts-plain64", name])),
        ("a hash of initialisation vectors", 20, &|name| locked(["aes", &format!("cbc-essiv:{name}"), "sha256"])),
    ];
    let hidden = table().hidden;
    let is_hidden = |character| hidden.iter().any(|&(first, last)| (first..=last).contains(&u32::from(character)));
    let names = [
        "\u{1b}[31m\u{1b}]0;title\u{7}".to_owned(),
        "a\nfile format: raw\r".to_owned(),
        "\u{202e}fdp.\u{2066}\u{200b}\u{feff}\u{9b}2J".to_owned(),
        "x".repeat(1 << 20),
        "\n".repeat(1 << 20),
    ];
    for (place, most, case) in places {
        for name in &names {
            let name = fitting(name, *most);
            let messages = messages(case(name));
            for message in &messages {
                let start: String = message.chars().take(300).collect();
                assert!(message.chars().count() <= LONGEST_MESSAGE, "{place}: {} bytes: {start:?}", message.len());
                assert!(!message.contains(is_hidden), "{place}: {start:?}");
            }
            // For a long path, its end may be shown.
            let start: String = shown(name).chars().take(90).collect();
            assert!(messages.iter().any(|message| message.contains(&start)), "{place}: {messages:?}");
        }
    }
}
