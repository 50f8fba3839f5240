// The disk of a machine, opened in place of the configuration.

import { expect, test } from 'vitest';
import type { ImageSetup } from '../client-side/image-session.js';
import type { DiskOfMachine } from '../messages/coordinator.js';
import { describeDisk, openDisk } from './opening.js';

const stated = { parents: [{ name: 'base.vmdk', isRaw: false }], isRaw: false, capacity: { size: 1, unit: 1 } };
const disk = (more: Partial<DiskOfMachine> = {}): DiskOfMachine => ({
  file: 1,
  number: 1,
  members: [
    { name: 'a', size: 1 },
    { name: 'b', size: 2 },
  ],
  snapshots: [],
  isInSnapshot: false,
  stated,
  ...more,
});

function setupWith(standsFor: string | undefined, chosen: number[] = []): ImageSetup {
  const companions = [{ name: 'other' }, { name: 'vm/b.vmdk', standsFor }];
  const sources = { companions, choose: (at: number) => chosen.push(at) };
  return { sources, settings: { name: 'vm.vmx', disk: 2, snapshot: 'one', salvage: true } } as unknown as ImageSetup;
}

test.each<[given: string | undefined, stated: string | undefined, inSnapshot: boolean, name: string]>([
  [undefined, undefined, false, 'vm/b.vmdk'],
  [undefined, 'b.vmdk', false, 'b.vmdk'],
  ['mine', 'b.vmdk', true, 'mine'],
  ['mine', 'b.vmdk.000000000', false, 'mine'],
])('the name %j, and the file that stands for %j', (given, standsFor, isInSnapshot, name) => {
  const chosen: number[] = [];
  const setup = setupWith(standsFor, chosen);
  openDisk(setup, disk({ isInSnapshot }), given);
  expect(chosen).toEqual([1]);
  const snapshot = isInSnapshot ? undefined : 'one';
  expect(setup.settings).toEqual({ name, disk: undefined, snapshot, stated, salvage: true });
});

test('the image is described as a disk of its machine', () => {
  const snapshots = [{ id: '1', name: 'one' }] as never[];
  const image = { info: { format: 'vmdk', unusedCompanions: ['x'], snapshots: [] }, disks: [] };
  const hardware = { cpus: 2 };
  describeDisk(image as never, disk({ machine: 'A machine', hardware, snapshots }));
  expect(image).toEqual({
    info: { format: 'vmdk', unusedCompanions: [], machine: 'A machine', hardware, snapshots },
    disks: [
      { name: 'a', size: 1 },
      { name: 'b', size: 2, format: 'vmdk' },
    ],
  });
  const before = image.info;
  describeDisk(image as never, disk());
  expect(image.info).not.toBe(before);
  expect([before, before.unusedCompanions, image.disks[0]].every(Object.isFrozen)).toBe(true);
  expect(image.info).toMatchObject({ machine: 'A machine', hardware, snapshots });
});
