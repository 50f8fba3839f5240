// The places where disks run. Each is an entry of hypervisors.ts or clouds.ts, and a line here.

import { aws, azure, digitalocean, google, linode, openstack, oracle, vultr } from './clouds.js';
import {
  forklift,
  harvester,
  hyperv,
  incus,
  kubevirt,
  kvm,
  nutanix,
  proxmox,
  raw,
  utm,
  virtualbox,
  vmware,
  xen,
} from './hypervisors.js';
import type { KnownPlace } from './place.js';

/** All places, the most used ones first. */
export const PLACES: readonly KnownPlace[] = [
  raw,
  kvm,
  proxmox,
  vmware,
  virtualbox,
  hyperv,
  aws,
  azure,
  google,
  openstack,
  xen,
  nutanix,
  kubevirt,
  harvester,
  forklift,
  incus,
  utm,
  digitalocean,
  oracle,
  linode,
  vultr,
];
