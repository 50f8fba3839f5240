// The registry of places, and the commands for each.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { OUTPUTS } from '../public/registry.js';
import type { MachineHardware } from '../public/types.js';
import type { MadeDisk } from '../public/types.places.js';
import { placeNamed, placeRefusal } from './choice.js';
import { nextStep, places } from './index.js';

/** Makes trouble in every shell, and in lists that commas separate. */
const FILE = `-it's, "$(id)" \\ 磁盘.x`;
const SIZES = { outputSize: 3 * 2 ** 20 + 512, virtualSize: 3 * 2 ** 30 + 1 };

/** The hardware of a machine with EFI, and of one with BIOS. */
const LINUX: MachineHardware = { cpus: 4, memory: 2 ** 33, firmware: 'efi', os: 'ubuntu', controller: 'pvscsi' };
const WINDOWS: MachineHardware = { cpus: 2, memory: 2 ** 32, firmware: 'bios', os: 'windows2019', controller: 'ide' };
const HARDWARE = { unknown: undefined, Linux: LINUX, Windows: WINDOWS };

/** The arguments and the input of each command that the script calls, by bash, which finds no program. Fails if bash reports an error. */
function calls(lines: string[]): string[][] {
  const show = `command_not_found_handle() { mapfile -d '' input; printf '%s\\0' "$@" "\${input[@]}" $'\\n' >&3; }`;
  const script = [show, 'PATH=/nowhere', ...lines].join('\n');
  const { status, stderr, output } = spawnSync('/bin/bash', ['-c', script], {
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
  });
  expect([status, stderr]).toEqual([0, '']);
  const made = String(output[3]).split('\0\n\0').slice(0, -1);
  return made.map((call) => call.split('\0'));
}

const EXTENSIONS: Record<string, string> = { vpc: 'vhd' };

/** Two disks in `format`. */
function twoDisks(format: string, hardware?: MachineHardware): MadeDisk[] {
  const first = { ...SIZES, file: FILE, format, machine: 'Web Server', hardware };
  return [first, { ...SIZES, file: `/d/data.${EXTENSIONS[format] ?? format}`, format }];
}

for (const { name: place, formats, limits } of places) {
  describe(place, () => {
    for (const { name: format } of formats) {
      for (const [system, hardware] of Object.entries(HARDWARE)) {
        const step = nextStep(place, twoDisks(format, hardware));
        if (!step || step.commands.length === 0) continue;
        const lines = step.commands.map(({ line }) => line);

        test(`${format}, ${system}: each command is one line, and has its placeholders`, () => {
          for (const { line, placeholders } of step.commands) {
            expect(line).not.toMatch(/undefined|NaN|null|\[object| {2}|\n/);
            for (const placeholder of placeholders) expect(line).toContain(placeholder);
          }
        });

        if (step.shell !== 'sh') continue;
        test(`${format}, ${system}: a shell reads the names, and the values for placeholders`, () => {
          const placeholders = new Set(step.commands.flatMap(({ placeholders }) => placeholders));
          const value = (placeholder: string) => `it's $(id) ${placeholder}`;
          const values = Object.fromEntries([...placeholders].map((name) => [name, value(name)]));
          const filled = nextStep(place, twoDisks(format, hardware), values)!;
          const made = calls(filled.commands.map(({ line }) => line));
          // Each command is called with the same number of arguments, whatever the values are.
          expect(made.map(({ length }) => length)).toEqual(calls(lines).map(({ length }) => length));
          const read = made.flat().join('\0');
          for (const placeholder of placeholders) expect(read).toContain(value(placeholder));
          for (const argument of made.flat()) {
            // virt-install splits its lists as a shell does.
            const isList = argument.startsWith('path=');
            if (argument.includes('磁盘'))
              expect(argument).toContain(`./${isList ? FILE.replaceAll(/["\\]/g, String.raw`\$&`) : FILE}`);
          }
        });
      }
    }

    test('limits have a source', () => {
      for (const { source, min, max } of limits) {
        expect(new URL(source).protocol).toBe('https:');
        expect(min ?? max).toBeDefined();
      }
    });
  });
}

/** The lines for `disks`. */
const linesFor = (place: string, disks: MadeDisk | MadeDisk[], values = {}): string[] =>
  nextStep(place, disks, values)!.commands.map(({ line }) => line);

describe('commands carry the hardware of the machine', () => {
  const disks = (format: string, hardware: MachineHardware | undefined, machine = 'Web'): MadeDisk[] => [
    { ...SIZES, file: `web.${format}`, format, machine, hardware },
    { ...SIZES, file: `data.${format}`, format, machine, hardware },
  ];
  const one = (format: string, hardware?: MachineHardware): MadeDisk => ({
    ...SIZES,
    file: `web.${format}`,
    format,
    hardware,
  });

  for (const [what, place, made, lines] of [
    [
      'KVM, unknown',
      'kvm',
      one('qcow2'),
      ['virt-install --name web --memory 2048 --import --disk path=web.qcow2 --osinfo detect=on,require=off'],
    ],
    [
      'KVM, Linux with EFI',
      'kvm',
      disks('qcow2', LINUX),
      [
        'virt-install --name web --memory 8192 --vcpus 4 --boot uefi --import --disk path=web.qcow2,bus=virtio --disk path=data.qcow2,bus=virtio --osinfo detect=on,require=off',
      ],
    ],
    [
      'KVM, Windows with BIOS',
      'kvm',
      one('qcow2', WINDOWS),
      [
        'virt-install --name web --memory 4096 --vcpus 2 --import --disk path=web.qcow2,bus=ide --osinfo detect=on,require=off',
      ],
    ],
    [
      'Proxmox, Linux with EFI',
      'proxmox',
      disks('qcow2', LINUX),
      [
        'qm create VMID --name web --memory 8192 --cores 4 --ostype l26 --bios ovmf --machine q35 --efidisk0 STORAGE:1,efitype=4m --scsihw virtio-scsi-single --net0 virtio,bridge=vmbr0',
        'qm disk import VMID web.qcow2 STORAGE --target-disk scsi0',
        'qm disk import VMID data.qcow2 STORAGE --target-disk scsi1',
        'qm set VMID --boot order=scsi0',
      ],
    ],
    [
      'Proxmox, Windows on SATA',
      'proxmox',
      one('qcow2', { firmware: 'efi', os: 'windows11', controller: 'lsilogicsas' }),
      [
        'qm create VMID --name web --memory 2048 --ostype win11 --bios ovmf --machine q35 --efidisk0 STORAGE:1,efitype=4m --scsihw virtio-scsi-single --net0 e1000,bridge=vmbr0',
        'qm disk import VMID web.qcow2 STORAGE --target-disk sata0',
        'qm set VMID --boot order=sata0',
      ],
    ],
    [
      'Proxmox, an OVA with EFI',
      'proxmox',
      one('ova', LINUX),
      [
        'mkdir web',
        'tar -xf web.ova -C web',
        'qm importovf VMID web/*.ovf STORAGE',
        'qm set VMID --bios ovmf --machine q35 --efidisk0 STORAGE:1,efitype=4m',
      ],
    ],
    [
      'VMware',
      'vmware',
      disks('vmdk', LINUX),
      ['vmkfstools -i web.vmdk -d thin web-disk.vmdk', 'vmkfstools -i data.vmdk -d thin data-disk.vmdk'],
    ],
    [
      'VMware, two OVAs',
      'vmware',
      disks('ova', LINUX),
      [
        'ovftool --name=web --datastore=DATASTORE web.ova vi://HOST/',
        'ovftool --name=data --datastore=DATASTORE data.ova vi://HOST/',
      ],
    ],
    [
      'Proxmox, two OVAs',
      'proxmox',
      disks('ova', WINDOWS),
      [
        'mkdir web',
        'tar -xf web.ova -C web',
        'qm importovf VMID web/*.ovf STORAGE',
        'mkdir data',
        'tar -xf data.ova -C data',
        'qm importovf VMID_2 data/*.ovf STORAGE',
      ],
    ],
    ['VMware, an OVA', 'vmware', one('ova', LINUX), ['ovftool --name=web --datastore=DATASTORE web.ova vi://HOST/']],
    [
      'VirtualBox, Windows on IDE',
      'virtualbox',
      disks('vdi', WINDOWS),
      [
        'VBoxManage createvm --name web --ostype Windows2019_64 --register',
        'VBoxManage modifyvm web --cpus 2 --memory 4096 --nic1 nat',
        'VBoxManage storagectl web --name Disks --add ide --controller PIIX4',
        'VBoxManage storageattach web --storagectl Disks --port 0 --device 0 --type hdd --medium web.vdi',
        'VBoxManage storageattach web --storagectl Disks --port 0 --device 1 --type hdd --medium data.vdi',
      ],
    ],
    [
      'VirtualBox, a VMDK with EFI',
      'virtualbox',
      one('vmdk', { firmware: 'efi' }),
      [
        'VBoxManage createvm --name web --ostype Other_64 --register',
        'VBoxManage modifyvm web --cpus 1 --memory 2048 --nic1 nat',
        'VBoxManage modifyvm web --firmware efi',
        'VBoxManage storagectl web --name Disks --add sata --controller IntelAHCI',
        'VBoxManage clonemedium disk web.vmdk web.vdi --format VDI',
        'VBoxManage storageattach web --storagectl Disks --port 0 --device 0 --type hdd --medium web.vdi',
      ],
    ],
    [
      'VirtualBox, NVMe',
      'virtualbox',
      disks('vdi', { controller: 'nvme' }),
      [
        'VBoxManage createvm --name web --ostype Other_64 --register',
        'VBoxManage modifyvm web --cpus 1 --memory 2048 --nic1 nat',
        'VBoxManage storagectl web --name Disks --add pcie --controller NVMe --portcount 2',
        'VBoxManage storageattach web --storagectl Disks --port 0 --device 0 --type hdd --medium web.vdi',
        'VBoxManage storageattach web --storagectl Disks --port 1 --device 0 --type hdd --medium data.vdi',
      ],
    ],
    [
      'VirtualBox, an OVA with EFI',
      'virtualbox',
      one('ova', LINUX),
      ['VBoxManage import web.ova --vsys 0 --vmname web', 'VBoxManage modifyvm web --firmware efi'],
    ],
    [
      'Azure, two disks with EFI',
      'azure',
      disks('vpc', LINUX),
      [
        'az disk create --resource-group GROUP --name web --upload-type Upload --upload-size-bytes 3146240 --os-type linux --hyper-v-generation V2',
        'az disk grant-access --resource-group GROUP --name web --access-level Write --duration-in-seconds 86400',
        "azcopy copy web.vpc 'SAS_URL' --blob-type PageBlob",
        'az disk revoke-access --resource-group GROUP --name web',
        'az disk create --resource-group GROUP --name data --upload-type Upload --upload-size-bytes 3146240',
        'az disk grant-access --resource-group GROUP --name data --access-level Write --duration-in-seconds 86400',
        "azcopy copy data.vpc 'SAS_URL_2' --blob-type PageBlob",
        'az disk revoke-access --resource-group GROUP --name data',
        '# The machine had 4 CPUs and 8192 MiB of memory: choose a SIZE that has as much',
        'az vm create --resource-group GROUP --name web --size SIZE --os-type linux --attach-os-disk web --attach-data-disks data',
      ],
    ],
    [
      'AWS, two disks with BIOS',
      'aws',
      disks('vhdx', WINDOWS),
      [
        'aws s3 cp web.vhdx s3://BUCKET/web.vhdx',
        'aws s3 cp data.vhdx s3://BUCKET/data.vhdx',
        `aws ec2 import-image --boot-mode legacy-bios --platform Windows --disk-containers '${JSON.stringify(
          ['web', 'data'].map((name) => ({
            Format: 'VHDX',
            UserBucket: { S3Bucket: 'BUCKET', S3Key: `${name}.vhdx` },
          })),
        )}'`,
      ],
    ],
    [
      'AWS, two OVAs',
      'aws',
      disks('ova', {}),
      [
        'aws s3 cp web.ova s3://BUCKET/web.ova',
        'aws s3 cp data.ova s3://BUCKET/data.ova',
        ...['web', 'data'].map(
          (name) =>
            `aws ec2 import-image --disk-containers '${JSON.stringify([
              { Format: 'OVA', UserBucket: { S3Bucket: 'BUCKET', S3Key: `${name}.ova` } },
            ])}'`,
        ),
      ],
    ],
    [
      'Google, two disks with EFI',
      'google',
      disks('tar.gz', LINUX),
      [
        'gcloud storage cp web.tar.gz gs://BUCKET/web.tar.gz',
        'gcloud compute images create web --source-uri gs://BUCKET/web.tar.gz --guest-os-features=UEFI_COMPATIBLE',
        'gcloud storage cp data.tar.gz gs://BUCKET/data.tar.gz',
        'gcloud compute images create data --source-uri gs://BUCKET/data.tar.gz',
        'gcloud compute instances create web --zone ZONE --image web --custom-cpu 4 --custom-memory 8192MB --create-disk=image=data',
      ],
    ],
    [
      'OpenStack, two disks with EFI',
      'openstack',
      disks('qcow2', LINUX),
      [
        'openstack image create web --disk-format qcow2 --container-format bare --file web.qcow2 --property hw_firmware_type=uefi --property hw_machine_type=q35 --property hw_disk_bus=virtio --property os_type=linux',
        'openstack image create data --disk-format qcow2 --container-format bare --file data.qcow2',
        'openstack volume create data --image data --size 4',
        '# The machine had 4 CPUs and 8192 MiB of memory: choose a FLAVOR that has as much',
        'openstack server create web --image web --flavor FLAVOR --network NETWORK --wait',
        'openstack server add volume web data',
      ],
    ],
    [
      'OpenStack, a VMDK',
      'openstack',
      one('vmdk'),
      [
        'openstack image create web --disk-format vmdk --container-format bare --file web.vmdk --property vmware_disktype=streamOptimized',
        'openstack server create web --image web --flavor FLAVOR --network NETWORK --wait',
      ],
    ],
    [
      'Hyper-V, EFI',
      'hyperv',
      disks('vhdx', LINUX),
      [
        'fsutil sparse setflag web.vhdx 0',
        'fsutil sparse setflag data.vhdx 0',
        'New-VM -Name web -Generation 2 -MemoryStartupBytes 8192MB -VHDPath web.vhdx',
        'Set-VMProcessor -VMName web -Count 4',
        'Set-VMFirmware -VMName web -EnableSecureBoot Off',
        'Add-VMHardDiskDrive -VMName web -Path data.vhdx',
      ],
    ],
    [
      'Hyper-V, an odd number of MiB',
      'hyperv',
      one('vhdx', { memory: 2 ** 30 + 1 }),
      [
        'fsutil sparse setflag web.vhdx 0',
        'New-VM -Name web -Generation 1 -MemoryStartupBytes 1026MB -VHDPath web.vhdx',
      ],
    ],
    [
      'Hyper-V, Windows with EFI',
      'hyperv',
      one('vhdx', { firmware: 'efi', os: 'windows10' }),
      [
        'fsutil sparse setflag web.vhdx 0',
        'New-VM -Name web -Generation 2 -MemoryStartupBytes 2048MB -VHDPath web.vhdx',
      ],
    ],
    [
      'Hyper-V, a VHD that needs EFI',
      'hyperv',
      one('vpc', { firmware: 'efi' }),
      [
        '# This disk starts with EFI, and Hyper-V starts a VHD only with BIOS: convert to VHDX instead',
        'fsutil sparse setflag web.vpc 0',
        'New-VM -Name web -Generation 1 -MemoryStartupBytes 2048MB -VHDPath web.vpc',
      ],
    ],
    [
      'Hyper-V, unknown',
      'hyperv',
      one('vhdx'),
      [
        'fsutil sparse setflag web.vhdx 0',
        'New-VM -Name web -Generation 1 -MemoryStartupBytes 2048MB -VHDPath web.vhdx',
      ],
    ],
    [
      'Xen, EFI',
      'xen',
      one('vpc', LINUX),
      [
        "vm=$(xe vm-install template='Other install media' new-name-label=web sr-uuid=SR_UUID)",
        'xe vm-memory-limits-set uuid="$vm" static-min=8192MiB dynamic-min=8192MiB dynamic-max=8192MiB static-max=8192MiB',
        'xe vm-param-set uuid="$vm" VCPUs-max=4',
        'xe vm-param-set uuid="$vm" VCPUs-at-startup=4',
        'xe vm-param-set uuid="$vm" HVM-boot-params:firmware=uefi',
        'vdi=$(xe vdi-create sr-uuid=SR_UUID name-label=web type=user virtual-size=3221225473)',
        'xe vdi-import uuid="$vdi" format=vhd filename=web.vpc',
        'xe vbd-create vm-uuid="$vm" vdi-uuid="$vdi" device=0 bootable=true mode=RW type=Disk',
      ],
    ],
    [
      'Nutanix, EFI',
      'nutanix',
      one('qcow2', LINUX),
      [
        'acli image.create web source_url=https://HOST/web.qcow2 container=CONTAINER image_type=kDiskImage',
        'acli vm.create web num_vcpus=4 memory=8192M uefi_boot=true',
        'acli vm.disk_create web clone_from_image=web',
      ],
    ],
    [
      'Incus, BIOS',
      'incus',
      disks('qcow2', { ...LINUX, firmware: 'bios' }),
      [
        'incus image generate-metadata metadata.tar.xz',
        'incus image import metadata.tar.xz web.qcow2 --alias web',
        'incus launch web web --vm -c limits.cpu=4 -c limits.memory=8192MiB -c security.csm=true -c security.secureboot=false',
        '# Incus imports only the first disk as an image: attach data by hand',
      ],
    ],
    [
      'Incus, Windows',
      'incus',
      one('qcow2', WINDOWS),
      [
        'incus image generate-metadata metadata.tar.xz',
        'incus image import metadata.tar.xz web.qcow2 --alias web',
        'incus launch web web --vm -c limits.cpu=2 -c limits.memory=4096MiB -c security.csm=true -c security.secureboot=false',
      ],
    ],
    [
      'KubeVirt, EFI',
      'kubevirt',
      disks('qcow2', LINUX),
      [
        'virtctl image-upload dv web --size=4Gi --image-path=web.qcow2',
        'virtctl image-upload dv data --size=4Gi --image-path=data.qcow2',
        '# or convert and upload at once, without virtctl: decant convert --method POST (docs/upload.md, KubeVirt)',
        'virtctl create vm --name=web --run-strategy=Halted --memory=8192Mi --volume-pvc=src:web --volume-pvc=src:data | kubectl apply -f -',
        'kubectl patch vm web --type=merge --patch=\'{"spec":{"template":{"spec":{"domain":{"cpu":{"cores":4},"firmware":{"bootloader":{"efi":{"secureBoot":false}}}}}}}}\'',
        'virtctl start web',
      ],
    ],
    [
      'KubeVirt, unknown',
      'kubevirt',
      one('qcow2'),
      [
        'virtctl image-upload dv web --size=4Gi --image-path=web.qcow2',
        '# or convert and upload at once, without virtctl: decant convert --method POST (docs/upload.md, KubeVirt)',
        'virtctl create vm --name=web --run-strategy=Halted --memory=2048Mi --volume-pvc=src:web | kubectl apply -f -',
        'virtctl start web',
      ],
    ],
    ['Forklift', 'forklift', one('ova', LINUX), ['cp web.ova SHARE/']],
    ['Vultr, EFI', 'vultr', one('raw', LINUX), ['vultr-cli snapshot create-url --url https://HOST/web.raw --uefi']],
  ] as [string, string, MadeDisk | MadeDisk[], string[]][]) {
    test(what, () => expect(linesFor(place, made)).toEqual(lines));
  }

  for (const [what, hardware, options, had] of [
    ['an odd number of CPUs', { cpus: 3, memory: 2 ** 33 }, ' --custom-cpu 4 --custom-memory 8192MB'],
    ['one CPU', { cpus: 1, memory: 2 ** 31 }, ' --custom-cpu 1 --custom-memory 2048MB'],
    ['little memory', { cpus: 4, memory: 2 ** 30 }, ' --custom-cpu 4 --custom-memory 4096MB'],
    ['more memory than such a machine has', { cpus: 2, memory: 2 ** 36 }, '', '2 CPUs and 65536 MiB of memory'],
    ['too many CPUs', { cpus: 97, memory: 2 ** 37 }, '', '97 CPUs and 131072 MiB of memory'],
    ['one CPU, memory unknown', { cpus: 1 }, '', '1 CPU'],
    ['nothing known', {}, ''],
  ] as [string, MachineHardware, string, string?][]) {
    test(`Google, ${what}`, () => {
      const chosen = had === undefined ? '' : ' --machine-type MACHINE_TYPE';
      expect(linesFor('google', one('tar.gz', hardware)).slice(2)).toEqual([
        ...(had === undefined ? [] : [`# The machine had ${had}: choose a MACHINE_TYPE that has as much`]),
        `gcloud compute instances create web --zone ZONE --image web${options}${chosen}`,
      ]);
    });
  }

  test('what the configuration does not state, the disk shows', () => {
    const parts = [
      { offset: 0, length: 1, type: 'EFI system' },
      { offset: 1, length: 1, type: 'Microsoft reserved' },
    ];
    const contents = { partitions: parts, firmware: ['efi' as const] };
    const shown = { ...one('vhdx', { cpus: 2 }), contents };
    expect(linesFor('hyperv', shown)).toEqual([
      'fsutil sparse setflag web.vhdx 0',
      'New-VM -Name web -Generation 2 -MemoryStartupBytes 2048MB -VHDPath web.vhdx',
      'Set-VMProcessor -VMName web -Count 2',
    ]);
  });
});

describe('drivers', () => {
  const notices = (place: string, os: string | undefined) =>
    nextStep(place, { ...SIZES, file: 'a', format: 'qcow2', hardware: os === undefined ? undefined : { os } })?.notices;

  for (const [place, os, drivers] of [
    ['kvm', 'windows10', 'virtio'],
    ['kvm', 'ubuntu', 'virtio'],
    ['kvm', 'freebsd', undefined],
    ['kvm', undefined, undefined],
    ['utm', 'windows11', 'virtio'],
    ['azure', 'windows10', undefined],
    ['azure', 'linux', 'Hyper-V'],
    ['vmware', 'windows10', 'VMware'],
    ['vmware', 'linux', undefined],
  ] as const) {
    test(`${place}, ${os ?? 'unknown'}`, () => {
      const found = notices(place, os) ?? [];
      if (!drivers) return void expect(found).toEqual([]);
      expect(found).toMatchObject([{ code: 'guest-drivers', fields: { place, drivers } }]);
      expect(found[0]!.message).toMatch(/ may need (virtio|Hyper-V|VMware) drivers .*, and Decant does not add them$/);
    });
  }

  test('all have pages', () => {
    for (const { drivers } of places) {
      const { name: _, ...pages } = drivers ?? { name: '' };
      for (const page of Object.values(pages)) expect(new URL(page).protocol).toBe('https:');
    }
  });
});

describe('names for machines and objects', () => {
  for (const [file, machine] of [
    ['/a/b/Web Server_01.tar.gz', 'web-server-01'],
    ['C:\\disks\\x.vhd', 'x'],
    ['2024-01 disk.raw', 'disk'],
    ['磁盘.raw', 'disk'],
    ['Über Größe Ⅳ.raw', 'uber-gro-e-iv'],
    ['web.raw.zst', 'web'],
    [`${'a'.repeat(59)}--b.raw`, 'a'.repeat(59)],
  ]) {
    test(file!, () => {
      expect(linesFor('google', { ...SIZES, file: file!, format: 'tar.gz' })[1]).toBe(
        `gcloud compute images create ${machine} --source-uri gs://BUCKET/${machine}.tar.gz`,
      );
    });
  }

  test('each disk has its own', () => {
    const long = 'a'.repeat(70);
    const made = ['x/磁盘.raw', 'y/磁盘.raw', `${long}1.raw`, `${long}2.raw`, `${long}3.raw`].map((file) => ({
      ...SIZES,
      file,
      format: 'raw',
    }));
    const names = linesFor('linode', made).map((line) => line.split(' ')[3]);
    expect(names).toEqual(['disk', 'disk-2', 'a'.repeat(60), `${'a'.repeat(56)}-2`, `${'a'.repeat(56)}-3`]);
  });
});

describe('no program takes the path of a file for an option or a server', () => {
  for (const [file, path] of [
    ['-a.ova', './-a.ova'],
    ['a:b.ova', './a:b.ova'],
    ['d/a:b.ova', 'd/a:b.ova'],
    ['/d/-a.ova', '/d/-a.ova'],
    ['c:/d/a.ova', 'c:/d/a.ova'],
    ['ab:/a.ova', './ab:/a.ova'],
  ]) {
    test(file!, () => {
      expect(linesFor('forklift', { ...SIZES, file: file!, format: 'ova' })).toEqual([`cp ${path} SHARE/`]);
    });
  }
});

test('places accept formats that are written', () => {
  const names = OUTPUTS.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(places.flatMap(({ formats }) => formats.map(({ name }) => name))));
});

test('docs/places.md lists all places, with as many formats', () => {
  const document = readFileSync(new URL('../../docs/places.md', import.meta.url), 'utf8');
  const rows = [...document.matchAll(/^\| `(\w+)` \| ([^|]+) \| ([^|]+) \|/gm)].map(([, name, label, formats]) => ({
    name,
    label,
    formats: formats!.split(', ').length,
  }));
  expect(rows).toEqual(places.map(({ name, label, formats }) => ({ name, label, formats: formats.length })));
});

test('no commands and no notices', () => {
  for (const place of ['constructor', 'raw', 'utm']) {
    expect(nextStep(place, { ...SIZES, file: 'a', format: 'raw' })).toBeUndefined();
  }
});

describe('limits', () => {
  const GIB = 2 ** 30;
  for (const [place, sizes, refused] of [
    ['azure', { outputSize: 20_972_032 }, undefined],
    ['azure', { outputSize: 20_972_031 }, { of: 'file', min: 20_972_032 }],
    ['azure', { outputSize: 35_183_298_347_521 }, { of: 'file', max: 35_183_298_347_520 }],
    ['azure', { virtualSize: 1 }, undefined],
    ['digitalocean', { virtualSize: 100 * GIB }, undefined],
    ['digitalocean', { virtualSize: 100 * GIB + 1 }, { of: 'disk', max: 100 * GIB }],
    ['linode', { outputSize: undefined, virtualSize: 100 * GIB }, undefined],
  ] as const) {
    test(`${place}: ${JSON.stringify(sizes)}`, () => {
      const refusal = placeRefusal(placeNamed(place), sizes);
      if (!refused) expect(refusal).toBeUndefined();
      else expect(refusal).toMatchObject({ kind: 'limit', code: 'place-limit', fields: { place, ...refused } });
    });
  }
});
