// `--for` and `for`: an output for each place, judged by other programs, and the commands that come next.

import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { decant, program, run } from '../support/command.js';
import { images, qemuImg } from '../support/images.js';
import { expect, test } from '../support/node.js';

/** The formats by qemu-img's names, and archives. The beginning of the first command that comes next, if there is one. */
const PLACES: [place: string, format: string, next: string | undefined][] = [
  ['raw', 'raw', undefined],
  ['kvm', 'qcow2', 'virt-install '],
  ['proxmox', 'qcow2', 'qm create VMID '],
  ['vmware', 'vmdk', 'vmkfstools -i '],
  ['virtualbox', 'vdi', 'VBoxManage createvm '],
  ['hyperv', 'vhdx', 'fsutil sparse setflag '],
  ['aws', 'vmdk', 'aws s3 cp '],
  ['azure', 'vpc', 'az disk create '],
  ['google', 'tar.gz', 'gcloud storage cp '],
  ['openstack', 'qcow2', 'openstack image create '],
  ['xen', 'vpc', 'vm=$(xe vm-install '],
  ['nutanix', 'qcow2', 'acli image.create '],
  ['kubevirt', 'qcow2', 'virtctl image-upload '],
  ['harvester', 'qcow2', 'printf %s '],
  ['forklift', 'ova', 'cp '],
  ['incus', 'qcow2', 'incus image '],
  ['utm', 'qcow2', undefined],
  ['digitalocean', 'qcow2', 'doctl compute image create '],
  ['oracle', 'qcow2', 'oci os object put '],
  ['linode', 'raw.gz', 'linode-cli image-upload '],
  ['vultr', 'raw', 'vultr-cli snapshot create-url '],
];

/** In the short scope; other tests there have the other formats. */
const QUICK = ['kvm', 'azure'];

for (const [place, format, next] of PLACES) {
  test(`for ${place}`, { tag: QUICK.includes(place) ? [] : ['@full'] }, ({ folder }) => {
    const output = join(folder, "it's the disk");
    const { status, stdout, stderr } = decant('convert', '--for', place, images.zlib(), output);
    expect([status, stdout]).toEqual([0, '']);
    if (next === undefined) expect(stderr).not.toContain('next');
    else expect(stderr.slice(stderr.indexOf('decant: next'))).toContain(`:\ndecant:   ${next}`);
    const disk = rawOf(output, format, folder);
    if (place !== 'azure') return void qemuImg('compare', '-f', disk.format, '-F', 'qcow2', disk.path, images.zlib());
    // qemu-img reads its geometry.
    qemuImg('compare', '-f', 'raw', '-F', 'qcow2', disk.path, images.zlib());
    expect((statSync(output).size - 512) % 2 ** 20).toBe(0);
    expect(stderr).toContain(`--upload-size-bytes ${statSync(output).size}`);
  });
}

/** Returns a file in a format that qemu-img compares. */
function rawOf(output: string, format: string, folder: string): { path: string; format: string } {
  const path = join(folder, 'disk.raw');
  switch (format) {
    case 'raw.gz':
      run('bash', ['-c', `gzip -dc < "$1" > "$2"`, '-', output, path]);
      return { path, format: 'raw' };
    case 'tar.gz':
      run('tar', ['-C', folder, '-xzf', output]);
      return { path, format: 'raw' };
    case 'vpc':
    case 'ova':
      decant('convert', output, path);
      return { path, format: 'raw' };
    default:
      return { path: output, format };
  }
}

test('the name of the output and -O must fit the place', ({ folder }) => {
  for (const [args, message] of [
    [['--for', 'azure', '-O', 'qcow2'], 'Azure does not accept qcow2; it accepts vpc (subformat=fixed)'],
    [['--for', 'mars'], "There is no place 'mars'; the places are raw, kvm, "],
  ] as const) {
    const { status, stderr } = decant('convert', ...args, images.zlib(), join(folder, 'out'));
    expect(status).toBe(2);
    expect(stderr).toContain(message);
  }
});

test('a disk that is too large is refused before it is read', ({ folder }) => {
  const [large, output] = [join(folder, 'large.qcow2'), join(folder, 'out')];
  qemuImg('create', '-q', '-f', 'qcow2', large, '101G');
  const { status, stderr } = decant('convert', '--for', 'digitalocean', large, output);
  expect(status).toBe(1);
  expect(stderr).toContain('The disk has 101 GiB, but DigitalOcean accepts at most 100 GiB');
});

test('a disk that the best format cannot hold gets the next one', ({ folder }) => {
  const [large, output] = [join(folder, 'large.qcow2'), join(folder, 'out')];
  qemuImg('create', '-q', '-f', 'qcow2', large, '9T');
  const { place, made, chosen } = program<Record<'place' | 'made' | 'chosen', unknown>>(
    `const image = await decant.open(args[0]);
     const place = (await image.places()).find(({ name }) => name === 'virtualbox');
     await image.convert(args[1], { for: 'virtualbox' });
     const chosen = await image.convert(args[1], { for: 'virtualbox', format: 'vpc' }).catch(({ code }) => code);
     const made = await decant.open(args[1]);
     console.log(JSON.stringify({ place, made: made.info.format, chosen }));
     await Promise.all([image.close(), made.close()]);`,
    large,
    output,
  );
  expect(place).toMatchObject({ format: 'vmdk', extension: '.vmdk' });
  expect(place).not.toHaveProperty('refusal');
  expect([made, chosen]).toEqual(['vmdk', 'vhd-too-large']);
});

interface Listed {
  places: { name: string; format: string }[];
  outputSize: number;
  failed: [string, string][];
}

test('the API lists all places, and converts for one', ({ folder }) => {
  const output = join(folder, 'out');
  const { places, outputSize, failed } = program<Listed>(
    `const image = await decant.open(args[0]);
     const places = await image.places();
     const { outputSize } = await image.convert(args[1], { for: 'linode' });
     const failed = [];
     for (const options of [
       { for: 'linode', format: 'raw' },
       { for: 5 },
       { for: 'linode', formatOptions: { level: 5 } },
       { for: 'linode', formatOptions: null },
       { formatOptions: null },
     ]) {
       await image.convert(args[1], options).catch(({ kind, code }) => failed.push([kind, code]));
     }
     console.log(JSON.stringify({ places, outputSize, failed }));
     await image.close();`,
    images.zlib(),
    output,
  );
  expect(places.map(({ name, format }) => [name, format])).toEqual(PLACES.map(([place, format]) => [place, format]));
  expect(places.find(({ name }) => name === 'azure')).toMatchObject({
    label: 'Azure',
    formatOptions: { subformat: 'fixed' },
    extension: '.vhd',
    outputSize: expect.any(Number),
  });
  expect(outputSize).toBe(statSync(output).size);
  expect(gunzipSync(readFileSync(output)).length).toBe(
    JSON.parse(qemuImg('info', '--output=json', images.zlib()))['virtual-size'],
  );
  expect(failed).toEqual([
    ['usage', 'place-format'],
    ['usage', 'unknown-place'],
    ['usage', 'usage'],
    ['usage', 'usage'],
    ['usage', 'usage'],
  ]);
});

/** The configuration of a machine with two disks. */
const MACHINE = [
  'config.version = "8"',
  'displayName = "Web Server"',
  'memsize = "4096"',
  'numvcpus = "4"',
  'firmware = "efi"',
  'guestOS = "ubuntu-64"',
  'scsi0.virtualDev = "pvscsi"',
  ...['web.vmdk', 'data.vmdk'].flatMap((file, at) => [
    `scsi0:${at}.present = "TRUE"`,
    `scsi0:${at}.fileName = "${file}"`,
  ]),
];

test('all disks of a machine for a place: one script with its hardware', ({ folder }) => {
  const [machine, made] = [join(folder, 'web.vmx'), join(folder, 'made')];
  writeFileSync(machine, MACHINE.join('\n'));
  for (const file of ['web.vmdk', 'data.vmdk']) qemuImg('create', '-q', '-f', 'vmdk', join(folder, file), '1M');
  const { status, stderr } = decant('convert', '--for', 'proxmox', '--disk', 'all', machine, `${made}/`);
  expect(status).toBe(0);
  const [first, second] = [1, 2].map((number) => join(made, `web-disk${number}.qcow2`));
  expect(stderr.split('\n')).toEqual([
    `decant: made '${first}' from 'web.vmdk', disk 1 of 2`,
    `decant: made '${second}' from 'data.vmdk', disk 2 of 2`,
    expect.stringMatching(/^decant: note: Linux may need virtio drivers in its initramfs .*: https:\S+$/),
    'decant: next, with your own VMID, STORAGE:',
    expect.stringMatching(
      /^decant: {3}qm create VMID --name web-server --memory 4096 --cores 4 --ostype l26 --bios ovmf .*--efidisk0 STORAGE:1,/,
    ),
    `decant:   qm disk import VMID ${first} STORAGE --target-disk scsi0`,
    `decant:   qm disk import VMID ${second} STORAGE --target-disk scsi1`,
    'decant:   qm set VMID --boot order=scsi0',
    '',
  ]);
  // With -q, it says nothing.
  expect(decant('convert', '-q', '--for', 'kvm', '--disk', 'all', machine, `${made}/`).stderr).toBe('');
});

test('what the configuration does not state, the disk shows', ({ folder }) => {
  const disk = join(folder, 'disk.raw');
  const esp = 'C12A7328-F81F-11D2-BA4B-00A0C93EC93B';
  writeFileSync(disk, '');
  truncateSync(disk, 16 << 20);
  run('/usr/sbin/sfdisk', ['-q', disk], { input: `label: gpt\nsize=4MiB, type=${esp}\ntype=linux\n` });
  const { stderr } = decant('convert', '-f', 'raw', '--for', 'hyperv', disk, join(folder, 'disk.vhdx'));
  expect(stderr).toContain('decant: next, in PowerShell:\n');
  expect(stderr).toContain('-Generation 2 ');
  expect(stderr).toContain('note: Linux may need Hyper-V drivers in its initramfs');
});

test('an OVA for a place gets the hardware of its machine', ({ folder }) => {
  const [machine, made] = [join(folder, 'web.vmx'), join(folder, 'web.ova')];
  writeFileSync(machine, MACHINE.join('\n'));
  for (const file of ['web.vmdk', 'data.vmdk']) qemuImg('create', '-q', '-f', 'vmdk', join(folder, file), '1M');
  const hardware = program<Record<string, unknown>>(
    `const image = await decant.open(args[0], { companions: args.slice(2), disk: 1 });
     await image.convert(args[1], { for: 'forklift' });
     const made = await decant.open(args[1]);
     console.log(JSON.stringify(made.info.hardware));
     await Promise.all([image.close(), made.close()]);`,
    machine,
    made,
    join(folder, 'web.vmdk'),
    join(folder, 'data.vmdk'),
  );
  expect(hardware).toMatchObject({ cpus: 4, memory: 2 ** 32, firmware: 'efi', os: 'ubuntu' });
});

test('a place that the disk does not fit says why', ({ folder }) => {
  const large = join(folder, 'large.qcow2');
  qemuImg('create', '-q', '-f', 'qcow2', large, '3T');
  const refused = program<[string, string][]>(
    `const image = await decant.open(args[0]);
     const refused = (await image.places()).filter(({ refusal }) => refusal).map(({ name, refusal }) => [name, refusal.code]);
     console.log(JSON.stringify(refused));
     await image.close();`,
    large,
  );
  expect(refused).toEqual([
    ['azure', 'vhd-too-large'],
    ['xen', 'vhd-too-large'],
    ['digitalocean', 'place-limit'],
  ]);
});
