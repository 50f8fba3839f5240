// Images whose names would do harm if shown unchanged.

const CLUSTER = 2 << 20;
const TABLE = 2 * CLUSTER;

/** Each character that is shown escaped, and how: of `shown.json`. */
export const HIDDEN = /[\p{Cc}\p{Zl}\p{Zp}\p{DI}\p{Cs}\ufff9-\ufffb]/u;

/** Short enough for every field: a colour, a title, a forged line, marks of direction and of no width. */
export const NASTY = '\u001b[31m\u009b2J\nb= \u202e\u2066\u200b';
/** How it is shown. */
export const NASTY_SHOWN = '\\u001b[31m\\u009b2J\\u000ab= \\u202e\\u2066\\u200b';

const be = (bytes: number, value: number): Buffer => {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value, Math.max(0, bytes - 6), Math.min(bytes, 6));
  return buffer;
};

type Patch = [at: number, bytes: Buffer | string];

/** An image without data, of clusters of 2 MiB, with header extensions and a name of a backing file. */
function image(extensions: [type: number, content: string][], backing: string | undefined, ...more: Patch[]): Buffer {
  const parts = extensions.map(([type, content]) => {
    const bytes = Buffer.from(content);
    return Buffer.concat([be(4, type), be(4, bytes.length), bytes, Buffer.alloc(-bytes.length & 7)]);
  });
  const header = Buffer.concat(parts);
  const name = 104 + header.length + 8;
  const patches: Patch[] = [
    [0, Buffer.from('514649fb00000003', 'hex')],
    [20, be(4, 21)],
    [24, be(8, 1 << 20)],
    [36, be(4, 1)],
    [40, be(8, CLUSTER)],
    [96, be(4, 4)],
    [100, be(4, 104)],
    [104, header],
    ...(backing === undefined
      ? []
      : ([
          [8, be(8, name)],
          [16, be(4, Buffer.byteLength(backing))],
          [name, backing],
        ] satisfies Patch[])),
    ...more,
  ];
  const end = Math.max(TABLE, ...patches.map(([at, bytes]) => at + Buffer.byteLength(bytes)));
  const whole = Buffer.alloc(end);
  for (const [at, bytes] of patches) Buffer.from(bytes).copy(whole, at);
  return whole;
}

function luks(mode: string): Buffer {
  const header = Buffer.alloc(592);
  header.write('4c554b53babe0001', 'hex');
  header.write('aes', 8);
  header.write(mode, 40);
  header.write('sha256', 72);
  header.writeUInt32BE(32, 108);
  header.writeUInt32BE(1, 164);
  // The extension has two numbers instead of a text.
  const extension = Buffer.concat([be(4, 0x0537be77), be(4, 16), be(8, TABLE), be(8, header.length)]);
  return image([], undefined, [35, be(1, 2)], [104, extension], [TABLE, header]);
}

function snapshots(name: string): Buffer {
  const [id, tag] = [Buffer.from(`1${name}`), Buffer.from(name)];
  const fixed = Buffer.alloc(40);
  fixed.writeUInt16BE(id.length, 12);
  fixed.writeUInt16BE(tag.length, 14);
  return image([], undefined, [60, be(4, 1)], [64, be(8, TABLE)], [TABLE, Buffer.concat([fixed, id, tag])]);
}

const [BACKING_FORMAT, DATA_FILE, FEATURE_NAMES] = [0xe2792aca, 0x44415441, 0x6803f857];

/** The places of a name in an image: the maximum length in bytes, and an image with it there. */
export const places = {
  'backing file': { room: 1023, make: (name: string) => image([], name) },
  'backing format': { room: 1 << 20, make: (name: string) => image([[BACKING_FORMAT, name]], 'base.raw') },
  'data file': { room: 1 << 20, make: (name: string) => image([[DATA_FILE, name]], undefined, [79, be(1, 4)]) },
  snapshot: { room: 65_534, make: snapshots },
  'LUKS mode': { room: 32, make: luks },
  feature: {
    room: 46,
    make: (name: string) => image([[FEATURE_NAMES, `\0\t${name.padEnd(46, '\0')}`]], undefined, [78, be(1, 2)]),
  },
} satisfies Record<string, { room: number; make: (name: string) => Buffer }>;
