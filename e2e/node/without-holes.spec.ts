// Outputs without holes, for places that refuse sparse files.

import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { cli, decant, run } from '../support/command.js';
import { diskUsage, flush, qemuImg, small } from '../support/images.js';
import { expect, test } from '../support/node.js';

// (options, whether the file has holes)
for (const [options, isSparse] of [
  [['-O', 'raw'], true],
  [['-O', 'raw', '-S', '0'], false],
  [['-O', 'vpc', '-S', '0'], false],
  [['-O', 'vdi', '-o', 'static=on', '-S', '0'], false],
  [['-O', 'vhdx', '-o', 'subformat=fixed'], true],
  [['-O', 'vhdx', '-o', 'subformat=fixed', '-S', '0'], false],
  [['-O', 'vhdx', '-o', 'subformat=fixed', '--for', 'hyperv'], false],
  [['-O', 'vpc', '-o', 'subformat=fixed', '--for', 'hyperv'], false],
  [['-O', 'vpc', '-o', 'subformat=fixed', '--for', 'hyperv', '-S', '4k'], true],
] as const) {
  const tag = options.join(' ') === '-O raw -S 0' ? [] : ['@full'];
  test(`${options.join(' ')} ${isSparse ? 'has' : 'has no'} holes`, { tag }, ({ folder }) => {
    const image = small.zlib();
    const [output, slow] = [join(folder, 'out'), join(folder, 'slow')];
    const { status, stderr } = decant('convert', ...options, image, output);
    expect(status).toBe(0);
    flush(output);
    expect(diskUsage(output) < statSync(output).size).toBe(isSparse);
    expect(stderr.includes('on the disk, since it has no holes')).toBe(!isSparse);
    if (isSparse) return;
    // Without fallocate, zeros are written.
    const env = { ...process.env, PATH: folder };
    expect(run(process.execPath, [cli, 'convert', ...options, image, slow], { env })).toMatchObject({ status: 0 });
    flush(slow);
    expect(diskUsage(slow)).toBeGreaterThanOrEqual(statSync(slow).size);
    if (!['vhdx', 'vdi'].includes(options[1]))
      expect(readFileSync(slow).subarray(0, -512).equals(readFileSync(output).subarray(0, -512))).toBe(true);
    const format = options[1];
    qemuImg('compare', '-f', format, '-F', 'qcow2', output, image);
  });
}
