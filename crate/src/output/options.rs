//! The options of output formats, named as in `qemu-img -o`.

use super::{OutputFormat, identifiers};
use crate::disk::sector_sizes::SectorSizes;
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};

/// An option of an output format.
#[derive(Clone, Copy)]
pub struct FormatOption {
    /// The name in `qemu-img -o`.
    pub name: &'static str,
    /// The supported values; the first one is the default.
    pub values: &'static [&'static str],
    /// Values that are not listed, if there are any.
    pub other: Option<OtherValues>,
}

/// The values of an option that has too many of them to list.
#[derive(Clone, Copy)]
pub struct OtherValues {
    /// A description of the values for people: "a number from 1 to 8".
    pub form: &'static str,
    /// Returns the value in its usual form; `None` if it is not valid.
    pub(super) read: fn(&str) -> Option<String>,
}

impl FormatOption {
    pub(super) const fn new(name: &'static str, values: &'static [&'static str]) -> Self {
        Self { name, values, other: None }
    }

    /// An option with other values than the listed ones, which are examples after the default.
    pub(super) const fn open(
        name: &'static str,
        values: &'static [&'static str],
        form: &'static str,
        read: fn(&str) -> Option<String>,
    ) -> Self {
        Self { name, values, other: Some(OtherValues { form, read }) }
    }

    /// The option for the UUID of the disk, which is random by default. All identifiers in the output are derived from it.
    pub(super) const UUID: Self =
        Self::open("uuid", &["random"], "a UUID, such as 8d5c4f0e-7a35-4b0c-9d2e-1f6a7b8c9d0e", |text| {
            identifiers::parsed(text).map(|_| text.to_owned())
        });

    /// The supported value that `given` means. Sizes may have any unit of `qemu-img`: `64k` is `65536`.
    fn value(&self, given: &str) -> Option<&'static str> {
        let given = SYNONYMS.iter().find(|(synonym, _)| *synonym == given).map_or(given, |&(_, value)| value);
        let size = size_of(given);
        self.values.iter().copied().find(|&value| value == given || size.is_some() && size == size_of(value))
    }
}

/// Other words for values, as `qemu-img` takes them.
const SYNONYMS: &[(&str, &str)] = &[
    ("yes", "on"),
    ("true", "on"),
    ("y", "on"),
    ("no", "off"),
    ("false", "off"),
    ("n", "off"),
    // `compat` of qcow2.
    ("v3", "1.1"),
    ("v2", "0.10"),
    // `hwversion` of VMDK.
    ("undefined", "4"),
];

/// The options of `qemu-img` that concern the file of every format, with the value that Decant writes.
pub(super) const OF_FILE: [FormatOption; 3] = [
    FormatOption::new("preallocation", &["off"]),
    FormatOption::new("nocow", &["off"]),
    FormatOption::new("extent_size_hint", &["0"]),
];

/// Options of `qemu-img` that Decant does not support at all, by the start of their names, with the reasons.
const UNSUPPORTED: &[(&str, &str)] = &[
    ("backing_", "the output contains the whole disk"),
    ("data_file", "the output is one file"),
    ("encrypt.", "the output is not encrypted"),
    ("size", "the disk keeps its size"),
];

/// The options of one output, checked, and what its layout needs to know of the disk besides its size.
pub struct Options {
    /// The listed values.
    listed: Vec<(&'static str, &'static str)>,
    /// The values that are not listed.
    other: Vec<(&'static str, String)>,
    sectors: SectorSizes,
}

impl Options {
    /// Checks the options `given` for `format`, as names and values. Fails with `usage` for an unknown option or value. Options of
    /// `qemu-img` that Decant does not have are accepted with the value that describes what it writes.
    pub fn new(format: &OutputFormat, given: &[(String, String)]) -> Result<Self> {
        for (name, value) in given {
            if format.options.iter().any(|option| option.name == name) {
                continue;
            }
            let implied = format.implied.iter().flat_map(|options| options.iter()).find(|option| option.name == name);
            let Some(option) = implied else { return Err(unknown_option(format, name)) };
            option.value(value).ok_or_else(|| unknown_value(format, option, value))?;
        }
        let last = |option: &FormatOption| given.iter().rev().find(|(name, _)| name == option.name);
        let mut options = Self { listed: Vec::new(), other: Vec::new(), sectors: SectorSizes::default() };
        for option in format.options {
            let value = match last(option) {
                Some((_, value)) => option.value(value).ok_or(value),
                None => Ok(option.values[0]),
            };
            match value {
                Ok(value) => options.listed.push((option.name, value)),
                Err(value) => {
                    let read = option.other.and_then(|other| (other.read)(value));
                    options.other.push((option.name, read.ok_or_else(|| unknown_value(format, option, value))?));
                }
            }
        }
        Ok(options)
    }

    /// The options that `format` recommends.
    pub fn recommended(format: &OutputFormat) -> Self {
        let chosen = |option: &FormatOption| {
            let recommended = format.recommended.iter().find(|(name, _)| *name == option.name);
            (option.name, recommended.map_or(option.values[0], |&(_, value)| value))
        };
        let listed = format.options.iter().map(chosen).collect();
        Self { listed, other: Vec::new(), sectors: SectorSizes::default() }
    }

    /// States the sizes of the disk's sectors. Without it, they are 512 bytes.
    #[must_use]
    pub fn with_sectors(self, sectors: SectorSizes) -> Self {
        Self { sectors, ..self }
    }

    /// The sizes of the disk's sectors.
    pub(super) fn sectors(&self) -> SectorSizes {
        self.sectors
    }

    /// The UUID of the disk, in the order of its text, if it is given.
    pub(super) fn uuid(&self) -> Option<[u8; 16]> {
        identifiers::parsed(self.text("uuid"))
    }

    /// The value of the option `name` of the format, in its usual form.
    pub(super) fn text(&self, name: &str) -> &str {
        self.other.iter().find(|(option, _)| *option == name).map_or_else(|| self.get(name), |(_, value)| value)
    }

    /// The value of the option `name` of the format, which has listed values only.
    pub(super) fn get(&self, name: &str) -> &'static str {
        self.listed.iter().find(|(option, _)| *option == name).map_or("", |(_, value)| value)
    }

    /// The value of the option `name`, a size in bytes.
    pub(super) fn size(&self, name: &str) -> u64 {
        size_of(self.get(name)).unwrap_or_default()
    }
}

/// Parses a size as `qemu-img` does: a number of bytes, or of `k`, `M` and so on.
fn size_of(text: &str) -> Option<u64> {
    let digits = text.len() - text.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let shift = match unit {
        "" | "b" | "B" => 0,
        "k" | "K" | "KiB" => 10,
        "m" | "M" | "MiB" => 20,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn usage(message: String) -> Error {
    Error::new(ErrorKind::Usage, message)
}

fn unknown_option(format: &OutputFormat, name: &str) -> Error {
    if let Some((_, reason)) = UNSUPPORTED.iter().find(|(start, _)| name.starts_with(start)) {
        return usage(format!("Decant does not support the option '{}': {reason}", shown(name)));
    }
    let names: Vec<_> = format.options.iter().map(|option| option.name).collect();
    let others = if names.is_empty() { String::new() } else { format!("; it has {}", names.join(", ")) };
    usage(format!("The output format {} has no option '{}'{others}", format.name, shown(name)))
}

fn unknown_value(format: &OutputFormat, option: &FormatOption, value: &str) -> Error {
    let values = match (option.values, option.other) {
        ([_], Some(other)) => format!("it is {}", other.form),
        (values, Some(other)) => format!("choose one of {}, or {}", values.join(", "), other.form),
        ([only], None) => format!("it is always {only}"),
        (values, None) => format!("choose one of {}", values.join(", ")),
    };
    usage(format!("'{}' is not a valid {} of the output format {}; {values}", shown(value), option.name, format.name))
}

#[cfg(test)]
mod tests {
    use super::size_of;

    #[test]
    fn sizes_are_those_of_qemu_img() {
        let cases = [
            ("65536", Some(65_536)),
            ("64k", Some(65_536)),
            ("64K", Some(65_536)),
            ("2M", Some(2 << 20)),
            ("512b", Some(512)),
            ("", None),
            ("k", None),
            ("64kk", None),
            ("-1", None),
            ("99999999999999999999", None),
            ("99999999999999999M", None),
            ("zlib", None),
        ];
        for (text, size) in cases {
            assert_eq!(size_of(text), size, "{text}");
        }
    }
}
