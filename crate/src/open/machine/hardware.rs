//! The hardware that configurations of machines state, in the words of [`Hardware`]. Kinds of devices that other products lack become
//! similar ones.

use crate::disk::guest_os::GuestOs;
use crate::disk::hardware::{Hardware, MOST_ADAPTERS};
use crate::xml::{Tag, Tags};

const MIB: u64 = 1 << 20;
const EFI: &str = "efi";
const BIOS: &str = "bios";
/// Maximum number of items of an OVF descriptor that are read.
const MOST_ITEMS: usize = 1024;

/// Returns the hardware in a `.vmx`, whose values `get` returns by their keys in lower case.
pub(super) fn of_vmx<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Hardware {
    let is_true = |key: &str| get(key).is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let memory = get("memsize").and_then(|size| Hardware::memory_of(size, MIB));
    // Every machine states its memory, and other values only if they are not the default.
    let is_whole = memory.is_some();
    let firmware = match get("firmware") {
        Some(firmware) => Some(if firmware.eq_ignore_ascii_case(EFI) { EFI } else { BIOS }),
        None => is_whole.then_some(BIOS),
    };
    let adapters = (0..MOST_ADAPTERS).filter(|number| is_true(&format!("ethernet{number}.present")));
    let adapter = |number| adapter(get(&format!("ethernet{number}.virtualdev")).unwrap_or_default());
    Hardware {
        cpus: get("numvcpus").and_then(Hardware::cpus_of).or(is_whole.then_some(1)),
        memory,
        firmware,
        os: get("guestos").map(|id| GuestOs::of_id(id).name),
        controller: None,
        network: is_whole.then(|| adapters.map(adapter).collect()),
    }
}

/// Returns the kind of a controller of VMware, such as `scsi0`, whose type `virtual_dev` states.
pub(super) fn controller_of_vmx(controller: &str, virtual_dev: Option<&str>) -> Option<&'static str> {
    match controller.trim_end_matches(|digit: char| digit.is_ascii_digit()) {
        "scsi" => Some(scsi(virtual_dev.unwrap_or_default())),
        "sata" => Some("sata"),
        "nvme" => Some("nvme"),
        "ide" => Some("ide"),
        _ => None,
    }
}

/// Returns the kind of a SCSI controller that VMware or VirtualBox calls `name`.
fn scsi(name: &str) -> &'static str {
    match &*name.to_ascii_lowercase() {
        "lsisas1068" | "lsilogicsas" => "lsilogicsas",
        "pvscsi" | "virtualscsi" => "pvscsi",
        "buslogic" => "buslogic",
        _ => "lsilogic",
    }
}

/// Returns the type of a network adapter that VMware or VirtualBox calls `name`.
fn adapter(name: &str) -> &'static str {
    match &*name.to_ascii_lowercase() {
        "e1000e" => "E1000e",
        name if name.starts_with("vmxnet") => "VMXNET3",
        name if name.starts_with("am79c") => "PCNet32",
        "vlance" | "pcnet32" => "PCNet32",
        _ => "E1000",
    }
}

/// Adds what `tag` of the current state of a `.vbox` says to `hardware`.
pub(super) fn add_of_vbox(tag: &Tag<'_>, hardware: &mut Hardware) {
    match &*tag.name {
        "Machine" => hardware.os = hardware.os.or_else(|| Some(GuestOs::of_id(&tag.attribute("OSType")?).name)),
        "CPU" => {
            let count = tag.attribute("count");
            hardware.cpus = hardware.cpus.or_else(|| count.map_or(Some(1), |count| Hardware::cpus_of(&count)));
            // A machine with CPUs states its adapters, and the firmware only if it is not BIOS.
            hardware.network.get_or_insert_default();
            hardware.firmware.get_or_insert(BIOS);
        }
        "Memory" => {
            let size = || Hardware::memory_of(&tag.attribute("RAMSize")?, MIB);
            hardware.memory = hardware.memory.or_else(size);
        }
        "Firmware" if is_efi(tag) => hardware.firmware = Some(EFI),
        "Adapter" if tag.attribute("enabled").is_some_and(|value| value == "true" || value == "1") => {
            let network = hardware.network.get_or_insert_default();
            if network.len() < MOST_ADAPTERS {
                network.push(adapter(&tag.attribute("type").unwrap_or_default()));
            }
        }
        _ => {}
    }
}

/// Whether the `Firmware` of a machine of VirtualBox is one of its kinds of EFI.
fn is_efi(tag: &Tag<'_>) -> bool {
    tag.attribute("type").is_some_and(|kind| kind.to_ascii_uppercase().starts_with("EFI"))
}

/// Returns the kind of a `StorageController` of a `.vbox`.
pub(super) fn controller_of_vbox(tag: &Tag<'_>) -> Option<&'static str> {
    match &*tag.attribute("type")?.to_ascii_lowercase() {
        "ahci" | "intelahci" => Some("sata"),
        "piix3" | "piix4" | "ich6" => Some("ide"),
        "nvme" => Some("nvme"),
        "usb" | "i82078" => None,
        name => Some(scsi(name)),
    }
}

/// A resource of a machine in an OVF descriptor.
#[derive(Default)]
struct Item {
    id: Option<String>,
    resource_type: Option<String>,
    sub_type: String,
    quantity: Option<String>,
    units: Option<String>,
    parent: Option<String>,
    resource: Option<String>,
}

impl Item {
    fn add(&mut self, tag: &Tag<'_>) {
        let content = || tag.content();
        match &*tag.name {
            // Version 0.9 has the other spelling.
            "InstanceID" | "InstanceId" => self.id = content(),
            "ResourceType" => self.resource_type = content(),
            "ResourceSubType" => self.sub_type = content().unwrap_or_default().to_ascii_lowercase(),
            "VirtualQuantity" => self.quantity = content(),
            "AllocationUnits" => self.units = content(),
            "Parent" => self.parent = content(),
            "HostResource" => self.resource = content(),
            _ => {}
        }
    }

    fn memory(&self) -> Option<u64> {
        let unit = match self.units.as_deref().unwrap_or_default().trim() {
            "" => MIB,
            units => unit_of(units)?,
        };
        Hardware::memory_of(self.quantity.as_ref()?, unit)
    }

    fn controller(&self) -> Option<&'static str> {
        match self.resource_type.as_deref()? {
            "5" => Some("ide"),
            "6" => Some(scsi(&self.sub_type)),
            "20" if self.sub_type.contains("nvme") => Some("nvme"),
            "20" if self.sub_type.contains("ahci") || self.sub_type.contains("sata") => Some("sata"),
            _ => None,
        }
    }
}

/// The types of the resources that are drives for floppy disks, CDs and DVDs (CIM_ResourceAllocationSettingData).
const DRIVES: [&str; 3] = ["14", "15", "16"];

/// The hardware of a machine, and what its items state about the resources of its disks, such as `ovf:/disk/vmdisk1`.
pub(super) struct OvfHardware {
    pub(super) hardware: Hardware,
    /// The kinds of controllers, by the resources of the disks on them.
    pub(super) controllers: Vec<(String, &'static str)>,
    /// The resources in drives for floppy disks, CDs or DVDs.
    pub(super) in_drives: Vec<String>,
}

/// Reads the hardware of the first machine in an OVF descriptor.
pub(super) fn of_ovf(text: &str) -> OvfHardware {
    let (mut hardware, mut items, mut item) = (Hardware::default(), Vec::new(), None::<Item>);
    let (mut is_in_machine, mut os_of_vbox, mut cim) = (false, None, None);
    for tag in Tags::of(text) {
        match (&*tag.name, tag.is_end) {
            // Version 0.9 has the machine as content of that type.
            ("VirtualSystem" | "Content", is_end) => {
                if is_end && is_in_machine {
                    break;
                }
                is_in_machine = true;
            }
            _ if !is_in_machine => {}
            ("Item" | "StorageItem" | "EthernetPortItem", false) => item = Some(Item::default()),
            ("Item" | "StorageItem" | "EthernetPortItem", true) => items.extend(item.take()),
            (_, true) => {}
            ("OperatingSystemSection", false) => {
                cim = tag.attribute("id").and_then(|number| GuestOs::of_cim(number.trim().parse().ok()?));
                // Several systems have one ID in VMware.
                let of_id =
                    |id: String| cim.filter(|system| system.vmware == id).unwrap_or_else(|| GuestOs::of_id(&id));
                hardware.os = tag.attribute("osType").map(|id| of_id(id).name);
            }
            ("OSType", false) => os_of_vbox = tag.content().map(|id| GuestOs::of_id(&id).name),
            ("Config", false) if tag.attribute("key").is_some_and(|key| key == "firmware") => {
                let is_efi = tag.attribute("value").is_some_and(|value| value.eq_ignore_ascii_case(EFI));
                hardware.firmware = Some(if is_efi { EFI } else { BIOS });
            }
            ("Firmware", false) if is_efi(&tag) => hardware.firmware = Some(EFI),
            _ => {
                if let Some(item) = &mut item {
                    item.add(&tag);
                }
            }
        }
        if items.len() == MOST_ITEMS {
            break;
        }
    }
    hardware.os = hardware.os.or(os_of_vbox).or(cim.map(|system| system.name));
    let of_type = |number: &'static str| items.iter().filter(move |item| item.resource_type.as_deref() == Some(number));
    hardware.cpus = of_type("3").find_map(|item| Hardware::cpus_of(item.quantity.as_ref()?));
    hardware.memory = of_type("4").find_map(Item::memory);
    if !items.is_empty() {
        hardware.network = Some(of_type("10").take(MOST_ADAPTERS).map(|item| adapter(&item.sub_type)).collect());
    }
    let controller_of = |disk: &Item| {
        let parent = disk.parent.as_ref()?;
        let controller = items.iter().find(|item| item.id.as_ref() == Some(parent))?;
        Some((disk.resource.clone()?, controller.controller()?))
    };
    let controllers = of_type("17").filter_map(controller_of).collect();
    let in_drives = DRIVES.into_iter().flat_map(of_type).filter_map(|drive| drive.resource.clone()).collect();
    OvfHardware { hardware, controllers, in_drives }
}

/// Returns the bytes of a unit of DSP0004, such as `byte * 2^30`, or of version 0.9. Programs that write `MB` mean 2^20 bytes.
pub(super) fn unit_of(units: &str) -> Option<u64> {
    let units = units.trim().to_ascii_lowercase();
    match units.strip_suffix('s').unwrap_or(&units) {
        "" | "byte" => Some(1),
        "kb" | "kib" | "kilobyte" => Some(1 << 10),
        "mb" | "mib" | "megabyte" => Some(1 << 20),
        "gb" | "gib" | "gigabyte" => Some(1 << 30),
        "tb" | "tib" | "terabyte" => Some(1 << 40),
        other => product(other),
    }
}

/// Returns the product that follows `byte`: factors are numbers, or powers of numbers.
fn product(units: &str) -> Option<u64> {
    let factors = units.strip_prefix("byte")?;
    let factors = factors.strip_prefix('s').unwrap_or(factors).trim_start().strip_prefix('*')?;
    factors.split('*').try_fold(1, |product: u64, factor| {
        let factor = match factor.split_once('^') {
            None => factor.trim().parse().ok()?,
            Some((base, power)) => base.trim().parse::<u64>().ok()?.checked_pow(power.trim().parse().ok()?)?,
        };
        product.checked_mul(factor)
    })
}

#[cfg(test)]
mod tests {
    use super::super::Kind;
    use super::*;

    fn hardware(
        (cpus, memory, firmware): (u32, u64, &'static str),
        os: &'static str,
        controller: &'static str,
        network: &[&'static str],
    ) -> Hardware {
        Hardware {
            cpus: Some(cpus),
            memory: Some(memory * MIB),
            firmware: Some(firmware),
            os: Some(os),
            controller: Some(controller),
            network: Some(network.to_vec()),
        }
    }

    /// The hardware of the machine with its first disk.
    fn read(kind: Kind, text: &str) -> Hardware {
        let machine = kind.read(text);
        let with_disk = machine.disks.first().map(|disk| machine.hardware_with(disk).unwrap_or_default());
        with_disk.unwrap_or_else(|| machine.hardware.clone())
    }

    #[test]
    fn of_machines_of_vmware() {
        let disk = "nvme0:0.fileName = \"a.vmdk\"\n";
        // (text, hardware)
        let rows = [
            (
                "memsize = \"4096\"\nnumvcpus = \"4\"\nfirmware = \"efi\"\nguestOS = \"ubuntu-64\"\nscsi0.virtualDev = \"pvscsi\"\n\
                 scsi0:0.fileName = \"a.vmdk\"\nethernet0.present = \"TRUE\"\nethernet0.virtualDev = \"vmxnet3\"\n\
                 ethernet1.present = \"FALSE\"\nethernet1.virtualDev = \"e1000e\"\nethernet2.present = \"true\"",
                hardware((4, 4096, EFI), "ubuntu", "pvscsi", &["VMXNET3", "E1000"]),
            ),
            (
                "memsize = 512\nguestOS = \"windows9srv-64\"\nscsi1.virtualDev = \"lsisas1068\"\nscsi1:3.fileName = \"a.vmdk\"",
                hardware((1, 512, BIOS), "windows2016", "lsilogicsas", &[]),
            ),
            ("memsize=4\nguestos=dos\nide0:0.fileName=a", hardware((1, 4, BIOS), "other", "ide", &[])),
            ("memsize=4\nguestos=dos\nscsi0:0.fileName=a", hardware((1, 4, BIOS), "other", "lsilogic", &[])),
            ("memsize=4\nguestos=dos\nsata0:0.fileName=a", hardware((1, 4, BIOS), "other", "sata", &[])),
            ("scsi0.virtualDev=buslogic", Hardware::default()),
            ("memsize=-1\nnumvcpus=0", Hardware::default()),
            ("memsize=99999999999999999999\nnumvcpus=99999999999", Hardware::default()),
            (disk, Hardware { controller: Some("nvme"), ..Hardware::default() }),
        ];
        for (text, expected) in rows {
            assert_eq!(read(Kind::Vmx, text), expected, "{text}");
        }
    }

    #[test]
    fn of_machines_of_virtualbox() {
        let machine = |hardware: &str, controller: &str| {
            format!(
                "<VirtualBox><Machine OSType='Windows2019_64'><MediaRegistry><HardDisk uuid='1' location='a.vdi'/>\
                 </MediaRegistry><Snapshot><Hardware><CPU count='9'/><Memory RAMSize='9'/><Firmware type='EFI'/></Hardware>\
                 </Snapshot><Hardware>{hardware}<StorageControllers><StorageController type='{controller}'>\
                 <AttachedDevice type='HardDisk'><Image uuid='1'/></AttachedDevice></StorageController></StorageControllers>\
                 </Hardware></Machine></VirtualBox>"
            )
        };
        let usual = "<CPU count='2'/><Memory RAMSize='2048'/>";
        let adapters = "<Network><Adapter slot='0' enabled='true' type='82540EM'/><Adapter slot='1' enabled='true' \
                        type='Am79C973'/><Adapter slot='2' enabled='false' type='virtio'/></Network>";
        // (hardware, controller, expected)
        let rows = [
            (usual.to_owned(), "LsiLogicSas", hardware((2, 2048, BIOS), "windows2019", "lsilogicsas", &[])),
            (
                format!("<CPU/><Memory RAMSize='64'/><Firmware type='EFI64'/>{adapters}"),
                "AHCI",
                hardware((1, 64, EFI), "windows2019", "sata", &["E1000", "PCNet32"]),
            ),
            (usual.to_owned(), "PIIX4", hardware((2, 2048, BIOS), "windows2019", "ide", &[])),
            (usual.to_owned(), "NVMe", hardware((2, 2048, BIOS), "windows2019", "nvme", &[])),
            (usual.to_owned(), "VirtioSCSI", hardware((2, 2048, BIOS), "windows2019", "lsilogic", &[])),
            (String::new(), "USB", Hardware { os: Some("windows2019"), ..Hardware::default() }),
        ];
        for (of_machine, controller, expected) in rows {
            assert_eq!(read(Kind::Vbox, &machine(&of_machine, controller)), expected, "{of_machine} {controller}");
        }
    }

    #[test]
    fn of_descriptors() {
        let files = "<References><File id='f' href='a.vmdk'/></References><DiskSection><Disk diskId='d' fileRef='f'/></DiskSection>";
        let item = |kind: u32, more: &str| {
            format!("<Item><r:InstanceID>{kind}</r:InstanceID><r:ResourceType>{kind}</r:ResourceType>{more}</Item>")
        };
        let quantity = |count: &str| format!("<r:VirtualQuantity>{count}</r:VirtualQuantity>");
        let sub_type = |name: &str| format!("<r:ResourceSubType>{name}</r:ResourceSubType>");
        let units = |units: &str| format!("<r:AllocationUnits>{units}</r:AllocationUnits>");
        let disk = |parent: u32| {
            item(17, &format!("<r:Parent>{parent}</r:Parent><r:HostResource>ovf:/disk/d</r:HostResource>"))
        };
        let machine = |os: &str, items: &[String]| {
            format!(
                "{files}<VirtualSystem id='a'>{os}<VirtualHardwareSection>{}</VirtualHardwareSection></VirtualSystem>",
                items.concat()
            )
        };
        let (cpus, memory) = (item(3, &quantity("2")), item(4, &(units("byte * 2^20") + &quantity("2048"))));
        let ubuntu = "<OperatingSystemSection o:id='94'/>";
        let efi = "<vmw:Config key='firmware' value='efi'/>";
        let other = format!("<VirtualSystem id='b'>{}</VirtualSystem>", item(3, &quantity("7")));
        // (text, expected)
        let rows = [
            (
                machine(
                    &format!("{ubuntu}{efi}"),
                    &[
                        cpus.clone(),
                        memory.clone(),
                        item(6, &sub_type("VirtualSCSI")),
                        disk(6),
                        item(10, &sub_type("VmxNet3")),
                    ],
                ) + &other,
                hardware((2, 2048, EFI), "ubuntu", "pvscsi", &["VMXNET3"]),
            ),
            (
                machine(
                    "<OperatingSystemSection o:id='1' vmw:osType='windows2019srv_64Guest'/><vmw:Config key='firmware' value='bios'/>",
                    &[
                        cpus.clone(),
                        item(4, &(units("GigaBytes") + &quantity("3"))),
                        item(20, &sub_type("vmware.sata.ahci")),
                        disk(20),
                    ],
                ),
                hardware((2, 3072, BIOS), "windows2019", "sata", &[]),
            ),
            (
                machine(
                    "<OperatingSystemSection o:id='80'><vbox:OSType>Debian_64</vbox:OSType></OperatingSystemSection><vbox:Firmware type='EFI'/>",
                    &[
                        cpus.clone(),
                        item(4, &(units("MegaBytes") + &quantity("512"))),
                        item(5, ""),
                        disk(5),
                        item(10, &sub_type("PCNet32")),
                    ],
                ),
                hardware((2, 512, EFI), "debian", "ide", &["PCNet32"]),
            ),
            (
                machine(
                    "<OperatingSystemSection o:id='1'/>",
                    &[item(20, &sub_type("vmware.nvme.controller")), disk(20)],
                ),
                Hardware { controller: Some("nvme"), network: Some(Vec::new()), ..Hardware::default() },
            ),
            (
                machine("<OperatingSystemSection o:id='121' vmw:osType='windows9Server64Guest'/>", &[item(20, "")]),
                Hardware { os: Some("windows2019"), network: Some(Vec::new()), ..Hardware::default() },
            ),
            (machine("", &[]), Hardware::default()),
            (format!("{files}{cpus}{memory}"), Hardware::default()),
        ];
        for (text, expected) in rows {
            assert_eq!(read(Kind::Ovf, &text), expected, "{text}");
        }
        let many = item(10, "").repeat(5000);
        let network = read(Kind::Ovf, &machine("", &[many])).network;
        assert_eq!(network.map(|adapters| adapters.len()), Some(MOST_ADAPTERS));
    }
}
