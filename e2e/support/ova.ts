// An OVA with a manifest.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** Makes an OVA in `folder` of the file `disk`, and a manifest with its SHA-256 `digest`. Returns its path. */
export function ova(folder: string, disk: string, digest: string): string {
  writeFileSync(join(folder, 'a.ovf'), '<xml/>');
  writeFileSync(join(folder, 'a.mf'), `SHA256(${basename(disk)})= ${digest}\n`);
  const members = ['a.ovf', 'a.mf', '-C', dirname(disk), basename(disk)];
  execFileSync('tar', ['--format=ustar', '-cf', 'a.ova', ...members], { cwd: folder });
  return join(folder, 'a.ova');
}

const MACHINE = '<VirtualSystem ovf:id="vm"><Info>A machine</Info><Name>web &amp; db</Name></VirtualSystem>';

/**
 * Makes the OVA `name` of a virtual machine in `folder`, without a manifest. Its members are `disks`, paths; its descriptor lists
 * them in reverse order, states their `capacities` in bytes, if given, and calls the machine `web & db`.
 */
export function ovaOfSeveral(folder: string, name: string, disks: string[], capacities: number[] = []): string {
  const files = disks.map((disk, at) => `<File ovf:id="file${at}" ovf:href="${basename(disk)}"/>`);
  const capacity = (at: number) => (capacities[at] === undefined ? '' : ` ovf:capacity="${capacities[at]}"`);
  const listed = disks
    .map((_, at) => `<Disk ovf:diskId="disk${at}" ovf:fileRef="file${at}"${capacity(at)}/>`)
    .reverse();
  const references = `<References>${files.join('')}</References>`;
  const section = `<DiskSection>${listed.join('')}</DiskSection>`;
  const head = '<?xml version="1.0"?><Envelope xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1">';
  writeFileSync(join(folder, 'vm.ovf'), `${head}${references}${section}${MACHINE}</Envelope>`);
  const members = ['vm.ovf', ...disks.flatMap((disk) => ['-C', dirname(disk), basename(disk)])];
  execFileSync('tar', ['--format=ustar', '-cf', name, ...members], { cwd: folder });
  return join(folder, name);
}
