// The places where disks run: what each accepts, its documented limits, and the commands that bring a disk there.

import { OUTPUTS } from '../public/registry.js';
import type { MadeDisk, NextStep, Place, PlaceFormat } from '../public/types.places.js';

/** What commands are made from. */
export interface Words extends MadeDisk {
  /** The path of the file, quoted for the shell. */
  path: string;
  /** The path of the file, quoted, as a value in a list that commas separate. */
  listed: string;
  /** A name for a machine or an image, made from the name of the file: lower-case letters, digits and dashes. */
  name: string;
  /** A name for the file on a server. */
  object: string;
}

/** A place, and what comes after a conversion for it. */
interface KnownPlace extends Place {
  next?: {
    /** By default `sh`. */
    shell?: NextStep['shell'];
    replace?: string[];
    commands(words: Words): string[];
  };
}

const GIB = 2 ** 30;

/** Returns the extension of files in `format`, without the dot. */
export const extensionOf = (format: string): string =>
  OUTPUTS.find(({ name }) => name === format)?.extensions[0]?.slice(1) ?? format;

/** Returns the name of `format` in the interfaces of clouds: qcow2 is QCOW2, vpc is VHD. */
const nameInCloud = (format: string): string => extensionOf(format).toUpperCase();

const RAW: PlaceFormat = { name: 'raw', required: {}, recommended: {} };
const RAW_GZ: PlaceFormat = { name: 'raw.gz', required: {}, recommended: {} };
const TAR_GZ: PlaceFormat = { name: 'tar.gz', required: {}, recommended: {} };
const QCOW2: PlaceFormat = { name: 'qcow2', required: {}, recommended: { compress: 'on' } };
const VMDK: PlaceFormat = { name: 'vmdk', required: { subformat: 'streamOptimized' }, recommended: {} };
const FIXED_VHD: PlaceFormat = { name: 'vpc', required: { subformat: 'fixed' }, recommended: {} };
const VHDX: PlaceFormat = { name: 'vhdx', required: {}, recommended: {} };
const VDI: PlaceFormat = { name: 'vdi', required: {}, recommended: {} };
const DYNAMIC_VHD: PlaceFormat = { name: 'vpc', required: { subformat: 'dynamic' }, recommended: {} };

/** All places, the most used ones first. A limit in "GB" is read as GiB, so that nothing is refused that may be accepted. */
export const PLACES: readonly KnownPlace[] = [
  { name: 'raw', label: 'a raw disk', formats: [RAW], limits: [] },
  {
    name: 'kvm',
    label: 'KVM',
    formats: [QCOW2, RAW],
    limits: [],
    next: {
      commands: ({ name, listed }) => [
        `virt-install --name ${name} --memory 2048 --import --disk ${listed} --osinfo detect=on,require=off`,
      ],
    },
  },
  {
    name: 'proxmox',
    label: 'Proxmox VE',
    formats: [QCOW2, RAW, VMDK],
    limits: [],
    next: {
      replace: ['VMID', 'STORAGE'],
      commands: ({ path }) => [`qm importdisk VMID ${path} STORAGE`],
    },
  },
  {
    name: 'vmware',
    label: 'VMware',
    formats: [VMDK],
    limits: [],
    next: { commands: ({ path, name }) => [`vmkfstools -i ${path} -d thin ${name}-disk.vmdk`] },
  },
  {
    name: 'virtualbox',
    label: 'VirtualBox',
    formats: [VDI, DYNAMIC_VHD, FIXED_VHD, VMDK],
    limits: [],
    next: {
      replace: ['MACHINE'],
      commands({ path, name, format }) {
        const attach = 'VBoxManage storageattach MACHINE --storagectl SATA --port 0 --device 0 --type hdd --medium';
        if (format !== 'vmdk') return [`${attach} ${path}`];
        // VirtualBox does not write to a streamOptimized VMDK.
        return [`VBoxManage clonemedium disk ${path} ${name}.vdi --format VDI`, `${attach} ${name}.vdi`];
      },
    },
  },
  {
    name: 'azure',
    label: 'Azure',
    formats: [FIXED_VHD],
    limits: [
      {
        of: 'file',
        min: 20_972_032,
        max: 35_183_298_347_520,
        source:
          'https://learn.microsoft.com/dotnet/api/azure.resourcemanager.compute.models.diskcreationdata.uploadsizebytes',
      },
    ],
    next: {
      replace: ['GROUP', 'SAS_URL'],
      commands: ({ path, name, size }) => [
        `az disk create --resource-group GROUP --name ${name} --upload-type Upload --upload-size-bytes ${size}`,
        `az disk grant-access --resource-group GROUP --name ${name} --access-level Write --duration-in-seconds 86400`,
        `azcopy copy ${path} 'SAS_URL' --blob-type PageBlob`,
        `az disk revoke-access --resource-group GROUP --name ${name}`,
      ],
    },
  },
  {
    name: 'aws',
    label: 'AWS',
    formats: [VMDK, DYNAMIC_VHD, FIXED_VHD, RAW],
    limits: [],
    next: {
      replace: ['BUCKET'],
      commands({ path, object, format }) {
        const container = { Format: nameInCloud(format), UserBucket: { S3Bucket: 'BUCKET', S3Key: object } };
        return [
          `aws s3 cp ${path} s3://BUCKET/${object}`,
          `aws ec2 import-image --disk-containers '${JSON.stringify([container])}'`,
        ];
      },
    },
  },
  {
    name: 'google',
    label: 'Google Cloud',
    formats: [TAR_GZ],
    limits: [],
    next: {
      replace: ['BUCKET'],
      commands: ({ path, name, object }) => [
        `gcloud storage cp ${path} gs://BUCKET/${object}`,
        `gcloud compute images create ${name} --source-uri gs://BUCKET/${object}`,
      ],
    },
  },
  {
    name: 'openstack',
    label: 'OpenStack',
    formats: [QCOW2, RAW, VMDK],
    limits: [],
    next: {
      commands: ({ path, name, format }) => [
        `openstack image create ${name} --disk-format ${format} --container-format bare --file ${path}`,
      ],
    },
  },
  {
    name: 'hyperv',
    label: 'Hyper-V',
    formats: [VHDX, DYNAMIC_VHD, FIXED_VHD],
    limits: [],
    firmware: {
      kind: 'bios',
      source:
        'https://learn.microsoft.com/windows-server/virtualization/hyper-v/plan/should-i-create-a-generation-1-or-2-virtual-machine-in-hyper-v',
    },
    next: {
      shell: 'powershell',
      commands: ({ path, name }) => [`New-VM -Name ${name} -Generation 1 -MemoryStartupBytes 2GB -VHDPath ${path}`],
    },
  },
  {
    name: 'kubevirt',
    label: 'KubeVirt',
    formats: [QCOW2, RAW_GZ, RAW],
    limits: [],
    next: {
      commands: ({ path, name, virtualSize }) => [
        `virtctl image-upload dv ${name} --size=${Math.ceil(virtualSize / GIB)}Gi --image-path=${path}`,
        '# or convert and upload at once, without virtctl: decant convert --method POST (docs/upload.md, KubeVirt)',
      ],
    },
  },
  {
    name: 'incus',
    label: 'Incus or LXD',
    formats: [QCOW2],
    limits: [],
    next: {
      commands: ({ path, name }) => [
        'incus image generate-metadata metadata.tar.xz',
        `incus image import metadata.tar.xz ${path} --alias ${name}`,
        `incus launch ${name} ${name} --vm`,
      ],
    },
  },
  { name: 'utm', label: 'UTM', formats: [QCOW2, RAW], limits: [] },
  {
    name: 'digitalocean',
    label: 'DigitalOcean',
    formats: [QCOW2, VMDK, RAW_GZ, RAW],
    limits: [
      {
        of: 'disk',
        max: 100 * GIB,
        source: 'https://docs.digitalocean.com/products/custom-images/details/limits/',
      },
    ],
    next: {
      replace: ['REGION', 'HOST'],
      commands: ({ name, object }) => [
        `doctl compute image create ${name} --region REGION --image-url https://HOST/${object}`,
      ],
    },
  },
  {
    name: 'oracle',
    label: 'Oracle Cloud',
    formats: [QCOW2, VMDK],
    limits: [
      {
        of: 'file',
        max: 400 * GIB,
        source: 'https://docs.oracle.com/iaas/Content/Compute/References/bringyourownimage.htm',
      },
    ],
    next: {
      replace: ['BUCKET', 'COMPARTMENT', 'NAMESPACE'],
      commands: ({ path, object, format }) => [
        `oci os object put --bucket-name BUCKET --name ${object} --file ${path}`,
        [
          'oci compute image import from-object --compartment-id COMPARTMENT --namespace NAMESPACE --bucket-name BUCKET',
          `--name ${object} --source-image-type ${nameInCloud(format)}`,
        ].join(' '),
      ],
    },
  },
  {
    name: 'linode',
    label: 'Linode (Akamai)',
    formats: [RAW_GZ],
    limits: [
      { of: 'file', max: 5 * GIB, source: 'https://techdocs.akamai.com/linode-api/reference/post-upload-image' },
    ],
    next: {
      replace: ['REGION'],
      commands: ({ path, name }) => [`linode-cli image-upload --label ${name} --region REGION ${path}`],
    },
  },
  {
    name: 'vultr',
    label: 'Vultr',
    formats: [RAW],
    limits: [],
    next: {
      replace: ['HOST'],
      commands: ({ object }) => [`vultr-cli snapshot create-url --url https://HOST/${object}`],
    },
  },
];
