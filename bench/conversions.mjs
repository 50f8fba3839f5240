// Compares whole conversions with qemu-img, and with bare loops that copy the same data in the same way.

import { execFileSync } from 'node:child_process';
import { rmSync, statSync } from 'node:fs';
import { builds, quick } from './arguments.mjs';
import { at, DISK, image, kinds, PART, part } from './images.mjs';
import { alternate, best, median, OUT, perBuild, print, printRatios, timed } from './report.mjs';

const MIB = 1 << 20;

const qemu =
  (path, ...options) =>
  () =>
    timed('qemu-img', 'convert', ...options, '-O', 'raw', path, OUT).real;

/** Every kind of image, in Node and to the private storage of Chromium. */
export async function conversions(browser) {
  for (const kind of quick ? ['zlib', 'uncompressed'] : kinds) {
    const path = image(kind);
    execFileSync('cat', [path], { stdio: 'ignore' });
    const busy = [];
    const node = ({ name, command }) => {
      const { real, busy: seconds } = timed(process.execPath, command, 'convert', path, OUT);
      busy.push({ name, cores: seconds / real, seconds });
      return real;
    };
    print(`\n## ${kind}, ${(statSync(path).size / 1e6).toFixed(0)} MB`);
    const runners = {
      'qemu-img convert -W': qemu(path, '-W'),
      ...perBuild('Node', node),
      ...perBuild('Chromium to OPFS, workers', (build) => browser.convert(build, path, 'workers')),
    };
    const more = {
      ...perBuild('Chromium to OPFS, threads', (build) => browser.convert(build, path, 'threads')),
      ...(kind.includes('scattered') ? {} : { 'qemu-img convert': qemu(path) }),
      ...(kind === 'uncompressed' && !quick ? await bareCopy(browser, path) : {}),
    };
    printRatios(await alternate(quick ? runners : { ...runners, ...more }), 'qemu-img convert -W');
    for (const { name } of builds) {
      const of = (figure) => median(busy.filter((run) => run.name === name).map((run) => run[figure]));
      print(`\n${name}, Node: ${of('cores').toFixed(2)} cores busy, ${of('seconds').toFixed(1)} CPU seconds.`);
    }
  }
}

const combine = (slices, aheads, writes) =>
  slices.flatMap((slice) => aheads.flatMap((ahead) => writes.map((write) => ({ slice, ahead, write }))));

const describe = ({ slice, ahead, write }) =>
  `slices of ${slice / MIB} MiB, ${ahead} ahead, writes of ${write / MIB} MiB`;

/** The options of the fastest bare copy to the private storage. */
let fastest;

/** The fastest bare copy to the private storage, found by a sweep. */
export async function bareCopy(browser, path) {
  fastest ??= await best(combine([4 * MIB, 16 * MIB, 32 * MIB], [1, 2], [MIB / 4, MIB]), (options) =>
    browser.rival('storage', path, { ...options, length: DISK }),
  );
  const options = fastest;
  return { [`bare copy, ${describe(options)}`]: () => browser.rival('storage', path, { ...options, length: DISK }) };
}

/** The ways to a real file, with uncompressed data, so that only copying is measured. */
export async function realFiles(browser) {
  const path = part();
  const rival = (way) => (options) => browser.rival(way, path, { ...options, length: PART });
  print('\n## uncompressed, 1 GiB, to a download, until the file is on the disk');
  const storage = await best(combine([16 * MIB, 32 * MIB], [1, 2], [MIB / 4, MIB]), rival('storage'));
  const bareDownload = `bare copy and download, ${describe(storage)}`;
  const downloads = {
    [bareDownload]: () => rival('download')(storage),
    ...perBuild('download', (build) => browser.download(build, path)),
  };
  printRatios(await alternate(downloads), bareDownload);
  await browser.restartWithFile(at('picked.raw'));
  print('\n## uncompressed, 1 GiB, to a file that a save dialog has picked');
  const sizes = [4 * MIB, 16 * MIB];
  const candidates = [0, 1].flatMap((ahead) => sizes.map((slice) => ({ slice, ahead, write: slice })));
  const writable = await best(candidates, rival('picked'));
  const bareWritable = `bare createWritable and close, ${describe(writable)}`;
  const picked = {
    [bareWritable]: () => rival('picked')(writable),
    ...perBuild('picked file', (build) => browser.picked(build, path)),
  };
  printRatios(await alternate(picked), bareWritable);
  rmSync(at('picked.raw'), { force: true });
}
