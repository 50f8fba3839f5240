// A virtual machine starts from each output, and reads the disk as it was. The full scope tries UEFI with a few outputs only.

import { join } from 'node:path';
import * as decant from '../../dist/node.js';
import { bootable, FIRMWARE, startGuest } from '../support/guest.js';
import { hashFile } from '../support/images.js';
import { expect, test } from '../support/node.js';
import { diskOf, OUTPUT_NAMES, OUTPUTS, type OutputName } from '../support/outputs.js';

const BY_UEFI: OutputName[] = ['raw', 'dynamic VHDX', 'OVA'];

for (const name of OUTPUT_NAMES) {
  for (const firmware of FIRMWARE) {
    const tag = firmware === 'BIOS' || BY_UEFI.includes(name) ? '@full' : '@long';
    test(`${name}: a virtual machine starts by ${firmware}`, { tag }, async ({ folder }) => {
      const path = join(folder, 'out');
      const image = await decant.open(bootable(), { inputFormat: 'raw' });
      await image.convert(path, OUTPUTS[name]);
      await image.close();
      const { status, stdout, stderr } = startGuest(diskOf(path, OUTPUTS[name].format), firmware, folder);
      expect(stdout).toContain(`disk: ${hashFile(bootable())}  -`);
      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    });
  }
}
