//! The configuration of a machine of VirtualBox (`.vbox`). Each `Image` of an attached hard disk states the `uuid` of a `HardDisk`, whose
//! `location` is the path. A `HardDisk` is in its parent.

use super::hardware::{add_of_vbox, controller_of_vbox};
use super::{Machine, MachineDisk, State, is_path};
use crate::disk::hardware::Hardware;
use crate::disk::name_index::NameIndex;
use crate::format::RAW;
use crate::xml::{Tag, Tags};

/// Maximum number of disks of a state, and of snapshots, that are read.
const MOST: usize = 256;
/// The properties of an encrypted `HardDisk`: the disks in it are encrypted, too.
const ENCRYPTED: [&str; 2] = ["CRYPT/KeyId", "CRYPT/KeyStore"];

/// A `HardDisk`.
struct Medium {
    id: String,
    path: Option<String>,
    is_raw: bool,
    is_encrypted: bool,
}

impl Medium {
    fn of(tag: &Tag<'_>, parent: Option<&Self>) -> Self {
        Self {
            id: tag.attribute("uuid").unwrap_or_default(),
            path: tag.attribute("location").filter(|path| is_path(path)),
            is_raw: tag.attribute("format").is_some_and(|format| format.eq_ignore_ascii_case(RAW.name)),
            is_encrypted: parent.is_some_and(|parent| parent.is_encrypted),
        }
    }
}

/// A state with the IDs of its disks.
#[derive(Default)]
struct Attached {
    id: String,
    name: String,
    date_seconds: i64,
    /// The IDs of the disks, with the kinds of their controllers.
    disks: Vec<(String, Option<&'static str>)>,
}

/// Reads a `.vbox`.
pub(super) fn read(text: &str) -> Machine {
    let (mut media, mut around) = (Vec::new(), Vec::<Medium>::new());
    // The current state, then the snapshots; the indices of those around the tag.
    let (mut states, mut inside) = (vec![Attached::default()], Vec::<usize>::new());
    let (mut name, mut is_encrypted, mut is_disk) = (None, false, false);
    let (mut hardware, mut controller) = (Hardware::default(), None);
    for tag in Tags::of(text) {
        if inside.is_empty() && !tag.is_end {
            add_of_vbox(&tag, &mut hardware);
        }
        match (&*tag.name, tag.is_end) {
            ("Machine", false) => name = name.or_else(|| tag.attribute("name")),
            ("MachineEncrypted", false) => is_encrypted = true,
            ("HardDisk", false) => around.push(Medium::of(&tag, around.last())),
            ("HardDisk", true) => media.extend(around.pop()),
            ("Property", false) => {
                let is_mark = tag.attribute("name").is_some_and(|name| ENCRYPTED.contains(&&*name));
                let is_set = tag.attribute("value").is_some_and(|value| !value.is_empty());
                if let Some(medium) = around.last_mut() {
                    medium.is_encrypted |= is_mark && is_set;
                }
            }
            ("Snapshot", false) => {
                inside.push(states.len());
                let date_seconds = tag.attribute("timeStamp").and_then(|date| seconds(&date)).unwrap_or(0);
                let text = |name| tag.attribute(name).unwrap_or_default();
                states.push(Attached { id: text("uuid"), name: text("name"), date_seconds, disks: Vec::new() });
            }
            ("Snapshot", true) => {
                inside.pop();
            }
            ("StorageController", false) => controller = controller_of_vbox(&tag),
            ("AttachedDevice", false) => {
                is_disk = tag.attribute("type").is_some_and(|kind| kind == "HardDisk");
            }
            ("Image", false) if is_disk => {
                let disks = &mut states[inside.last().copied().unwrap_or(0)].disks;
                let id = tag.attribute("uuid").filter(|_| disks.len() < MOST);
                disks.extend(id.map(|id| (id, controller)));
            }
            _ => {}
        }
    }
    // In a text that is cut off, media may still be open.
    media.extend(around.into_iter().rev());
    let index = NameIndex::new(media.iter().map(|medium| medium.id.clone()));
    let medium_of = |id: &str| index.find(id).last().map(|&at| &media[at]).filter(|medium| medium.path.is_some());
    let disk = |(id, controller): (String, Option<&'static str>)| {
        let medium = medium_of(&id);
        let format = medium.is_some_and(|medium| medium.is_raw).then_some(RAW.name);
        let path = medium.and_then(|medium| medium.path.clone()).unwrap_or(id);
        MachineDisk { format, controller, ..MachineDisk::at(path) }
    };
    let state = |Attached { id, name, date_seconds, disks }| {
        // A disk that only the registry of VirtualBox knows has its ID as a path, so it is missing; without any known disk, the files
        // beside the configuration are the disks.
        let is_any_known = disks.iter().any(|(id, _): &(String, _)| medium_of(id).is_some());
        let disks = disks.into_iter().filter(|_| is_any_known).map(disk).collect();
        State { id, name, date_seconds, disks }
    };
    let mut states = states.into_iter().take(MOST + 1).map(state);
    let disks = states.next().map_or_else(Vec::new, |current| current.disks);
    let states = states.collect();
    let encrypted =
        media.iter().filter(|medium| medium.is_encrypted).filter_map(|medium| medium.path.clone()).collect();
    Machine { name, hardware, disks, states, encrypted, is_encrypted }
}

/// Returns the seconds from 1970 to a time such as `2024-05-06T07:08:09Z`.
fn seconds(time: &str) -> Option<i64> {
    let mut numbers = time.trim_end_matches('Z').split(['-', 'T', ':']).map(|part| part.parse::<i64>());
    let mut next = |range: std::ops::RangeInclusive<i64>| numbers.next()?.ok().filter(|number| range.contains(number));
    let (year, month, day) = (next(1970..=9999)?, next(1..=12)?, next(1..=31)?);
    let (hour, minute, second) = (next(0..=23)?, next(0..=59)?, next(0..=60)?);
    // Years begin in March, so that a leap day is the last day of one.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attached(kind: &str, id: &str) -> String {
        format!("<AttachedDevice type=\"{kind}\" port=\"0\"><Image uuid=\"{{{id}}}\"/></AttachedDevice>")
    }

    fn machine() -> String {
        let disk = |id: &str| attached("HardDisk", id);
        format!(
            r#"<?xml version="1.0"?><VirtualBox version="1.19"><Machine uuid="{{9}}" name="a &amp; b" OSType="x"><MediaRegistry>
<HardDisks><HardDisk uuid="{{1}}" location="base.vdi" type="Normal"><HardDisk uuid="{{2}}" location="Snapshots/{{2}}.vdi"/></HardDisk>
<HardDisk uuid="{{4}}" location="x.img" format="RAW"/></HardDisks><DVDImages><Image uuid="{{3}}" location="cd.iso"/></DVDImages></MediaRegistry>
<Snapshot uuid="{{s1}}" name="one" timeStamp="2024-05-06T07:08:09Z"><Hardware>{}</Hardware><Snapshots><Snapshot name="two">{}
</Snapshot><Snapshot/></Snapshots></Snapshot><Hardware>{}{}</Hardware></Machine></VirtualBox>"#,
            disk("1"),
            disk("4"),
            disk("2"),
            attached("DVD", "3"),
        )
    }

    fn paths(disks: &[MachineDisk]) -> Vec<&str> {
        disks.iter().map(|disk| &*disk.path).collect()
    }

    #[test]
    fn the_disks_of_each_state() {
        let Machine { name, disks, states, encrypted, is_encrypted, .. } = read(&machine());
        assert_eq!((name.as_deref(), encrypted, is_encrypted), (Some("a & b"), vec![], false));
        assert_eq!(paths(&disks), ["Snapshots/{2}.vdi"]);
        let states: Vec<_> = states
            .iter()
            .map(|state| {
                (
                    &*state.id,
                    &*state.name,
                    state.date_seconds,
                    paths(&state.disks),
                    state.disks.first().and_then(|disk| disk.format),
                )
            })
            .collect();
        let expected = [
            ("{s1}", "one", 1_714_979_289, vec!["base.vdi"], None),
            ("", "two", 0, vec!["x.img"], Some("raw")),
            ("", "", 0, vec![], None),
        ];
        assert_eq!(states, expected);
    }

    #[test]
    fn times() {
        for (time, expected) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:00:00Z", Some(951_825_600)),
            ("2026-12-31T23:59:59Z", Some(1_798_761_599)),
            ("2026-13-31T23:59:59Z", None),
            ("99999-01-01T00:00:00Z", None),
            ("2026-12-31", None),
            ("", None),
        ] {
            assert_eq!(seconds(time), expected, "{time}");
        }
    }

    #[test]
    fn encrypted_disks() {
        let disk = |location: &str, content: &str| {
            format!("<HardDisk uuid='{{1}}' location='{location}'>{content}</HardDisk>")
        };
        let key = "<Property name=\"CRYPT/KeyId\" value=\"a\"/>";
        // (what, text, expected)
        let rows: &[(&str, String, &[&str])] = &[
            ("a key", disk("a.vdi", key), &["a.vdi"]),
            ("a key store", disk("a.vdi", "<Property name='CRYPT/KeyStore' value='b'></Property>"), &["a.vdi"]),
            ("an empty key", disk("a.vdi", "<Property name='CRYPT/KeyId' value=''/>"), &[]),
            ("another property", disk("a.vdi", "<Property name='SetupUuid' value='b'/>"), &[]),
            ("a child", disk("a.vdi", &format!("{key}{}", disk("b.vdi", ""))), &["b.vdi", "a.vdi"]),
            ("a child of a child", disk("a", &format!("{key}{}", disk("b", &disk("c", "")))), &["c", "b", "a"]),
            ("one of two children", disk("a", &format!("{}{}", disk("b", key), disk("c", ""))), &["b"]),
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
            ("hostile tags", format!("</HardDisk></HardDisk>{key}<HardDisk>{key}"), &[]),
        ];
        for (what, text, expected) in rows {
            let machine = read(text);
            assert_eq!(machine.encrypted, *expected, "{what}");
            assert!(!machine.is_encrypted, "{what}");
        }
        let text = "<VirtualBox ><MachineEncrypted uuid=\"{1}\">a</MachineEncrypted></VirtualBox>";
        assert!(read(text).is_encrypted);
    }
}
