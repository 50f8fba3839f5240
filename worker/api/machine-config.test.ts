// The disks that configurations of virtual machines name.

import { expect, test } from 'vitest';
import { machineOf, snapshotsOf } from './machine-config.js';

const VMX = `.encoding = "UTF-8"
displayName = "My VM = 1"
scsi0.present = "TRUE"
scsi0:0.present = "TRUE"
scsi0:0.fileName = "vm-000002.vmdk"
SATA0:1.FILENAME="/vmfs/volumes/1/data.vmdk"
sata0:1.present = "FALSE"
nvme0:0.fileName = "fast disk.vmdk"\r
ide1:0.fileName = "boot.iso"
ide1:0.deviceType = "cdrom-image"
ide1:1.deviceType = "atapi-cdrom"
ide1:1.fileName = "auto detect"
floppy0.fileName = "a.flp"
serial0.fileName = "out.txt"
`;

const attached = (kind: string, uuid: string) =>
  `<AttachedDevice type="${kind}" port="0"><Image uuid="{${uuid}}"/></AttachedDevice>`;
const VBOX = `<?xml version="1.0"?><VirtualBox version="1.19"><Machine uuid="{9}" name="a &amp; b" OSType="x"><MediaRegistry>
<HardDisks><HardDisk uuid="{1}" location="base.vdi" type="Normal"><HardDisk uuid="{2}" location="Snapshots/{2}.vdi"/></HardDisk>
<HardDisk uuid="{4}" location="x.vdi"/></HardDisks><DVDImages><Image uuid="{3}" location="cd.iso"/></DVDImages></MediaRegistry>
<Snapshot uuid="{s1}" name="one" timeStamp="2024-05-06T07:08:09Z"><Hardware>${attached('HardDisk', '1')}</Hardware><Snapshots><Snapshot name="two">${attached('HardDisk', '4')}
</Snapshot><Snapshot/></Snapshots></Snapshot><Hardware>${attached('HardDisk', '2')}${attached('DVD', '3')}</Hardware></Machine></VirtualBox>`;

const FILES = '<File ovf:id="f1" ovf:href="a.vmdk"/><File ovf:id="f2" ovf:href="b.vmdk"/>';
const DISKS = '<Disk ovf:fileRef="f2"/><Disk ovf:fileRef="f1"/>';

test.for<[what: string, format: 'vmx' | 'vbox' | 'ovf', text: string, disks: string[], name?: string]>([
  ['VMware', 'vmx', VMX, ['vm-000002.vmdk', 'fast disk.vmdk'], 'My VM = 1'],
  ['VMware, no text', 'vmx', '=\n==\n\ufffd="\n.fileName\nscsi0:0.fileNam', []],
  ['VirtualBox', 'vbox', VBOX, ['Snapshots/{2}.vdi'], 'a & b'],
  [
    'OVF',
    'ovf',
    `<Envelope><References>${FILES}</References>${DISKS}<VirtualSystem ovf:id="vm"/></Envelope>`,
    ['b.vmdk', 'a.vmdk'],
    'vm',
  ],
  ['OVF, a name', 'ovf', '<VirtualSystem id="vm"><Info>A</Info><o:Name> web &amp; db\n</o:Name>', [], 'web & db'],
  [
    'OVF, an empty name',
    'ovf',
    '<Name>a</Name><VirtualSystem id="vm"><Name></Name><ElementName>b</ElementName>',
    [],
    'vm',
  ],
  ['OVF 0.9', 'ovf', '<Content ovf:id="old" xsi:type="ovf:VirtualSystem_Type"><Info>A</Info>', [], 'old'],
  ['OVF, a name that is cut off', 'ovf', '<VirtualSystem id="vm"><Name>web', [], 'vm'],
  ['OVF, disks first', 'ovf', DISKS + FILES, ['b.vmdk', 'a.vmdk']],
  ['OVF, a missing file', 'ovf', `${FILES}<Disk fileRef="f3"/><Disk fileRef="f1"/>`, ['a.vmdk']],
  ['OVF, a file twice', 'ovf', `${FILES}<Disk fileRef="f1"/><Disk fileRef="f1"/>`, ['a.vmdk']],
  [
    'OVF, other prefixes and quotes',
    'ovf',
    `<o:File\n\tx:size='1'  x:href = 'a>"b' x:id='1'\n></o:File><o:Disk x:fileRef = "1" />`,
    ['a>"b'],
  ],
  [
    'OVF, characters',
    'ovf',
    `<File id='&#49;' href='&lt;&amp;&#x61;&apos;&quot;&gt;&amp;lt;&no;&#x110000;'/><Disk fileRef='1'/>`,
    [`<&a'">&lt;&no;&#x110000;`],
  ],
  [
    'OVF, comments',
    'ovf',
    `<!-- <Disk fileRef='f1'/> -->${FILES}<![CDATA[<Disk fileRef='f1'/>]]><Disk fileRef="f2"/><!-- <Disk fileRef='f1'/>`,
    ['b.vmdk'],
  ],
  ['OVF, similar names', 'ovf', `${FILES}<DiskSection fileRef='f1'/><Disk xfileRef='f1'/></Disk fileRef='f1'>`, []],
  ['no document', 'ovf', `<<<>>>&&&="'é`, []],
])('%s', ([, format, text, disks, name]) => {
  const { snapshots: _, ...machine } = machineOf(text, format);
  expect(machine).toEqual({ disks, ...(name === undefined ? {} : { name }) });
});

test.each([
  ['capacity="8192"', { size: 8192, unit: 1 }],
  ['capacity="10" ovf:capacityAllocationUnits="byte * 2^30"', { size: 10 * 2 ** 30, unit: 2 ** 30 }],
  ['capacity="10" capacityAllocationUnits="byte*1024 * 1024"', { size: 10 * 2 ** 20, unit: 2 ** 20 }],
  ['capacity="3" capacityAllocationUnits="byte * 10^9"', { size: 3e9, unit: 1e9 }],
  ['capacity="20" capacityAllocationUnits="GigaBytes"', { size: 20 * 2 ** 30, unit: 2 ** 30 }],
  ['capacity="$' + '{size}"', undefined],
  ['capacity="-1"', undefined],
  ['capacity="1" capacityAllocationUnits="bit"', undefined],
  ['capacity="1" capacityAllocationUnits="byte * 2^64"', undefined],
  ['capacity="1" capacityAllocationUnits="byte * "', undefined],
  ['', undefined],
])('OVF: the capacity in %s', (attributes, expected) => {
  const { capacities } = machineOf(`${FILES}<Disk fileRef="f1" ${attributes}/>`, 'ovf');
  expect(capacities?.get('a.vmdk')).toEqual(expected);
});

test('OVF: files in pieces', () => {
  const file = (name: string, attributes: string) => `<File ovf:href="${name}" ${attributes}/>`;
  const files = [
    file('a', 'ovf:size="10" ovf:chunkSize="4"'),
    file('b', 'ovf:size="4" ovf:chunkSize="4"'),
    file('c', 'ovf:size="4"'),
    file('d', 'ovf:chunkSize="4"'),
    file('e', 'ovf:size="-4" ovf:chunkSize="x"'),
    file('f', 'ovf:size="4" ovf:chunkSize="0"'),
  ];
  const { pieces } = machineOf(files.join(''), 'ovf');
  expect([...pieces!]).toEqual([
    ['a', 3],
    ['b', 1],
  ]);
});

const VMSD = `.encoding = "UTF-8"
snapshot.lastUID = "2"
snapshot.current = "2"
snapshot0.uid = "1"
snapshot0.displayName = "Before = update"
snapshot0.createTimeHigh = "396000"
snapshot0.createTimeLow = "-5"
snapshot0.numDisks = "2"
snapshot0.disk0.fileName = "vm.vmdk"
snapshot0.disk0.node = "scsi0:0"
snapshot0.disk1.fileName = "data.vmdk"
snapshot1.uid = "2"
snapshot1.disk0.fileName = "vm-000001.vmdk"
snapshot1.disk1.fileName = "data.vmdk"
snapshot.numSnapshots = "2"
`;

test('snapshots of VMware and VirtualBox', () => {
  expect(snapshotsOf(VMSD)).toEqual([
    { id: '1', name: 'Before = update', dateSeconds: 1_700_811_344, disks: ['vm.vmdk', 'data.vmdk'] },
    { id: '2', name: '', dateSeconds: 0, disks: ['vm-000001.vmdk', 'data.vmdk'] },
  ]);
  expect(machineOf(VBOX, 'vbox').snapshots).toEqual([
    { id: '{s1}', name: 'one', dateSeconds: 1_714_979_289, disks: ['base.vdi'] },
    { id: '', name: 'two', dateSeconds: 0, disks: ['x.vdi'] },
    { id: '', name: '', dateSeconds: 0, disks: [] },
  ]);
});

const KEY = '<Property name="CRYPT/KeyId" value="k"/>';
const hardDisk = (path: string, content = '') => `<HardDisk uuid="{${path}}" location="${path}">${content}</HardDisk>`;

test.for<[what: string, format: 'vmx' | 'vbox' | 'ovf', text: string, encrypted: string[], isEncrypted?: boolean]>([
  ['VirtualBox', 'vbox', hardDisk('a.vdi', KEY) + hardDisk('b.vdi'), ['a.vdi']],
  ['VirtualBox, a key store', 'vbox', hardDisk('a', '<Property name="CRYPT/KeyStore" value="k"></Property>'), ['a']],
  ['VirtualBox, children', 'vbox', hardDisk('a', KEY + hardDisk('b', hardDisk('c'))), ['a', 'b', 'c']],
  ['VirtualBox, a child of two', 'vbox', hardDisk('a', hardDisk('b', KEY) + hardDisk('c')), ['b']],
  ['VirtualBox, an empty key', 'vbox', hardDisk('a', KEY.replace('"k"', '""')), []],
  ['VirtualBox, cut off', 'vbox', `<HardDisk location="a">${KEY}`, ['a']],
  ['VirtualBox, hostile tags', 'vbox', `</HardDisk>${KEY}</HardDisk><HardDisk>${KEY}`, []],
  [
    'VirtualBox, the machine',
    'vbox',
    '<VirtualBox ><MachineEncrypted uuid="{1}">a</MachineEncrypted></VirtualBox>',
    [],
    true,
  ],
  ['VMware', 'vmx', '.encoding = "UTF-8"\nencryption.keySafe = "vmware:key/list/"\nencryption.data = "a"', [], true],
  ['OVF', 'ovf', `${FILES}<xenc:CipherReference URI="f1"/>`, ['f1', 'a.vmdk']],
  ['OVF, a list', 'ovf', `<xenc:DataReference URI="#f2"/>${FILES}`, ['f2', 'b.vmdk']],
  ['OVF, a path', 'ovf', `${FILES}<CipherReference URI="b.vmdk"/>`, ['b.vmdk']],
  ['OVF, a part of the descriptor', 'ovf', '<EncryptedData Id="a"><CipherData/></EncryptedData>', [], true],
])('encrypted: %s', ([, format, text, encrypted, isEncrypted]) => {
  const machine = machineOf(text, format);
  expect([...(machine.encrypted ?? [])].toSorted()).toEqual(encrypted.toSorted());
  expect(machine.isEncrypted).toBe(isEncrypted);
});

/** Texts of 1 MiB that a careless expression would match in very many ways: the test would not end. */
test.for([
  '<',
  '<a',
  '<a ',
  '<a "',
  `<a '"`,
  '<a b=',
  'a',
  ' ',
  '&',
  '&a',
  '<!--',
  '<![CDATA[',
  '=',
  '<a/',
  'a=',
  '"',
  `<a b='c`,
])('a hostile text of %o', (part) => {
  const text = part.repeat(Math.ceil((1 << 20) / part.length));
  for (const format of ['vmx', 'vbox', 'ovf'] as const) {
    expect(machineOf(text, format).disks).toEqual([]);
    expect(machineOf(`<Disk ${text}`, format).disks).toEqual([]);
    expect(snapshotsOf(text)).toEqual([]);
    expect(machineOf(`<Disk a="${text.replaceAll('"', '')}"/>`, format).disks).toEqual([]);
  }
});
