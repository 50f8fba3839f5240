// Hypervisors: what each accepts, and the commands that make a machine of the disks there.

import type { NextCommand } from '../public/types.places.js';
import {
  busOf,
  DYNAMIC_VHD,
  FIXED_VHD,
  GIB,
  type KnownPlace,
  type Machine,
  machineIn,
  numbered,
  OVA,
  QCOW2,
  RAW,
  RAW_GZ,
  RAW_XZ,
  RAW_ZST,
  USUAL_MEMORY,
  VDI,
  VHDX,
  VMDK,
} from './place.js';
import { comment, json, powershell, sh, type Word, word } from './words.js';

/** The pages about drivers of virtio that hold for every host with KVM. */
const VIRTIO = {
  name: 'virtio',
  windows: 'https://docs.fedoraproject.org/en-US/quick-docs/creating-windows-virtual-machines-using-virtio-drivers/',
  linux: 'https://libguestfs.org/virt-v2v.1.html',
};
const VIRTIO_OF_KUBEVIRT = {
  ...VIRTIO,
  windows: 'https://kubevirt.io/user-guide/user_workloads/windows_virtio_drivers/',
};

export const raw: KnownPlace = { name: 'raw', label: 'a raw disk', formats: [RAW], limits: [] };

/** A value in one of virt-install's lists, which it splits as a shell does, at commas. */
const inList = (text: string): string =>
  /^[\w@%+:./-]+$/.test(text) ? text : `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;

export const kvm: KnownPlace = {
  name: 'kvm',
  label: 'KVM',
  formats: [QCOW2, RAW],
  limits: [],
  drivers: VIRTIO,
  next: {
    commands(machine) {
      const { name, cpus, memory = USUAL_MEMORY, firmware, disks } = machine;
      const all = disks.flatMap((disk) => {
        const bus = busOf(machine, disk);
        return ['--disk', `path=${inList(disk.path)}${bus ? `,bus=${bus}` : ''}`];
      });
      const hardware = [...(cpus ? ['--vcpus', cpus] : []), ...(firmware === 'efi' ? ['--boot', 'uefi'] : [])];
      return [
        sh`virt-install --name ${name} --memory ${memory} ${hardware} --import ${all} --osinfo detect=on,require=off`,
      ];
    },
  },
};

/** Systems in Proxmox's words. */
const PROXMOX_OS: Record<string, string> = {
  windows2022: 'win11',
  windows11: 'win11',
  windows2019: 'win10',
  windows2016: 'win10',
  windows10: 'win10',
  windows2012: 'win8',
  windows8: 'win8',
  windows2008r2: 'win7',
  windows7: 'win7',
};

/** How many disks a bus has there, of those that need no drivers. */
const PROXMOX_SLOTS: Record<string, number> = { ide: 4, sata: 6 };

export const proxmox: KnownPlace = {
  name: 'proxmox',
  label: 'Proxmox VE',
  formats: [QCOW2, RAW, VMDK, OVA],
  limits: [],
  drivers: { ...VIRTIO, linux: 'https://pve.proxmox.com/wiki/Migrate_to_Proxmox_VE' },
  next: {
    commands(machine, own) {
      const { name, cpus, memory = USUAL_MEMORY, firmware, os, system, disks } = machine;
      const [id, storage] = [own('VMID'), own('STORAGE')];
      const efi: (string | Word)[] =
        firmware === 'efi' ? ['--bios', 'ovmf', '--machine', 'q35', '--efidisk0', word`${storage}:1,efitype=4m`] : [];
      if (disks[0].format === OVA.name) {
        return disks.flatMap((ova, at) => {
          const [folder, id] = [machineIn(machine, ova), own(numbered('VMID', at))];
          return [
            sh`mkdir ${folder}`,
            sh`tar -xf ${ova.path} -C ${folder}`,
            sh`qm importovf ${id} ${folder}/*.ovf ${storage}`,
            ...(efi.length > 0 ? [sh`qm set ${id} ${efi}`] : []),
          ];
        });
      }
      const type = PROXMOX_OS[os ?? ''] ?? (system === 'linux' ? 'l26' : undefined);
      const card = system === 'windows' ? 'e1000' : 'virtio';
      const hardware = [...(cpus ? ['--cores', cpus] : []), ...(type ? ['--ostype', type] : []), ...efi];
      const slots = disks.map((disk, at) => {
        const bus = busOf(machine, disk);
        return `${bus && at < (PROXMOX_SLOTS[bus] ?? 0) ? bus : 'scsi'}${at}`;
      });
      return [
        sh`qm create ${id} --name ${name} --memory ${memory} ${hardware} --scsihw virtio-scsi-single --net0 ${card},bridge=vmbr0`,
        ...disks.map(({ path }, at) => sh`qm disk import ${id} ${path} ${storage} --target-disk ${slots[at]!}`),
        sh`qm set ${id} --boot order=${slots[0]!}`,
      ];
    },
  },
};

export const vmware: KnownPlace = {
  name: 'vmware',
  label: 'VMware',
  formats: [VMDK, OVA],
  limits: [],
  drivers: {
    name: 'VMware',
    windows:
      'https://techdocs.broadcom.com/us/en/vmware-cis/vsphere/tools/12-4-0/vmware-tools-administration-12-4-0/introduction-to-vmware-tools/vmware-tools-device-drivers.html',
  },
  next: {
    commands: (machine, own) =>
      machine.disks.map((disk) =>
        disk.format === OVA.name
          ? sh`ovftool --name=${machineIn(machine, disk)} --datastore=${own('DATASTORE')} ${disk.path} ${word`vi://${own('HOST')}/`}`
          : sh`vmkfstools -i ${disk.path} -d thin ${disk.name}-disk.vmdk`,
      ),
  },
};

/** Systems in VirtualBox's words. */
const VIRTUALBOX_OS: Record<string, string> = {
  linux: 'Linux_64',
  ubuntu: 'Ubuntu_64',
  debian: 'Debian_64',
  centos: 'RedHat_64',
  rhel: 'RedHat_64',
  sles: 'OpenSUSE_64',
  freebsd: 'FreeBSD_64',
  windows2022: 'Windows2022_64',
  windows2019: 'Windows2019_64',
  windows2016: 'Windows2016_64',
  windows2012: 'Windows2012_64',
  windows2008r2: 'Windows2008_64',
  windows11: 'Windows11_64',
  windows10: 'Windows10_64',
  windows8: 'Windows8_64',
  windows7: 'Windows7_64',
};

/** Controllers in VirtualBox's words: the bus and the type. */
const VIRTUALBOX_CONTROLLERS: Record<string, [bus: string, type: string]> = {
  ide: ['ide', 'PIIX4'],
  nvme: ['pcie', 'NVMe'],
  lsilogic: ['scsi', 'LSILogic'],
  lsilogicsas: ['sas', 'LSILogicSAS'],
  buslogic: ['scsi', 'BusLogic'],
};
const VIRTUALBOX_SATA: [bus: string, type: string] = ['sata', 'IntelAHCI'];

function commandsOfVirtualBox(machine: Machine): NextCommand[] {
  const { name, cpus, memory = USUAL_MEMORY, firmware, os, disks } = machine;
  const efi = (name: string) => (firmware === 'efi' ? [sh`VBoxManage modifyvm ${name} --firmware efi`] : []);
  if (disks[0].format === OVA.name) {
    return disks.flatMap((ova) => {
      const name = machineIn(machine, ova);
      // VirtualBox ignores the firmware of an OVA.
      return [sh`VBoxManage import ${ova.path} --vsys 0 --vmname ${name}`, ...efi(name)];
    });
  }
  const [bus, type] = VIRTUALBOX_CONTROLLERS[disks[0].controller ?? ''] ?? VIRTUALBOX_SATA;
  return [
    sh`VBoxManage createvm --name ${name} --ostype ${VIRTUALBOX_OS[os ?? ''] ?? 'Other_64'} --register`,
    sh`VBoxManage modifyvm ${name} --cpus ${cpus ?? 1} --memory ${memory} --nic1 nat`,
    ...efi(name),
    sh`VBoxManage storagectl ${name} --name Disks --add ${bus} --controller ${type} ${bus === 'pcie' ? ['--portcount', disks.length] : []}`,
    ...disks.flatMap(({ path, name: disk, format }, at) => {
      const [port, device] = bus === 'ide' ? [Math.floor(at / 2), at % 2] : [at, 0];
      const attached = (medium: string) =>
        sh`VBoxManage storageattach ${name} --storagectl Disks --port ${port} --device ${device} --type hdd --medium ${medium}`;
      if (format !== VMDK.name) return [attached(path)];
      // VirtualBox does not write to a streamOptimized VMDK.
      return [sh`VBoxManage clonemedium disk ${path} ${disk}.vdi --format VDI`, attached(`${disk}.vdi`)];
    }),
  ];
}

export const virtualbox: KnownPlace = {
  name: 'virtualbox',
  label: 'VirtualBox',
  formats: [VDI, VMDK, OVA, DYNAMIC_VHD, FIXED_VHD],
  limits: [],
  next: { commands: commandsOfVirtualBox },
};

/** Hyper-V boots a VHD only in a machine of generation 1. */
const GENERATION_1 = {
  kind: 'bios',
  source:
    'https://learn.microsoft.com/windows-server/virtualization/hyper-v/plan/should-i-create-a-generation-1-or-2-virtual-machine-in-hyper-v',
} as const;

export const hyperv: KnownPlace = {
  name: 'hyperv',
  label: 'Hyper-V',
  formats: [VHDX, { ...DYNAMIC_VHD, firmware: GENERATION_1 }, { ...FIXED_VHD, firmware: GENERATION_1 }],
  limits: [],
  // On NTFS: 0xC03A001A.
  refusesSparse: true,
  drivers: {
    name: 'Hyper-V',
    linux:
      'https://learn.microsoft.com/windows-server/virtualization/hyper-v/supported-linux-and-freebsd-virtual-machines-for-hyper-v-on-windows',
  },
  next: {
    shell: 'powershell',
    commands({ name, cpus, memory = USUAL_MEMORY, firmware, system, disks: [first, ...others] }) {
      const isEfi = firmware === 'efi';
      const generation = isEfi && first.format === VHDX.name ? 2 : 1;
      return [
        ...(isEfi && generation === 1
          ? [comment('This disk starts with EFI, and Hyper-V starts a VHD only with BIOS: convert to VHDX instead')]
          : []),
        // Hyper-V opens no file that NTFS holds as sparse.
        ...[first, ...others].map(({ path }) => powershell`fsutil sparse setflag ${path} 0`),
        // Hyper-V takes only even numbers of MiB.
        powershell`New-VM -Name ${name} -Generation ${generation} -MemoryStartupBytes ${memory + (memory % 2)}MB -VHDPath ${first.path}`,
        ...(cpus ? [powershell`Set-VMProcessor -VMName ${name} -Count ${cpus}`] : []),
        // By default only what Microsoft has signed for Windows boots.
        ...(generation === 2 && system !== 'windows'
          ? [powershell`Set-VMFirmware -VMName ${name} -EnableSecureBoot Off`]
          : []),
        ...others.map(({ path }) => powershell`Add-VMHardDiskDrive -VMName ${name} -Path ${path}`),
      ];
    },
  },
};

export const xen: KnownPlace = {
  name: 'xen',
  label: 'XenServer or XCP-ng',
  formats: [DYNAMIC_VHD],
  limits: [],
  next: {
    commands: ({ name, cpus, memory = USUAL_MEMORY, firmware, disks }, own) => [
      sh`vm=$(xe vm-install template='Other install media' new-name-label=${name} sr-uuid=${own('SR_UUID')})`,
      sh`xe vm-memory-limits-set uuid="$vm" static-min=${memory}MiB dynamic-min=${memory}MiB dynamic-max=${memory}MiB static-max=${memory}MiB`,
      ...(cpus
        ? [sh`xe vm-param-set uuid="$vm" VCPUs-max=${cpus}`, sh`xe vm-param-set uuid="$vm" VCPUs-at-startup=${cpus}`]
        : []),
      ...(firmware === 'efi' ? [sh`xe vm-param-set uuid="$vm" HVM-boot-params:firmware=uefi`] : []),
      ...disks.flatMap(({ path, name: disk, virtualSize }, at) => [
        sh`vdi=$(xe vdi-create sr-uuid=${own('SR_UUID')} name-label=${disk} type=user virtual-size=${virtualSize})`,
        sh`xe vdi-import uuid="$vdi" format=vhd filename=${path}`,
        sh`xe vbd-create vm-uuid="$vm" vdi-uuid="$vdi" device=${at} bootable=${at === 0 ? 'true' : 'false'} mode=RW type=Disk`,
      ]),
    ],
  },
};

export const nutanix: KnownPlace = {
  name: 'nutanix',
  label: 'Nutanix AHV',
  formats: [QCOW2],
  limits: [],
  drivers: { ...VIRTIO, windows: 'https://portal.nutanix.com/page/downloads?product=ahv&bit=VirtIO' },
  next: {
    commands: ({ name, cpus = 1, memory = USUAL_MEMORY, firmware, disks }, own) => [
      ...disks.map(
        ({ name: disk, object }) =>
          sh`acli image.create ${disk} source_url=${word`https://${own('HOST')}/${object}`} container=${own('CONTAINER')} image_type=kDiskImage`,
      ),
      sh`acli vm.create ${name} num_vcpus=${cpus} memory=${memory}M ${firmware === 'efi' ? ['uefi_boot=true'] : []}`,
      ...disks.map(({ name: disk }) => sh`acli vm.disk_create ${name} clone_from_image=${disk}`),
    ],
  },
};

export const kubevirt: KnownPlace = {
  name: 'kubevirt',
  label: 'KubeVirt',
  // The oldest first: an old importer does not know zstd.
  formats: [QCOW2, RAW_GZ, RAW_XZ, RAW_ZST, RAW],
  limits: [],
  drivers: VIRTIO_OF_KUBEVIRT,
  next: {
    commands: ({ name, cpus, memory = USUAL_MEMORY, firmware, disks }) => {
      const domain = {
        ...(cpus && { cpu: { cores: cpus } }),
        // Secure boot, the default, needs other features of the machine too.
        ...(firmware === 'efi' && { firmware: { bootloader: { efi: { secureBoot: false } } } }),
      };
      const patch = json({ spec: { template: { spec: { domain } } } });
      const volumes = disks.map(({ name: disk }) => `--volume-pvc=src:${disk}`);
      return [
        ...disks.map(
          ({ path, name: disk, virtualSize }) =>
            sh`virtctl image-upload dv ${disk} --size=${Math.ceil(virtualSize / GIB)}Gi --image-path=${path}`,
        ),
        comment(
          'or convert and upload at once, without virtctl: decant convert --method POST (docs/upload.md, KubeVirt)',
        ),
        sh`virtctl create vm --name=${name} --run-strategy=Halted --memory=${memory}Mi ${volumes} | kubectl apply -f -`,
        ...(Object.keys(domain).length > 0 ? [sh`kubectl patch vm ${name} --type=merge --patch=${patch}`] : []),
        sh`virtctl start ${name}`,
      ];
    },
  },
};

export const harvester: KnownPlace = {
  name: 'harvester',
  label: 'Harvester',
  formats: [QCOW2, RAW, OVA],
  limits: [],
  drivers: VIRTIO_OF_KUBEVIRT,
  next: {
    commands: ({ disks }, own) =>
      disks
        // An OVA is imported in Harvester's own page.
        .filter(({ format }) => format !== OVA.name)
        .map(({ name, object }) => {
          const image = {
            apiVersion: 'harvesterhci.io/v1beta1',
            kind: 'VirtualMachineImage',
            metadata: { name, namespace: 'default' },
            spec: { displayName: name, sourceType: 'download', url: word`https://${own('HOST')}/${object}` },
          };
          return sh`printf %s ${json(image)} | kubectl create -f -`;
        }),
  },
};

export const forklift: KnownPlace = {
  name: 'forklift',
  label: 'Forklift',
  formats: [OVA],
  limits: [],
  next: { commands: ({ disks }, own) => disks.map(({ path }) => sh`cp ${path} ${word`${own('SHARE')}/`}`) },
};

export const incus: KnownPlace = {
  name: 'incus',
  label: 'Incus or LXD',
  formats: [QCOW2],
  limits: [],
  drivers: VIRTIO,
  next: {
    commands({ name, cpus, memory, firmware, system, disks: [first, ...others] }) {
      const hardware = [
        ...(cpus ? ['-c', `limits.cpu=${cpus}`] : []),
        ...(memory ? ['-c', `limits.memory=${memory}MiB`] : []),
        ...(firmware === 'bios' ? ['-c', 'security.csm=true'] : []),
        // By default, Incus boots only systems that are signed for Secure Boot, and none with BIOS.
        ...(firmware === 'bios' || (firmware && system !== 'windows') ? ['-c', 'security.secureboot=false'] : []),
      ];
      return [
        sh`incus image generate-metadata metadata.tar.xz`,
        sh`incus image import metadata.tar.xz ${first.path} --alias ${first.name}`,
        sh`incus launch ${first.name} ${name} --vm ${hardware}`,
        ...others.map(({ name: disk }) =>
          comment(`Incus imports only the first disk as an image: attach ${disk} by hand`),
        ),
      ];
    },
  },
};

export const utm: KnownPlace = {
  name: 'utm',
  label: 'UTM',
  formats: [QCOW2, RAW],
  limits: [],
  drivers: { ...VIRTIO, windows: 'https://docs.getutm.app/guest-support/windows/' },
};
