//! The descriptor: a text that lists the extents of a disk (Virtual Disk Format 5.0, "The Descriptor File").

use super::sparse_header::size;
use crate::disk::info::Notice;
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::offsets::{GuestOffset, MAX_SIZE, SECTOR, before_nul};
use decant_text::decoded;

/// Maximum length of a descriptor, in bytes.
pub(super) const MAX_SIZE_OF_TEXT: u64 = 1 << 20;
/// Maximum number of extents of a disk.
const MAX_EXTENTS: usize = 4096;
/// The parent's content ID of a disk without a parent.
const NO_PARENT: u32 = u32::MAX;
const KNOWN_VERSIONS: std::ops::RangeInclusive<u32> = 1..=3;
const ENCRYPTING: &str = "vmwarevmcrypt";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Debug, Default)]
pub(crate) struct Descriptor {
    pub(super) version: Option<u32>,
    pub(super) cid: Option<u32>,
    pub(super) parent_cid: Option<u32>,
    pub(super) create_type: Option<String>,
    /// The parent's path.
    pub(super) parent_hint: Option<String>,
    /// The UUIDs of this disk and its parent, as recorded by VirtualBox.
    pub(super) uuid: Uuid,
    pub(super) parent_uuid: Uuid,
    /// The I/O filters between ESXi and the extents, except the encrypting one.
    io_filters: Vec<String>,
    is_encrypted: bool,
    /// Whether there is a line of the disk database, which follows the extents.
    has_database: bool,
    /// The reason to suppose that lines are lost; only known for a separate file.
    cut: Option<&'static str>,
    /// The file of the first extent of 0 sectors.
    empty: Option<String>,
    /// The extents, in guest order.
    pub(super) extents: Vec<ExtentLine>,
}

/// The UUIDs of a disk and of the state of its content.
#[derive(Debug, Default)]
pub(super) struct Uuid {
    pub(super) disk: Option<String>,
    pub(super) state: Option<String>,
}

/// The line of an extent.
#[derive(Debug)]
pub(super) struct ExtentLine {
    pub(super) access: Access,
    /// Its length and guest offset, in bytes.
    pub(super) len: u64,
    pub(super) start: GuestOffset,
    pub(super) type_name: String,
    pub(super) store: Store,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// RW or RDONLY.
    Readable,
    None,
}

/// The storage of an extent's data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Store {
    Zero,
    /// Plain bytes of a file, from `offset` (bytes) on.
    Flat {
        file: String,
        offset: u64,
    },
    /// A file with a grain directory.
    Sparse {
        file: String,
    },
}

/// Whether `head` is the start of a descriptor: it begins with VMware's comment, or its first line that is not a
/// comment is the version, a number. Other texts state versions such as 1.0.
pub(crate) fn is_start(head: &[u8]) -> bool {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    for line in head.split(|byte| matches!(byte, b'\n' | b'\r')).map(<[u8]>::trim_ascii) {
        match line {
            _ if starts_with(line, b"# Disk Descriptor") => return true,
            [] | [b'#', ..] => {}
            _ => return starts_with(line, b"version") && is_number(&line[7..]),
        }
    }
    false
}

/// Whether `value` is `= NUMBER`.
fn is_number(value: &[u8]) -> bool {
    let number = value.trim_ascii_start().strip_prefix(b"=").map_or(&b""[..], <[u8]>::trim_ascii);
    !number.is_empty() && number.iter().all(u8::is_ascii_digit)
}

fn starts_with(line: &[u8], word: &[u8]) -> bool {
    line.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

impl Descriptor {
    /// Parses the content of a file that is a descriptor alone. Fails as [`Self::parse`] does.
    pub(super) fn parse_file(bytes: &[u8], salvage: bool) -> Result<Self> {
        let mut descriptor = Self::parse(bytes, salvage)?;
        // QEMU appends NULs to a whole one.
        descriptor.cut = if !descriptor.has_database {
            Some("lacks the disk database, which follows the extents")
        } else if !before_nul(bytes).ends_with(b"\n") {
            Some("ends inside a line")
        } else {
            None
        };
        Ok(descriptor)
    }

    /// Parses `bytes` up to the first NUL. The first occurrence of a key takes precedence. Fails with `corrupt`,
    /// `unsupported` or `limit`. Ignores text after a NUL if the text before is whole, or with `salvage`.
    pub(super) fn parse(bytes: &[u8], salvage: bool) -> Result<Self> {
        let (all, bytes) = (bytes, before_nul(bytes));
        let has_more = all[bytes.len()..].iter().any(|&byte| byte != 0);
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        let encoding = stated_encoding(bytes);
        let mut descriptor = Self::default();
        for (number, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
            let line = text(line.trim_ascii(), encoding.as_deref());
            if !line.is_empty() && !line.starts_with('#') {
                descriptor.read_line(&line).map_err(|problem| problem.at(number + 1))?;
            }
        }
        // QEMU leaves the last bytes of the text before, where a content ID gets shorter.
        let is_whole = descriptor.has_database && bytes.ends_with(b"\n");
        if has_more && !is_whole && !salvage {
            let message = "The image is corrupt: a part of its descriptor was overwritten with zero bytes";
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        if descriptor.is_encrypted {
            return Err(Error::encrypted("VMware"));
        }
        Ok(descriptor)
    }

    /// Returns notices that a user should read before converting the disk.
    pub(crate) fn notices(&self) -> Vec<Notice> {
        let mut notices = Vec::new();
        if let Some(version) = self.version.filter(|version| !KNOWN_VERSIONS.contains(version)) {
            let message =
                format!("The descriptor has version {version}, which is unknown; the disk may be read wrongly");
            notices.push(Notice::new("unknown-descriptor-version", message).field("version", u64::from(version)));
        }
        if let Some(problem) = self.cut {
            let message = format!("The descriptor may be cut off, and the disk shorter than it was: it {problem}");
            notices.push(Notice::new("descriptor-cut", message));
        }
        if let Some(file) = &self.empty {
            let message =
                format!("The descriptor states 0 sectors for '{}'; the disk may be shorter than it was", shown(file));
            notices.push(Notice::new("extent-empty", message).field("extent", &**file));
        }
        if !self.io_filters.is_empty() {
            let names = self.io_filters.join(", ");
            let message = format!(
                "Writes went through the I/O filter '{}', which may have changed data or stored it elsewhere",
                shown(&names)
            );
            notices.push(Notice::new("unknown-io-filter", message).field("filters", &*names));
        }
        notices
    }

    /// The virtual size, in bytes.
    fn virtual_size(&self) -> u64 {
        self.extents.last().map_or(0, |last| (last.start + last.len).0)
    }

    /// The content ID of the parent, if there is a parent and the ID is recorded.
    pub(super) fn parent(&self) -> Option<u32> {
        self.parent_cid.filter(|&cid| cid != NO_PARENT)
    }

    /// Parses a line that is neither empty nor a comment.
    fn read_line(&mut self, line: &str) -> std::result::Result<(), Problem> {
        let (word, rest) = split_word(line);
        let access = match &*word.to_ascii_uppercase() {
            "RW" | "RDONLY" => Access::Readable,
            "NOACCESS" => Access::None,
            _ => return self.read_value(line),
        };
        let mut extent = ExtentLine::parse(access, rest)?;
        if extent.len == 0 {
            if let Store::Flat { file, .. } | Store::Sparse { file } = extent.store {
                self.empty.get_or_insert(file);
            }
            return Ok(());
        }
        if self.extents.len() >= MAX_EXTENTS {
            return Err(Problem::Refused(Error::new(
                ErrorKind::Limit,
                format!("The disk has more than {MAX_EXTENTS} extents"),
            )));
        }
        extent.start = GuestOffset(self.virtual_size());
        size((extent.start + extent.len).0 / SECTOR).map_err(Problem::Refused)?;
        self.extents.push(extent);
        Ok(())
    }

    /// Parses a line of the form KEY = VALUE.
    fn read_value(&mut self, line: &str) -> std::result::Result<(), Problem> {
        let (key, value) = line.split_once('=').ok_or(Problem::Unclear)?;
        let value = value.trim();
        let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
        let hexadecimal = |known: &mut Option<u32>| {
            let id = u32::from_str_radix(value, 16).map_err(|_| Problem::Unclear)?;
            known.get_or_insert(id);
            Ok(())
        };
        let set = |known: &mut Option<String>| {
            known.get_or_insert_with(|| value.to_owned());
        };
        let key = key.trim().to_ascii_lowercase();
        self.has_database |= key.starts_with("ddb.");
        match &*key {
            "version" => {
                self.version.get_or_insert(value.parse().map_err(|_| Problem::Unclear)?);
            }
            "cid" => hexadecimal(&mut self.cid)?,
            "parentcid" => hexadecimal(&mut self.parent_cid)?,
            "createtype" => set(&mut self.create_type),
            "parentfilenamehint" => set(&mut self.parent_hint),
            "ddb.uuid.image" => set_uuid(&mut self.uuid.disk, value)?,
            "ddb.uuid.modification" => set_uuid(&mut self.uuid.state, value)?,
            "ddb.uuid.parent" => set_uuid(&mut self.parent_uuid.disk, value)?,
            "ddb.uuid.parentmodification" => set_uuid(&mut self.parent_uuid.state, value)?,
            "ddb.iofilters" => {
                let names = value.split([',', ';']).map(str::trim).filter(|name| !name.is_empty());
                let (encrypting, others) = names.partition::<Vec<_>, _>(|name| name.eq_ignore_ascii_case(ENCRYPTING));
                self.is_encrypted |= !encrypting.is_empty();
                self.io_filters.extend(others.into_iter().map(str::to_owned));
            }
            key if key == "keyid" || key.starts_with("encryption") => self.is_encrypted |= !value.is_empty(),
            _ => {}
        }
        Ok(())
    }
}

impl ExtentLine {
    /// Parses a line after its access: SECTORS TYPE ["FILE" [OFFSET ...]].
    fn parse(access: Access, line: &str) -> std::result::Result<Self, Problem> {
        let (sectors, line) = split_word(line);
        let (type_name, line) = split_word(line);
        let sectors: u64 = sectors.parse().map_err(|_| Problem::Unclear)?;
        let len = sectors.checked_mul(SECTOR).filter(|&len| len <= MAX_SIZE).ok_or(Problem::Unclear)?;
        let store = match &*type_name.to_ascii_uppercase() {
            "ZERO" => Store::Zero,
            "FLAT" | "VMFS" => {
                let (file, rest) = quoted(line)?;
                let offset = split_word(rest).0;
                let offset = if offset.is_empty() { Some(0) } else { offset.parse().ok() };
                let offset = offset.and_then(|offset: u64| offset.checked_mul(SECTOR)).filter(|&at| at <= MAX_SIZE);
                Store::Flat { file, offset: offset.ok_or(Problem::Unclear)? }
            }
            "SPARSE" | "VMFSSPARSE" | "SESPARSE" => Store::Sparse { file: quoted(line)?.0 },
            "VMFSRDM" | "VMFSRAW" => return Err(device(type_name)),
            _ => {
                return Err(Problem::Refused(Error::unsupported(format!(
                    "an extent of the type {}",
                    shown(type_name)
                ))));
            }
        };
        Ok(Self { access, len, start: GuestOffset(0), type_name: type_name.to_owned(), store })
    }
}

/// Sets `known` to the UUID `value` in lower case, unless the UUID is null or `known` is set.
fn set_uuid(known: &mut Option<String>, value: &str) -> std::result::Result<(), Problem> {
    const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
    let digits = value.strip_prefix('{').and_then(|value| value.strip_suffix('}')).unwrap_or(value);
    let groups: Vec<&str> = digits.split('-').collect();
    let is_hexadecimal = |group: &&str| group.bytes().all(|digit| digit.is_ascii_hexdigit());
    if groups.iter().map(|group| group.len()).ne(GROUPS) || !groups.iter().all(is_hexadecimal) {
        return if value.is_empty() { Ok(()) } else { Err(Problem::Unclear) };
    }
    if digits.bytes().any(|digit| !matches!(digit, b'0' | b'-')) {
        known.get_or_insert_with(|| digits.to_ascii_lowercase());
    }
    Ok(())
}

/// The problem for a disk that is a device of another machine.
pub(super) fn device(what: &str) -> Problem {
    Problem::Refused(Error::unsupported(format!("a physical disk of the machine it was made on ({})", shown(what))))
}

pub(super) enum Problem {
    /// The line cannot be understood.
    Unclear,
    Refused(Error),
}

impl Problem {
    fn at(self, line: usize) -> Error {
        match self {
            Self::Unclear => {
                let message = format!("The image is corrupt: line {line} of its descriptor cannot be understood");
                Error::new(ErrorKind::Corrupt, message)
            }
            Self::Refused(error) => error,
        }
    }

    /// Returns the error, without a line number.
    pub(super) fn error(self) -> Error {
        self.at(0)
    }
}

/// Splits `line` after its first word.
fn split_word(line: &str) -> (&str, &str) {
    let line = line.trim_start();
    line.split_once([' ', '\t']).unwrap_or((line, ""))
}

/// Returns the name between the first and the last quote, and the rest of the line. Names may contain quotes.
fn quoted(line: &str) -> std::result::Result<(String, &str), Problem> {
    let (_, line) = line.split_once('"').ok_or(Problem::Unclear)?;
    let (name, rest) = line.rsplit_once('"').ok_or(Problem::Unclear)?;
    if name.is_empty() { Err(Problem::Unclear) } else { Ok((name.to_owned(), rest)) }
}

/// Returns the encoding that the descriptor `bytes` states.
fn stated_encoding(bytes: &[u8]) -> Option<String> {
    let mut lines =
        bytes.split(|&byte| byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok()?.split_once('='));
    let (_, value) = lines.find(|(key, _)| key.trim().eq_ignore_ascii_case("encoding"))?;
    Some(value.trim().trim_matches('"').to_owned())
}

/// Decodes `bytes` from the stated encoding. If it is missing or wrong, tries UTF-8 and then windows-1252, which VMware
/// uses on machines with that code page.
fn text(bytes: &[u8], encoding: Option<&str>) -> String {
    let labels = encoding.into_iter().chain(["utf-8", "windows-1252"]);
    labels.filter_map(|label| decoded(label, bytes)).next().unwrap_or_default()
}
