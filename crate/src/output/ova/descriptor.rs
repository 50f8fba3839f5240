//! The OVF descriptor of a machine (DSP0243, version 1.1: VMware Workstation, Forklift and Proxmox read no version 2).
//!
//! No text in it needs escapes: names and IDs are restricted where they are read.

use std::fmt::Write;

/// The disk format that VMware states for streamOptimized VMDKs.
const FORMAT: &str = "http://www.vmware.com/interfaces/specifications/vmdk.html#streamOptimized";
/// The name of the only network.
const NETWORK: &str = "VM Network";

/// Types of resources in CIM.
const CPU: u8 = 3;
const MEMORY: u8 = 4;
const ADAPTER: u8 = 10;
const DISK: u8 = 17;

/// A kind of disk controller.
#[derive(Debug)]
pub(super) struct Controller {
    /// Its name as an option.
    pub(super) name: &'static str,
    /// The name for people.
    title: &'static str,
    resource_type: u8,
    sub_type: Option<&'static str>,
    /// How many of them a machine has at most.
    most: usize,
    /// The addresses of disks on it.
    addresses: &'static [u8],
    /// The adapter in the descriptor of a VMDK.
    pub(super) adapter: &'static str,
}

const fn scsi(name: &'static str, sub_type: &'static str, adapter: &'static str) -> Controller {
    // The controller itself has address 7.
    const ADDRESSES: &[u8] = &[0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    Controller {
        name,
        title: "SCSI",
        resource_type: 6,
        sub_type: Some(sub_type),
        most: 1,
        addresses: ADDRESSES,
        adapter,
    }
}

/// Resource type 20 has controllers of several kinds, by their subtype.
const fn other(name: &'static str, title: &'static str, sub_type: &'static str) -> Controller {
    const ADDRESSES: &[u8] = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14];
    let sub_type = Some(sub_type);
    Controller { name, title, resource_type: 20, sub_type, most: 1, addresses: ADDRESSES, adapter: "lsilogic" }
}

pub(super) const LSI_LOGIC: Controller = scsi("lsilogic", "lsilogic", "lsilogic");
pub(super) const LSI_LOGIC_SAS: Controller = scsi("lsilogicsas", "lsilogicsas", "lsilogic");
pub(super) const CONTROLLERS: &[Controller] = &[
    LSI_LOGIC,
    LSI_LOGIC_SAS,
    scsi("pvscsi", "VirtualSCSI", "lsilogic"),
    scsi("buslogic", "buslogic", "buslogic"),
    other("sata", "SATA", "vmware.sata.ahci"),
    other("nvme", "NVMe", "vmware.nvme.controller"),
    Controller {
        name: "ide",
        title: "IDE",
        resource_type: 5,
        sub_type: None,
        most: 2,
        addresses: &[0, 1],
        adapter: "ide",
    },
];

impl Controller {
    /// How many disks a machine with such controllers has room for.
    pub(super) fn room(&self) -> usize {
        self.most * self.addresses.len()
    }
}

/// A virtual machine.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    /// The name of its files, without extensions.
    pub(super) name: String,
    pub(super) cpus: u32,
    /// In MiB.
    pub(super) memory: u64,
    /// "bios" or "efi".
    pub(super) firmware: &'static str,
    /// The number of its operating system in CIM, and the ID in VMware.
    pub(super) os: (u16, String),
    pub(super) controller: &'static Controller,
    /// The types of its network adapters.
    pub(super) adapters: Vec<String>,
    /// The version of VMware's hardware.
    pub(super) hardware: &'static str,
}

/// A disk of the machine.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    /// The name of its file.
    pub(super) file: String,
    /// The size of its file, in bytes.
    pub(super) size: u64,
    /// The size of the disk, in bytes.
    pub(super) capacity: u64,
}

impl Machine {
    /// The name of the descriptor's file.
    pub(super) fn descriptor_name(&self) -> String {
        format!("{}.ovf", self.name)
    }

    /// The name of the machine: Proxmox removes other characters from it.
    fn system(&self) -> String {
        self.name.replace(['_', '+', '='], "-")
    }

    /// The descriptor of the machine with `disks`. Its length does not depend on the sizes of files.
    pub(super) fn descriptor(&self, disks: &[Disk]) -> String {
        let mut text = String::new();
        // Writing to a text does not fail.
        let _ = self.write(disks, &mut text);
        text
    }

    fn write(&self, disks: &[Disk], text: &mut String) -> std::fmt::Result {
        let numbered = || (1..).zip(disks);
        // Forklift requires the namespace of VMware.
        text.push_str(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
             <Envelope xmlns=\"http://schemas.dmtf.org/ovf/envelope/1\" \
             xmlns:ovf=\"http://schemas.dmtf.org/ovf/envelope/1\" \
             xmlns:rasd=\"http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData\" \
             xmlns:vssd=\"http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_VirtualSystemSettingData\" \
             xmlns:vmw=\"http://www.vmware.com/schema/ovf\" \
             xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\">\n  <References>\n",
        );
        for (number, Disk { file, size, .. }) in numbered() {
            // Padded, so that the length of the descriptor is known before the size.
            let size = format!("\"{size}\"");
            writeln!(text, "    <File ovf:id=\"file{number}\" ovf:href=\"{file}\" ovf:size={size:<22}/>")?;
        }
        text.push_str("  </References>\n  <DiskSection>\n    <Info>Virtual disks</Info>\n");
        for (number, Disk { capacity, .. }) in numbered() {
            writeln!(
                text,
                "    <Disk ovf:diskId=\"vmdisk{number}\" ovf:fileRef=\"file{number}\" ovf:capacity=\"{capacity}\" \
                 ovf:capacityAllocationUnits=\"byte\" ovf:format=\"{FORMAT}\"/>"
            )?;
        }
        text.push_str("  </DiskSection>\n");
        if !self.adapters.is_empty() {
            writeln!(
                text,
                "  <NetworkSection>\n    <Info>Networks</Info>\n    <Network ovf:name=\"{NETWORK}\">\n      \
                 <Description>{NETWORK}</Description>\n    </Network>\n  </NetworkSection>"
            )?;
        }
        let (system, (cim, os), hardware) = (self.system(), &self.os, self.hardware);
        write!(
            text,
            "  <VirtualSystem ovf:id=\"{system}\">\n    <Info>A virtual machine</Info>\n    <Name>{system}</Name>\n    \
             <OperatingSystemSection ovf:id=\"{cim}\" vmw:osType=\"{os}\">\n      <Info>The operating system</Info>\n    \
             </OperatingSystemSection>\n    <VirtualHardwareSection>\n      <Info>Virtual hardware</Info>\n      \
             <System>\n        <vssd:ElementName>Virtual Hardware Family</vssd:ElementName>\n        \
             <vssd:InstanceID>0</vssd:InstanceID>\n        \
             <vssd:VirtualSystemIdentifier>{system}</vssd:VirtualSystemIdentifier>\n        \
             <vssd:VirtualSystemType>vmx-{hardware}</vssd:VirtualSystemType>\n      </System>\n"
        )?;
        self.items(disks.len(), text)?;
        writeln!(
            text,
            "      <vmw:Config ovf:required=\"false\" vmw:key=\"firmware\" vmw:value=\"{}\"/>\n    \
             </VirtualHardwareSection>\n  </VirtualSystem>\n</Envelope>",
            self.firmware
        )
    }

    /// Writes the resources of the machine. The elements of an item are in the order of their names.
    fn items(&self, disks: usize, text: &mut String) -> std::fmt::Result {
        let mut item = {
            let mut instance = 0_u32;
            move |elements: &[(&str, String)]| -> std::fmt::Result {
                instance += 1;
                let own = ("InstanceID", instance.to_string());
                let mut elements: Vec<_> = elements.iter().chain([&own]).collect();
                elements.sort_by_key(|(name, _)| *name);
                text.push_str("      <Item>\n");
                for (name, value) in elements {
                    writeln!(text, "        <rasd:{name}>{value}</rasd:{name}>")?;
                }
                text.push_str("      </Item>\n");
                Ok(())
            }
        };
        let Self { cpus, memory, controller, .. } = self;
        item(&[
            ("AllocationUnits", "hertz * 10^6".to_owned()),
            ("ElementName", format!("{cpus} virtual CPU(s)")),
            ("ResourceType", CPU.to_string()),
            ("VirtualQuantity", cpus.to_string()),
        ])?;
        item(&[
            // Other units stop VirtualBox, and others take the number for MiB whatever the unit is.
            ("AllocationUnits", "byte * 2^20".to_owned()),
            ("ElementName", format!("{memory}MB of memory")),
            ("ResourceType", MEMORY.to_string()),
            ("VirtualQuantity", memory.to_string()),
        ])?;
        // The third item.
        const CONTROLLER: usize = 3;
        let addresses = controller.addresses;
        for number in 0..disks.div_ceil(addresses.len()) {
            let sub_type = controller.sub_type.map(|sub_type| ("ResourceSubType", sub_type.to_owned()));
            let elements = [
                ("Address", number.to_string()),
                ("ElementName", format!("{} controller {number}", controller.title)),
                ("ResourceType", controller.resource_type.to_string()),
            ];
            item(&elements.into_iter().chain(sub_type).collect::<Vec<_>>())?;
        }
        for disk in 0..disks {
            item(&[
                ("AddressOnParent", addresses[disk % addresses.len()].to_string()),
                ("ElementName", format!("Hard disk {}", disk + 1)),
                ("HostResource", format!("ovf:/disk/vmdisk{}", disk + 1)),
                ("Parent", (CONTROLLER + disk / addresses.len()).to_string()),
                ("ResourceType", DISK.to_string()),
            ])?;
        }
        for (number, adapter) in (1_usize..).zip(&self.adapters) {
            item(&[
                ("AddressOnParent", (number + 6).to_string()),
                // Xen Orchestra adds no network without it, and Harvester needs the connection.
                ("AutomaticAllocation", "true".to_owned()),
                ("Connection", NETWORK.to_owned()),
                ("ElementName", format!("Network adapter {number}")),
                ("ResourceSubType", adapter.clone()),
                ("ResourceType", ADAPTER.to_string()),
            ])?;
        }
        Ok(())
    }
}
