//! Parses QEMU file names: paths, URLs and JSON descriptions. Nothing is opened by these names; the files handed over
//! are matched against them.

use crate::error::shown::shown;
use crate::error::{Error, Result};

/// QEMU drivers whose node has the plain bytes of a file.
const PROTOCOLS: [&str; 16] = [
    "file",
    "host_device",
    "host_cdrom",
    "http",
    "https",
    "ftp",
    "ftps",
    "nbd",
    "ssh",
    "nfs",
    "gluster",
    "rbd",
    "iscsi",
    "sheepdog",
    "vxhs",
    "nvme",
];
/// QEMU drivers that pass through the bytes of the node below.
const FILTERS: [&str; 4] = ["raw", "throttle", "copy-on-read", "preallocate"];
/// Options that name the file of a protocol driver.
const NAMES: [&str; 7] = ["filename", "url", "uri", "path", "image", "export", "vdi"];
/// Options that give a node other bytes than the file or image below it.
const CHANGES: [&str; 5] = ["offset", "size", "backing", "data-file", "snapshot"];

pub(super) struct Meaning {
    /// Possible paths of the file, likeliest first.
    pub(super) candidates: Vec<String>,
    /// The format, if the name states one.
    pub(super) format: Option<String>,
}

/// Whether QEMU reads a disk of format `name` as the plain bytes of its file.
pub(crate) fn is_protocol(name: &str) -> bool {
    PROTOCOLS.contains(&name)
}

/// Parses `name`. Fails with `unsupported` if it describes anything but the bytes of one file, or cannot be understood.
pub(super) fn meaning(name: &str) -> Result<Meaning> {
    match name.strip_prefix("json:") {
        Some(text) => described(text)
            .ok_or_else(|| Error::unsupported(format!("a backing file that it describes as '{}'", shown(name)))),
        None => Ok(Meaning { candidates: of_path(name), format: None }),
    }
}

/// Returns the possible paths of the file that `name`, a path or URL, refers to.
fn of_path(name: &str) -> Vec<String> {
    let path = name.strip_prefix("file:").unwrap_or(name);
    let mut candidates = vec![path.to_owned()];
    if path.contains("://") {
        let end = path.find(['?', '#']).unwrap_or(path.len());
        candidates.push(path[..end].to_owned());
        candidates.extend(percent_decoded(&path[..end]));
    }
    candidates.dedup();
    candidates
}

/// Parses a JSON description: the options of nested nodes, each node having the one below it as `file`.
fn described(text: &str) -> Option<Meaning> {
    let options = decant_json::paths(text)?;
    let get = |path: String| options.iter().find(|(name, _)| *name == path).map(|(_, value)| &value[..]);
    let mut node = String::new();
    let mut format: Option<String> = None;
    loop {
        let own = |(path, _): &&(String, String)| path.starts_with(&node);
        let is_change = |path: &str| {
            let name = &path[node.len()..];
            CHANGES
                .iter()
                .any(|change| name.strip_prefix(change).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
        };
        if options.iter().filter(own).any(|(path, _)| is_change(path)) {
            return None;
        }
        let driver = get(format!("{node}driver"));
        let below = format!("{node}file.");
        let has_below = options.iter().any(|(path, _)| path.starts_with(&below));
        let is_top = node.is_empty();
        match driver {
            None => {}
            Some(name) if !has_below && is_protocol(name) && !is_top => {}
            Some(name) if has_below && FILTERS.contains(&name) && !(is_top && name == "raw") => {}
            Some(name) if is_top => format = Some(name.to_owned()),
            Some(_) => return None,
        }
        if has_below {
            node = below;
            continue;
        }
        let name = NAMES.iter().find_map(|name| get(format!("{node}{name}")))?;
        return Some(Meaning { candidates: of_path(name), format });
    }
}

/// Percent-decodes `path`. Returns `None` if that changes nothing, or the result is not UTF-8.
pub(crate) fn percent_decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, others @ ..] = rest {
        let digits = others.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = &others[2..];
            }
            None => {
                bytes.push(*first);
                rest = others;
            }
        }
    }
    String::from_utf8(bytes).ok().filter(|decoded| decoded != path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_spelling() {
        // (name, candidates, format)
        let cases: &[(&str, &[&str], Option<&str>)] = &[
            ("base.qcow2", &["base.qcow2"], None),
            ("file:base.qcow2", &["base.qcow2"], None),
            ("C:\\vm\\base.qcow2", &["C:\\vm\\base.qcow2"], None),
            (
                "https://a.example/x/my%20disk.raw?versionId=3#a",
                &[
                    "https://a.example/x/my%20disk.raw?versionId=3#a",
                    "https://a.example/x/my%20disk.raw",
                    "https://a.example/x/my disk.raw",
                ],
                None,
            ),
            ("https://a.example/100%.raw", &["https://a.example/100%.raw"], None),
            (
                r#"json:{"driver":"qcow2","file":{"driver":"file","filename":"/vm/b.qcow2"}}"#,
                &["/vm/b.qcow2"],
                Some("qcow2"),
            ),
            (r#"json:{"file.filename":"b","driver":"qcow2"}"#, &["b"], Some("qcow2")),
            (r#"json:{"file":{"driver":"file","filename":"b"}}"#, &["b"], None),
            (
                r#"json:{"driver":"raw","file":{"driver":"host_device","filename":"/dev/vg/b"}}"#,
                &["/dev/vg/b"],
                Some("raw"),
            ),
            (r#"json:{"driver":"file","filename":"b"}"#, &["b"], Some("file")),
            (
                r#"json:{"driver":"nbd","export":"b","server":{"type":"inet","host":"h","port":"1"}}"#,
                &["b"],
                Some("nbd"),
            ),
            (r#"json:{"driver":"qcow2","file":{"driver":"rbd","pool":"p","image":"b"}}"#, &["b"], Some("qcow2")),
            (
                r#"json:{"driver":"qcow2","file":{"driver":"raw","file":{"driver":"file","filename":"b"}}}"#,
                &["b"],
                Some("qcow2"),
            ),
            (
                r#"json:{"driver":"qcow2","file":{"driver":"https","url":"https://h/b.qcow2?a"}}"#,
                &["https://h/b.qcow2?a", "https://h/b.qcow2"],
                Some("qcow2"),
            ),
        ];
        for (name, candidates, format) in cases {
            let found = meaning(name).unwrap();
            assert_eq!(found.candidates, *candidates, "{name}");
            assert_eq!(found.format.as_deref(), *format, "{name}");
        }
    }

    /// Descriptions of anything but the bytes of one file, and malformed ones.
    #[test]
    fn descriptions_that_are_refused() {
        for text in [
            r#"{"driver":"raw","offset":1048576,"file":{"driver":"file","filename":"b"}}"#,
            r#"{"driver":"raw","size":"512","file.filename":"b"}"#,
            r#"{"driver":"qcow2","backing":null,"file":{"driver":"file","filename":"b"}}"#,
            r#"{"driver":"qcow2","backing.driver":"raw","file":{"driver":"file","filename":"b"}}"#,
            r#"{"driver":"qcow2","file":{"driver":"raw","offset":512,"file":{"driver":"file","filename":"b"}}}"#,
            r#"{"driver":"raw","file":{"driver":"qcow2","file":{"driver":"file","filename":"b"}}}"#,
            r#"{"driver":"qcow2","file":{"driver":"luks","file":{"driver":"file","filename":"b"}}}"#,
            r#"{"driver":"qcow2","file":{"driver":"blkdebug","filename":"b"}}"#,
            r#"{"driver":"qcow2","file":"node0"}"#,
            r#"{"driver":"qcow2"}"#,
            "{",
            "",
        ] {
            let error = meaning(&format!("json:{text}")).err().unwrap_or_else(|| panic!("{text} is taken"));
            assert_eq!(error.kind, crate::ErrorKind::Unsupported, "{text}");
        }
    }
}
