// The places where disks run: what each accepts, and its documented limits.

import type { Place, PlaceFormat } from '../public/types.places.js';

const GIB = 2 ** 30;

const RAW: PlaceFormat = { name: 'raw', required: {}, recommended: {} };
const RAW_GZ: PlaceFormat = { name: 'raw.gz', required: {}, recommended: {} };
const TAR_GZ: PlaceFormat = { name: 'tar.gz', required: {}, recommended: {} };
const QCOW2: PlaceFormat = { name: 'qcow2', required: {}, recommended: { compress: 'on' } };
const VMDK: PlaceFormat = { name: 'vmdk', required: { subformat: 'streamOptimized' }, recommended: {} };
const FIXED_VHD: PlaceFormat = { name: 'vpc', required: { subformat: 'fixed' }, recommended: {} };
const DYNAMIC_VHD: PlaceFormat = { name: 'vpc', required: { subformat: 'dynamic' }, recommended: {} };

/** All places, the most used ones first. A limit in "GB" is read as GiB, so that nothing is refused that may be accepted. */
export const PLACES: readonly Place[] = [
  { name: 'raw', label: 'a raw disk', formats: [RAW], limits: [] },
  { name: 'kvm', label: 'KVM', formats: [QCOW2, RAW], limits: [] },
  { name: 'proxmox', label: 'Proxmox VE', formats: [QCOW2, RAW, VMDK], limits: [] },
  { name: 'vmware', label: 'VMware', formats: [VMDK], limits: [] },
  { name: 'virtualbox', label: 'VirtualBox', formats: [DYNAMIC_VHD, FIXED_VHD, VMDK], limits: [] },
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
  },
  { name: 'aws', label: 'AWS', formats: [VMDK, DYNAMIC_VHD, FIXED_VHD, RAW], limits: [] },
  { name: 'google', label: 'Google Cloud', formats: [TAR_GZ], limits: [] },
  { name: 'openstack', label: 'OpenStack', formats: [QCOW2, RAW, VMDK], limits: [] },
  {
    name: 'hyperv',
    label: 'Hyper-V',
    formats: [DYNAMIC_VHD, FIXED_VHD],
    limits: [],
    firmware: {
      kind: 'bios',
      source:
        'https://learn.microsoft.com/windows-server/virtualization/hyper-v/plan/should-i-create-a-generation-1-or-2-virtual-machine-in-hyper-v',
    },
  },
  { name: 'kubevirt', label: 'KubeVirt', formats: [QCOW2, RAW_GZ, RAW], limits: [] },
  { name: 'incus', label: 'Incus or LXD', formats: [QCOW2], limits: [] },
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
  },
  {
    name: 'linode',
    label: 'Linode (Akamai)',
    formats: [RAW_GZ],
    limits: [
      { of: 'file', max: 5 * GIB, source: 'https://techdocs.akamai.com/linode-api/reference/post-upload-image' },
    ],
  },
  { name: 'vultr', label: 'Vultr', formats: [RAW], limits: [] },
];
