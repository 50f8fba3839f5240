//! The operating systems of virtual machines, as configurations of VMware, VirtualBox and OVF state them.

/// An operating system.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct GuestOs {
    /// Its name in the API.
    pub(crate) name: &'static str,
    /// Its number in `OsType` of CIM, which OVF states.
    pub(crate) cim: u16,
    /// Its ID in OVF descriptors of VMware. Hardware version 13 knows all of them.
    pub(crate) vmware: &'static str,
    /// How its names in VMware and VirtualBox start, in lower case.
    starts: &'static [&'static str],
}

const fn os(name: &'static str, cim: u16, vmware: &'static str, starts: &'static [&'static str]) -> GuestOs {
    GuestOs { name, cim, vmware, starts }
}

/// All systems, the default first. The first one with a matching start counts, so longer starts are before shorter ones.
const SYSTEMS: &[GuestOs] = &[
    LINUX,
    os("ubuntu", 94, "ubuntu64Guest", &["ubuntu", "xubuntu"]),
    os("debian", 96, "debian10_64Guest", &["debian"]),
    os("centos", 107, "centos64Guest", &["centos"]),
    os("rhel", 80, "rhel7_64Guest", &["rhel", "redhat"]),
    os("sles", 85, "sles12_64Guest", &["sles", "suse_le"]),
    os("freebsd", 78, "freebsd64Guest", &["freebsd"]),
    os("windows2022", 123, "windows9Server64Guest", &["windows2022", "windows2019srvnext"]),
    os("windows2019", 121, "windows9Server64Guest", &["windows2019"]),
    os("windows2016", 116, "windows9Server64Guest", &["windows2016", "windows9server", "windows9srv"]),
    os("windows2012", 112, "windows8Server64Guest", &["windows2012", "windows8server", "windows8srv"]),
    os("windows2008r2", 103, "windows7Server64Guest", &["windows2008", "windows7server", "windows7srv"]),
    os("windows11", 122, "windows9_64Guest", &["windows11"]),
    os("windows10", 120, "windows9_64Guest", &["windows10", "windows9"]),
    os("windows8", 114, "windows8_64Guest", &["windows8"]),
    os("windows7", 105, "windows7_64Guest", &["windows7"]),
    OTHER,
];

/// The names of all systems, the default first.
pub(crate) const NAMES: &[&str] = &{
    let (mut names, mut number) = ([""; SYSTEMS.len()], 0);
    while number < names.len() {
        names[number] = SYSTEMS[number].name;
        number += 1;
    }
    names
};

const LINUX: GuestOs = os("linux", 101, "otherLinux64Guest", &[]);
const OTHER: GuestOs = os("other", 102, "otherGuest64", &[]);

/// Parts of the names of other Linux systems, in lower case.
const LINUX_NAMES: &[&str] =
    &["linux", "fedora", "suse", "mandriva", "mandrake", "turbo", "gentoo", "nld9", "sjds", "photon", "crx", "asianux"];

impl GuestOs {
    /// The system `name`, one of [`NAMES`].
    pub(crate) fn by_name(name: &str) -> Option<&'static Self> {
        SYSTEMS.iter().find(|system| system.name == name)
    }

    /// The system that VMware or VirtualBox calls `id`: `ubuntu-64`, `ubuntu64Guest`, `Ubuntu_64`.
    pub(crate) fn of_id(id: &str) -> &'static Self {
        let id = id.trim().to_ascii_lowercase();
        let starts = |system: &&Self| system.starts.iter().any(|start| id.starts_with(start));
        let other = if LINUX_NAMES.iter().any(|name| id.contains(name)) { &LINUX } else { &OTHER };
        SYSTEMS.iter().find(starts).unwrap_or(other)
    }

    /// The system with this number in CIM, if it is one of ours.
    pub(crate) fn of_cim(number: u16) -> Option<&'static Self> {
        match number {
            // Linux, and Linux 2.4 and 2.6, with 32 or 64 bits.
            36 | 97..=100 => Some(&LINUX),
            // The same systems with 32 bits.
            42 | 79 | 84 | 93 | 95 | 106 => Self::of_cim(match number {
                42 => 78,
                other => other + 1,
            }),
            _ => SYSTEMS.iter().find(|system| system.cim == number),
        }
    }

    pub(crate) fn is_windows(&self) -> bool {
        self.name.starts_with("windows")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_system_has_its_name_and_number() {
        assert_eq!((NAMES.len(), NAMES[0]), (SYSTEMS.len(), "linux"));
        for (system, name) in SYSTEMS.iter().zip(NAMES) {
            assert_eq!(GuestOs::by_name(name), Some(system));
            assert_eq!(GuestOs::of_cim(system.cim), Some(system));
        }
    }

    #[test]
    fn systems_of_configurations() {
        // (IDs, the name)
        let rows: &[(&[&str], &str)] = &[
            (&["ubuntu-64", "ubuntu64Guest", "ubuntu", "Ubuntu_64", "Ubuntu22_LTS_64"], "ubuntu"),
            (&["debian11-64", "debian10_64Guest", "Debian_64", "Debian12_64"], "debian"),
            (&["centos7-64", "centos64Guest", "CentOS"], "centos"),
            (&["rhel8-64", "rhel7_64Guest", "RedHat_64"], "rhel"),
            (&["sles15-64", "sles12_64Guest", "SUSE_LE_64"], "sles"),
            (
                &[
                    "other4xlinux-64",
                    "otherLinux64Guest",
                    "fedora64Guest",
                    "opensuse-64",
                    "Linux26_64",
                    "Fedora_64",
                    "oracleLinux7_64Guest",
                    "vmware-photon-64",
                ],
                "linux",
            ),
            (&["freebsd12-64", "FreeBSD_64"], "freebsd"),
            (&["windows9-64", "windows9_64Guest", "Windows10_64"], "windows10"),
            (&["windows11-64", "windows11_64Guest", "Windows11_64"], "windows11"),
            (&["windows9srv-64", "windows9Server64Guest", "Windows2016_64"], "windows2016"),
            (&["windows2019srv-64", "windows2019srv_64Guest", "Windows2019_64"], "windows2019"),
            (&["windows2019srvNext-64", "windows2019srvNext_64Guest", "Windows2022_64"], "windows2022"),
            (&["windows8srv-64", "windows8Server64Guest", "Windows2012_64"], "windows2012"),
            (&["windows7srv-64", "windows7Server64Guest", "Windows2008_64"], "windows2008r2"),
            (&["windows8-64", "Windows81_64"], "windows8"),
            (&["windows7-64", "Windows7_64"], "windows7"),
            (&["winXPPro", "other-64", "otherGuest64", "solaris11-64", "Other_64", "DOS", "", "é"], "other"),
        ];
        for (ids, name) in rows {
            for id in *ids {
                assert_eq!(GuestOs::of_id(id).name, *name, "{id}");
            }
        }
        for (number, name) in
            [(36, Some("linux")), (93, Some("ubuntu")), (42, Some("freebsd")), (1, None), (9999, None)]
        {
            assert_eq!(GuestOs::of_cim(number).map(|system| system.name), name, "{number}");
        }
    }
}
