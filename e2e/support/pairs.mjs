// The generated matrix: what sources, targets and outputs are made of and checked by, in Node and in pages alike. It
// imports nothing, so that a page can import it.

/** The disk of every image here, in bytes: no whole number of blocks, nor of MiB. */
export const SIZE = 3 * 2 ** 20 + 1024;

/** Data at both ends, zeros in data, and a hole of a MiB and more. */
export function disk() {
  const bytes = new Uint8Array(SIZE);
  for (let at = 0; at < SIZE; at += 1) bytes[at] = ((at / 5) & 0xff) | 1;
  bytes.fill(0, 100_000, 180_000);
  bytes.fill(0, 2 ** 20, SIZE - 5000);
  return bytes;
}

/** What a raw disk is beside other formats: a person has to say that it is one. */
export const SAID = ['raw'];

/** The formats of encrypted disks, and the password of all encrypted images. */
export const LOCKED = ['luks'];
export const PASSWORD = 'correct horse';

/** @typedef {import('../../dist/browser.js').Input | import('../../dist/node.js').Input} Input */
/** @typedef {import('../../dist/browser.js').Output | import('../../dist/node.js').Output} Output */
/** @typedef {{ source: string; format: string; writer: string; target: string }} Row */
/** @typedef {{ output: Output; made(size: number): Promise<Blob | undefined> }} Place */
/** @typedef {{ name: string; recommended: Readonly<Record<string, string>> }} Format */
/** @typedef {{ convert(output: any, options: object): Promise<{ outputSize: number }> }} Converts */
/** @typedef {Converts & { formats: readonly Format[]; close(): Promise<void> }} Image */
/** @typedef {{ open(input: any, options?: object): Promise<Image> }} Package */

/**
 * Sources that there are everywhere, out of an image's bytes.
 * @type {Record<string, (image: Blob) => Input>}
 */
export const SOURCES = {
  Blob: (image) => image,
  'own object': (image) => ({
    size: image.size,
    read: async (offset, length) => new Uint8Array(await image.slice(offset, offset + length).arrayBuffer()),
  }),
};

/**
 * Targets that there are everywhere.
 * @type {Record<string, () => Place>}
 */
export const TARGETS = {
  WritableStream: () => {
    /** @type {Uint8Array<ArrayBuffer>[]} */
    const pieces = [];
    const write = (/** @type {Uint8Array} */ piece) => void pieces.push(new Uint8Array(piece));
    return { output: new WritableStream({ write }), made: async () => new Blob(pieces) };
  },
  'own, ascending, holes told': () => own({ ascending: true, hole: true }),
  'own, ascending': () => own({ ascending: true }),
  'own, ascending, the start last': () => own({ ascending: true, lateStart: 2 ** 20 }),
  'own, holes told': () => own({ hole: true }),
  own: () => own({}),
};

/**
 * A target that keeps what it gets. What was neither written nor told is not zero.
 * @param {{ ascending?: boolean; hole?: boolean; lateStart?: number }} abilities
 * @returns {Place}
 */
function own({ ascending = false, hole = false, lateStart = 0 }) {
  let bytes = new Uint8Array(0);
  let [end, closed] = [0, false];
  /** @param {number} offset @param {number} length */
  const part = (offset, length) => {
    const isStart = offset + length <= lateStart && (end === 0 || offset < end);
    if (ascending && !isStart && offset !== Math.max(end, end === 0 ? offset : 0))
      throw new Error(`out of order: ${offset}`);
    end = Math.max(end, offset + length);
    if (end <= bytes.length) return;
    const longer = new Uint8Array(end).fill(0xee);
    longer.set(bytes);
    bytes = longer;
  };
  return {
    output: {
      ascending,
      lateStart,
      async write(offset, piece) {
        part(offset, piece.length);
        bytes.set(piece, offset);
      },
      ...(hole && {
        async hole(/** @type {number} */ offset, /** @type {number} */ length) {
          part(offset, length);
          bytes.fill(0, offset, offset + length);
        },
      }),
      async close() {
        closed = true;
      },
      async abort() {},
    },
    made: async () => {
      if (!closed) throw new Error('it was not closed');
      return new Blob([bytes]);
    },
  };
}

const unzipped = (/** @type {Blob} */ blob) => blob.stream().pipeThrough(new DecompressionStream('gzip'));

/**
 * The first bytes of a stream, which is read no further.
 * @param {ReadableStream<Uint8Array>} stream
 * @param {number} length
 */
async function head(stream, length) {
  const pieces = [];
  let held = 0;
  const reader = stream.getReader();
  for (let next = await reader.read(); !next.done && held < length; next = await reader.read()) {
    pieces.push(new Uint8Array(next.value));
    held += next.value.length;
  }
  await reader.cancel();
  return new Blob(pieces);
}

/**
 * The disk in a dynamic VHD.
 * @param {Blob} output
 */
async function dynamicVhd(output) {
  const SECTOR = 512;
  const BLOCK = 2 ** 21;
  const bytes = new DataView(await output.arrayBuffer());
  const size = Number(bytes.getBigUint64(output.size - SECTOR + 48));
  const header = Number(bytes.getBigUint64(output.size - SECTOR + 16));
  const table = Number(bytes.getBigUint64(header + 16));
  const disk = [];
  for (let number = 0; number * BLOCK < size; number += 1) {
    const sector = bytes.getUint32(table + number * 4);
    // After the bitmap of its sectors.
    const data = (sector + 1) * SECTOR;
    disk.push(sector === 0xffffffff ? new Uint8Array(BLOCK) : output.slice(data, data + BLOCK));
  }
  return new Blob(disk).slice(0, size);
}

/**
 * How the disk, with the zeros that follow it, is read out of an output.
 * @type {Record<string, (output: Blob) => Promise<Blob>>}
 */
const DISKS = {
  raw: async (output) => output,
  vpc: async (output) => output.slice(0, -512),
  'vpc, dynamic': dynamicVhd,
  'raw.gz': (output) => new Response(unzipped(output)).blob(),
  // It has a GiB, of which other tests read all; compressed, the disk is well within the first bytes.
  'tar.gz': async (output) => (await head(unzipped(output.slice(0, 32 << 10)), 512 + SIZE + 4096)).slice(512),
};

/**
 * Writers that are another form of a registered format, by options that it does not recommend.
 * @type {Record<string, { format: string; formatOptions: Record<string, string> }>}
 */
export const FORMS = {
  'vpc, dynamic': { format: 'vpc', formatOptions: { subformat: 'dynamic' } },
  'vhdx, fixed': { format: 'vhdx', formatOptions: { subformat: 'fixed' } },
  'vdi, fixed': { format: 'vdi', formatOptions: { static: 'on' } },
};

/** Writers whose outputs Decant reads back; other tests read them by other programs. */
const READ_BACK = ['qcow2', 'vmdk', 'vhdx', 'vhdx, fixed', 'vdi', 'vdi, fixed', 'raw.zst', 'raw.xz', 'ova'];

/**
 * The disk in an output of `writer`, read by Decant.
 * @param {Package} decant
 * @param {string} writer
 * @param {Blob} output
 */
async function readBack({ open }, writer, output) {
  // In Node, a Blob of a file cannot be sent to workers.
  const image = await open(
    SOURCES['own object']?.(output),
    writer.startsWith('raw.') ? { inputFormat: 'raw', unpack: true } : {},
  );
  try {
    /** @type {Uint8Array<ArrayBuffer>[]} */
    const pieces = [];
    const write = (/** @type {Uint8Array} */ piece) => void pieces.push(new Uint8Array(piece));
    await image.convert(new WritableStream({ write }), {});
    return new Blob(pieces);
  } finally {
    await image.close();
  }
}

/**
 * The fault of an output; undefined if there is none.
 * @param {Package} decant
 * @param {string} writer
 * @param {Blob} output
 */
export async function complaint(decant, writer, output) {
  const read = READ_BACK.includes(writer)
    ? (/** @type {Blob} */ blob) => readBack(decant, writer, blob)
    : DISKS[writer];
  if (!read) return `a line is missing in DISKS that says how the disk is read out of ${writer}`;
  const made = new Uint8Array(await (await read(output)).arrayBuffer());
  if (made.length < SIZE) return `${made.length} bytes of the disk`;
  const expected = disk();
  let wrong = 0;
  while (wrong < SIZE && made[wrong] === expected[wrong]) wrong += 1;
  if (wrong < SIZE) return `another byte at ${wrong}`;
  return made.subarray(SIZE).every((byte) => byte === 0) ? undefined : 'no zeros behind the disk';
}

/**
 * The format of a writer, and its options: those of the form, or those that the format recommends.
 * @param {Image} image
 * @param {string} writer
 */
function formOf({ formats }, writer) {
  const recommended = formats.find(({ name }) => name === writer)?.recommended ?? {};
  return FORMS[writer] ?? { format: writer, formatOptions: recommended };
}

/**
 * Converts an image; returns what is wrong, or the kind and the sentence of the error. Where the place does not tell
 * what was made, the caller has to look.
 * @param {Package} decant
 * @param {Row} row
 * @param {Input} input
 * @param {Place} place
 * @param {import('../../dist/browser.js').OpenOptions} options
 */
export async function convert(decant, { format, writer }, input, place, options) {
  try {
    const said = SAID.includes(format) ? { inputFormat: format } : {};
    const locked = LOCKED.includes(format) ? { password: PASSWORD } : {};
    const image = await decant.open(input, { ...options, ...said, ...locked });
    try {
      const { outputSize } = await image.convert(place.output, { ...formOf(image, writer), twoPass: true });
      const made = await place.made(outputSize);
      if (!made) return undefined;
      return made.size === outputSize ? await complaint(decant, writer, made) : `${made.size} bytes, not ${outputSize}`;
    } finally {
      await image.close();
    }
  } catch (thrown) {
    const { kind, message } = /** @type {{ kind?: string; message: string }} */ (thrown);
    return `${kind}: ${message}`;
  }
}

/**
 * The rows of a scope: in the short one each member once, with the first of the other roles; in the full one every two
 * roles that meet; in the long one all.
 * @param {Record<keyof Row, string[]>} members
 * @param {'short' | 'full' | 'long'} scope
 * @returns {Row[]}
 */
export function rowsOf({ source: sources, format: formats, writer: writers, target: targets }, scope) {
  const rows = sources.flatMap((source) =>
    formats.flatMap((format) =>
      writers.flatMap((writer) => targets.map((target) => ({ source, format, writer, target }))),
    ),
  );
  if (scope === 'long') return rows;
  return rows.filter(({ source, format, writer, target }) => {
    const isFirst = [source === sources[0], format === formats[0], writer === writers[0], target === targets[0]];
    if (scope === 'short') return isFirst.filter((first) => !first).length <= 1;
    return [0, 1, 2].some((at) => isFirst.every((first, role) => first || role === at || role === at + 1));
  });
}

/**
 * Which rows are refused in Node, by the members that they have, and a part of what is said.
 * @type {(Partial<Row> & { says: string })[]}
 */
export const REFUSED_IN_NODE = [
  ...['storage', 'folder', 'download'].map((target) => ({
    target,
    says: 'usage: In Node, an output must be a path, a file URL',
  })),
  ...['qcow2', 'vmdk', 'vpc, dynamic', 'vhdx', 'vdi', 'raw.gz', 'raw.zst', 'raw.xz', 'tar.gz', 'ova'].map((writer) => ({
    writer,
    target: 'device',
    says: 'is written in place, so the size of the output must be known',
  })),
];

/**
 * The same in a page.
 * @type {typeof REFUSED_IN_NODE}
 */
export const REFUSED_IN_PAGES = [
  { source: 'path', says: 'usage: In a browser, an image must be a File, a Blob' },
  { target: 'path', says: 'usage: In a browser, an output must be a file handle, { folder, name }' },
];

/**
 * How a row is refused; undefined where it is none that is.
 * @param {typeof REFUSED_IN_NODE} refused
 * @param {Row} row
 */
export function refusal(refused, row) {
  const names = /** @type {(keyof Row)[]} */ (['source', 'format', 'writer', 'target']);
  return refused.find((one) => names.every((name) => one[name] === undefined || one[name] === row[name]))?.says;
}
