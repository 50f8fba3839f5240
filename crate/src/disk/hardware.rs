//! The hardware of a virtual machine, as its configuration states it.

use serde::Serialize;

/// The hardware of a virtual machine; `None` for what its configuration does not state. The names are those of the options of outputs
/// with hardware.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Hardware {
    /// The number of CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// The memory, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// The firmware: "bios" or "efi".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<&'static str>,
    /// The operating system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub os: Option<&'static str>,
    /// The controller of the disk that is opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<&'static str>,
    /// The types of the network adapters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Vec<&'static str>>,
}

/// The largest number of CPUs that a configuration may state: VirtualBox reads no more.
pub(crate) const MOST_CPUS: u32 = 65_534;
/// The largest number of network adapters: VMware has no more.
pub(crate) const MOST_ADAPTERS: usize = 10;
/// The types of network adapters that OVF descriptors state.
pub(crate) const ADAPTERS: &[&str] = &["E1000", "E1000e", "VMXNET3", "PCNet32"];
/// The largest memory that is stated, in bytes: 64 TiB.
pub(crate) const MOST_MEMORY: u64 = 64 << 40;

const MIB: u64 = 1 << 20;

impl Hardware {
    /// The number of CPUs that `text` states.
    pub(crate) fn cpus_of(text: &str) -> Option<u32> {
        text.trim().parse().ok().filter(|count| (1..=MOST_CPUS).contains(count))
    }

    /// The memory that `text` states, a number of `unit` bytes. It is a whole number of MiB.
    pub(crate) fn memory_of(text: &str, unit: u64) -> Option<u64> {
        let bytes = text.trim().parse::<u64>().ok()?.checked_mul(unit)?;
        (bytes > 0 && bytes <= MOST_MEMORY && bytes.is_multiple_of(MIB)).then_some(bytes)
    }
}
