//! The configuration of a machine of VMware (`.vmx`), and the list of its snapshots (`.vmsd`): lines such as
//! `scsi0:0.fileName = "disk.vmdk"`.

use super::hardware::{controller_of_vmx, of_vmx};
use super::{Machine, MachineDisk, State};

/// Maximum number of disks, and of snapshots, that are read.
const MOST: usize = 256;
/// The buses with disks.
const BUSES: [&str; 4] = ["scsi", "sata", "ide", "nvme"];
/// The key of a configuration with an encrypted part.
const ENCRYPTED: &str = "encryption.keysafe";

/// The values of a text, in the order in which their keys, in lower case, come first.
struct Values(Vec<(String, String)>);

impl Values {
    /// Reads lines as VMware does. If a key occurs twice, the last value counts.
    fn of(text: &str) -> Self {
        let mut lines: Vec<_> = text.split(['\r', '\n']).filter_map(entry).enumerate().collect();
        // The last line of each key, at the position of the first one.
        lines.sort_by(|(at, (key, _)), (other, (other_key, _))| key.cmp(other_key).then(at.cmp(other)));
        let mut values: Vec<(usize, (String, String))> = Vec::new();
        for (at, (key, value)) in lines {
            match values.last_mut() {
                Some((_, (last, known))) if *last == key => *known = value,
                _ => values.push((at, (key, value))),
            }
        }
        values.sort_by_key(|(at, _)| *at);
        Self(values.into_iter().map(|(_, entry)| entry).collect())
    }

    /// Sorted by their keys.
    fn index(&self) -> Index<'_> {
        let mut index: Vec<_> = self.0.iter().map(|(key, value)| (&**key, &**value)).collect();
        index.sort_unstable();
        Index(index)
    }
}

struct Index<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Index<'a> {
    fn get(&self, key: &str) -> Option<&'a str> {
        let at = self.0.binary_search_by_key(&key, |(key, _)| key).ok()?;
        Some(self.0[at].1)
    }

    fn is_false(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| value.eq_ignore_ascii_case("false"))
    }
}

/// Reads a line: a key, in lower case, and its value, which is in quotation marks, or ends at a comment.
fn entry(line: &str) -> Option<(String, String)> {
    let (key, value) = line.split_once('=')?;
    let (key, value) = (key.trim(), value.trim());
    let value = match value.strip_prefix('"') {
        Some(quoted) => &quoted[..quoted.find('"').unwrap_or(quoted.len())],
        None => value[..value.find('#').unwrap_or(value.len())].trim_end(),
    };
    (!key.starts_with('#')).then(|| (key.to_ascii_lowercase(), unescaped(value)))
}

/// Replaces a bar and two hexadecimal digits by the byte that these are.
fn unescaped(value: &str) -> String {
    let mut parts = value.split('|');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend(&part.as_bytes()[2..]);
            }
            None => {
                bytes.push(b'|');
                bytes.extend(part.as_bytes());
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| value.to_owned())
}

/// Returns the controller of `device`, such as `scsi0` of `scsi0:1`; `None` if it cannot be a disk.
fn controller(device: &str) -> Option<&str> {
    let (controller, number) = device.split_once(':')?;
    let bus = controller.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (BUSES.contains(&bus) && is_number(&controller[bus.len()..]) && is_number(number)).then_some(controller)
}

/// Reads a `.vmx`.
pub(super) fn read(text: &str) -> Machine {
    let values = Values::of(text);
    let index = values.index();
    let is_disk = |device: &str, controller: &str| {
        let kind = index.get(&format!("{device}.devicetype")).unwrap_or_default().to_ascii_lowercase();
        !kind.contains("cdrom")
            && !index.is_false(&format!("{device}.present"))
            && !index.is_false(&format!("{controller}.present"))
    };
    let disk = |(key, path): &(String, String)| {
        let device = key.strip_suffix(".filename")?;
        let controller = controller(device)?;
        let kind = controller_of_vmx(controller, index.get(&format!("{controller}.virtualdev")));
        (is_disk(device, controller) && !path.is_empty())
            .then(|| MachineDisk { controller: kind, ..MachineDisk::at(path.clone()) })
    };
    Machine {
        name: index.get("displayname").map(str::to_owned),
        hardware: of_vmx(|key| index.get(key)),
        disks: values.0.iter().filter_map(disk).take(MOST).collect(),
        is_encrypted: index.get(ENCRYPTED).is_some(),
        ..Machine::default()
    }
}

/// Reads a `.vmsd`: the snapshots, each with the files that its disks had.
pub(super) fn states(text: &str) -> Vec<State> {
    let values = Values::of(text);
    let index = values.index();
    let state = |at: usize| {
        let get = |key: &str| index.get(&format!("snapshot{at}.{key}"));
        let id = get("uid")?.to_owned();
        let path = |disk: usize| get(&format!("disk{disk}.filename")).filter(|path| !path.is_empty());
        let disks = (0..MOST).filter_map(path).map(|path| MachineDisk::at(path.to_owned())).collect();
        let half = |key: &str| get(key)?.trim().parse::<i64>().ok();
        // The time is in microseconds, as two numbers of 32 bits.
        let date = half("createtimehigh").zip(half("createtimelow"));
        let date = date.and_then(|(high, low)| high.checked_shl(32)?.checked_add(low & 0xffff_ffff));
        let date_seconds = date.map_or(0, |date| (date / 1_000_000).max(0));
        let name = get("displayname").unwrap_or_default().to_owned();
        Some(State { id, name, date_seconds, disks })
    };
    (0..MOST).filter_map(state).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const VMX: &str = r#".encoding = "UTF-8"
displayName = "My VM = 1"
scsi0.present = "TRUE"
scsi0:0.present = "TRUE"
scsi0:0.fileName = "vm-000002.vmdk"
SATA0:1.FILENAME="/vmfs/volumes/1/data.vmdk"
sata0:1.present = "FALSE"
nvme0:0.fileName = "fast disk.vmdk"
ide1:0.fileName = "boot.iso"
ide1:0.deviceType = "cdrom-image"
ide1:1.deviceType = "atapi-cdrom"
ide1:1.fileName = "auto detect"
floppy0.fileName = "a.flp"
serial0.fileName = "out.txt"
"#;

    fn disks(text: &str) -> Vec<String> {
        read(text).disks.into_iter().map(|disk| disk.path).collect()
    }

    #[test]
    fn the_disks_in_their_order() {
        let machine = read(VMX);
        assert_eq!((machine.name.as_deref(), machine.is_encrypted), (Some("My VM = 1"), false));
        assert_eq!(disks(VMX), ["vm-000002.vmdk", "fast disk.vmdk"]);
        assert_eq!(disks(&VMX.replace('\n', "\r\n")), ["vm-000002.vmdk", "fast disk.vmdk"]);
        // (what, text, expected)
        let rows: &[(&str, &str, &[&str])] = &[
            ("a comment after a value", "scsi0:0.fileName = \"a.vmdk\" # the first one", &["a.vmdk"]),
            ("a comment after a value without marks", "scsi0:0.fileName = a.vmdk # \"b.vmdk\"", &["a.vmdk"]),
            ("a comment", "# scsi0:0.fileName = \"a.vmdk\"\nsata0:0.fileName = \"b # c.vmdk\"", &["b # c.vmdk"]),
            ("escapes", "scsi0:0.fileName = \"a|22|7c|23|0Ab|C3|9f.vmdk\"", &["a\"|#\nbß.vmdk"]),
            ("no escapes", "scsi0:0.fileName = \"a|2|zz|ß|+1|\"", &["a|2|zz|ß|+1|"]),
            ("escapes that are no text", "scsi0:0.fileName = \"a|ff\"", &["a|ff"]),
            (
                "a controller that is absent",
                "scsi0.present = \"FALSE\"\nscsi0:0.fileName = \"a\"\nscsi1:0.fileName = \"b\"",
                &["b"],
            ),
            ("a controller that is absent, after it", "sata1:3.fileName = \"a\"\nsata1.present=\"false\"", &[]),
            (
                "a key twice",
                "scsi0:0.fileName = \"a\"\nscsi0:1.fileName = \"b\"\nscsi0:0.fileName = \"c\"",
                &["c", "b"],
            ),
            ("no file", "scsi0:0.fileName = \"\"", &[]),
            ("no end", "scsi0:0.fileName = \"a b", &["a b"]),
            (
                "other devices",
                "scsi:0.fileName = \"a\"\nscsi0:.fileName = \"a\"\nxscsi0:0.fileName = \"a\"\nscsi0:0x.fileName = \"a\"",
                &[],
            ),
            ("no text", "=\n==\n\u{fffd}=\"\n.fileName\nscsi0:0.fileNam", &[]),
        ];
        for (what, text, expected) in rows {
            assert_eq!(disks(text), *expected, "{what}");
        }
        let many: String = (0..400).map(|at| format!("scsi0:{at}.fileName = \"{at}\"\n")).collect();
        assert_eq!(disks(&many).len(), MOST);
        assert!(read("encryption.keySafe = \"vmware:key/list/\"\nencryption.data = \"a\"").is_encrypted);
    }

    #[test]
    fn the_snapshots_of_a_list() {
        let text = r#".encoding = "UTF-8"
snapshot.lastUID = "2"
snapshot.current = "2"
snapshot0.uid = "1"
snapshot0.displayName = "Before = update"
snapshot0.createTimeHigh = "396000"
snapshot0.createTimeLow = "-5"
snapshot0.numDisks = "2"
snapshot0.disk0.fileName = "vm.vmdk"
snapshot0.disk0.node = "scsi0:0"
snapshot0.disk1.fileName = "data.vmdk"
snapshot1.uid = "2"
snapshot1.disk0.fileName = "vm-000001.vmdk"
snapshot1.disk1.fileName = "data.vmdk"
snapshot.numSnapshots = "2"
"#;
        let found = states(text).into_iter().map(|State { id, name, date_seconds, disks }| {
            (id, name, date_seconds, disks.into_iter().map(|disk| disk.path).collect::<Vec<_>>())
        });
        let expected: [(&str, &str, i64, &[&str]); 2] = [
            ("1", "Before = update", 1_700_811_344, &["vm.vmdk", "data.vmdk"]),
            ("2", "", 0, &["vm-000001.vmdk", "data.vmdk"]),
        ];
        assert_eq!(found.len(), expected.len());
        for ((id, name, date, disks), expected) in found.zip(expected) {
            let disks: Vec<_> = disks.iter().map(String::as_str).collect();
            assert_eq!((&*id, &*name, date, &disks[..]), expected);
        }
        assert!(states("snapshot0.createTimeHigh = \"9223372036854775807\"").is_empty());
        assert_eq!(
            states("snapshot0.uid=1\nsnapshot0.createTimeHigh=9223372036854775807\nsnapshot0.createTimeLow=1").len(),
            1
        );
    }
}
