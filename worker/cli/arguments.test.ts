// Parsing of the command line, and its errors.

import { describe, expect, test } from 'vitest';
import { spoolFolder } from '../targets/node/spool-file.js';
import { type Command, parse as parseWords } from './arguments.js';

const OPENING = {
  format: undefined,
  companions: [],
  disk: undefined,
  snapshot: undefined,
  passwordFiles: [],
  headers: undefined,
  assumePassword: false,
  salvage: false,
  forceParent: false,
  checkManifest: false,
  unpack: false,
};

const CONVERT = {
  name: 'convert',
  image: 'a',
  output: 'b',
  upload: undefined,
  uploadHeaderFile: undefined,
  method: 'PUT',
  confirm: true,
  opening: OPENING,
  format: 'raw',
  formatOptions: {},
  place: undefined,
  isLoose: false,
  notes: [],
  compress: false,
  twoPass: false,
  size: undefined,
  bmap: undefined,
  fixGpt: false,
  spool: undefined,
  existing: false,
  sparse: undefined,
  digest: false,
  progress: false,
  quiet: false,
  workers: undefined,
  sync: false,
  verify: false,
  resume: false,
} satisfies Command;

const ONE = { image: 'a', opening: OPENING, json: false };
const LIST = { ...ONE, name: 'info', report: false } satisfies Command;
const QUESTION = { progress: false, quiet: false, workers: undefined, strict: false, all: false };
const COMPARE = { ...ONE, ...QUESTION, name: 'compare', spool: undefined } satisfies Omit<
  Extract<Command, { name: 'compare' }>,
  'other'
>;
/** The second image of a comparison, with changed options for opening it. */
const other = (image: string, changes: object = {}) => ({ other: { image, ...opening(changes) } });
const MEASURE = { ...ONE, name: 'measure', format: 'raw', formatOptions: {}, spool: undefined } satisfies Command;
const DYNAMIC = { format: 'vpc', formatOptions: { subformat: 'dynamic' } };
const MAP = { ...ONE, name: 'map', spool: undefined } satisfies Command;

const DIGEST = {
  ...MAP,
  name: 'digest',
  tree: false,
  progress: false,
  quiet: false,
  workers: undefined,
} satisfies Command;

const HELP = { name: 'help' };

const convert = (changes: Partial<Extract<Command, { name: 'convert' }>>) => ({ ...CONVERT, ...changes });
const opening = (changes: Partial<typeof OPENING> | object) => ({ opening: { ...OPENING, ...changes } });

/** `text` split at its spaces; `''` is an empty argument. */
const argumentsOf = (text: string): string[] =>
  text.split(' ').flatMap((word) => (word === "''" ? [''] : word === '' ? [] : [word]));

const parse = (words: string[]): Command => parseWords(words as [string, ...string[]]);

describe('commands', () => {
  for (const [text, command] of [
    ['info a', LIST],
    ['info --output=human a', LIST],
    ['info --output json a', { ...LIST, json: true }],
    ['info --report a', { ...LIST, report: true }],
    ['map a --output=json', { ...MAP, json: true }],
    ['info -f raw --unpack a', { ...LIST, ...opening({ format: 'raw', unpack: true }) }],
    ['map --spool=c a', { ...MAP, spool: 'c' }],
    ['measure a', MEASURE],
    ['compare a b', { ...COMPARE, ...other('b') }],
    [
      'compare -f raw -F vhd -s -q a b',
      { ...COMPARE, ...opening({ format: 'raw' }), ...other('b', { format: 'vpc' }), strict: true, quiet: true },
    ],
    ['compare --all --output=json a b', { ...COMPARE, ...other('b'), all: true, json: true }],
    [
      'compare --disk 2 --second-disk c --snapshot d --with e a b',
      {
        ...COMPARE,
        ...opening({ disk: 2, snapshot: 'd', companions: ['e'] }),
        ...other('b', { disk: 'c', companions: ['e'] }),
      },
    ],
    [
      'compare --password-file c --second-password-file d a b',
      { ...COMPARE, ...opening({ passwordFiles: ['c'] }), ...other('b', { passwordFiles: ['d'] }) },
    ],
    // Headers are for the server of the first URL.
    ...(
      [
        ['a', 'http://one/b', 'http://one/b'],
        ['http://one/a', 'http://two/b', 'http://one/a'],
        ['a', 'b', 'http://three/d'],
      ] as const
    ).map(([image, second, url]) => {
      const changes = { headers: { file: 'c', url }, companions: ['http://three/d'] };
      return [
        `compare --header-file c --with http://three/d ${image} ${second}`,
        { ...COMPARE, image, ...opening(changes), ...other(second, changes) },
      ] as const;
    }),
    ['measure -O vhd -o subformat=dynamic --output=json a', { ...MEASURE, ...DYNAMIC, json: true }],
    ['digest a', DIGEST],
    [
      'digest -pq -m 3 --tree --output=json --spool=c a',
      { ...DIGEST, progress: true, quiet: true, workers: 3, tree: true, json: true, spool: 'c' },
    ],
    ['digest --disk all a', { ...DIGEST, ...opening({ disk: 'all' }) }],
    ['convert a b', CONVERT],
    ['convert --digest a b', convert({ digest: true })],
    ['convert - -', convert({ image: '-', output: '-' })],
    ['convert -O vpc a b', convert({ format: 'vpc' })],
    ['convert --output-format=raw.gz a b', convert({ format: 'raw.gz' })],
    ['convert --for azure a b', convert({ place: 'azure', format: 'vpc', formatOptions: { subformat: 'fixed' } })],
    ['convert -p -q a b', convert({ progress: true, quiet: true })],
    ['convert -pq a b', convert({ progress: true, quiet: true })],
    ['convert -m 1 a b', convert({ workers: 1 })],
    ['convert -m64 a b', convert({ workers: 64 })],
    ['convert --workers=08 a b', convert({ workers: 8 })],
    ['convert a b.vhd', convert({ output: 'b.vhd', format: 'vpc' })],
    ['convert a https://host/b.vhd?c', convert({ output: 'https://host/b.vhd?c', format: 'vpc' })],
    ['convert -O vhd a b', convert({ format: 'vpc' })],
    [
      'convert -O raw a b.vhd',
      convert({
        output: 'b.vhd',
        notes: ['the output is raw, as -O says, although its name ends in .vhd'],
      }),
    ],
    ['convert file:///a%20b file:b.raw', convert({ image: '/a b', output: 'b.raw' })],
    ['info file:a', LIST],
    ['info -U a', LIST],
    ['convert -U -W -t none -T writeback a b', CONVERT],
    ['convert -c --two-pass -O qcow2 a -', convert({ compress: true, twoPass: true, format: 'qcow2', output: '-' })],
    ['convert --spool a -', convert({ spool: spoolFolder(), output: '-' })],
    ['convert --spool=c -c -O qcow2 a -', convert({ spool: 'c', compress: true, format: 'qcow2', output: '-' })],
    ['convert a https://host/b --spool=file:///c%20d', convert({ spool: '/c d', output: 'https://host/b' })],
    ['convert -- --spool b', convert({ image: '--spool' })],
    ['convert -c -O raw.gz a b', convert({ compress: true, format: 'raw.gz' })],
    ['convert -n a b', convert({ existing: true })],
    ['convert -S 0 a b', convert({ sparse: false })],
    ['convert -S0k a b', convert({ sparse: false })],
    ['convert --size 1000 --fix-gpt a b', convert({ size: 1000, fixGpt: true })],
    ['convert --bmap c a b', convert({ bmap: 'c' })],
    ['convert --size=1.5K a b', convert({ size: 1536 })],
    ['convert --size 40g a b', convert({ size: 40 * 2 ** 30 })],
    ['convert --size 0.0001k a b', convert({ size: 1 })],
    ['convert -S 4k a b', convert({ sparse: true })],
    ['convert -S 4K a b', convert({ sparse: true })],
    ['convert -S 4096 a b', convert({ sparse: true })],
    ['convert -S 4096b a b', convert({ sparse: true })],
    ['convert -S 64k a b', convert({ sparse: true, notes: ['-S 64k is ignored: zeros become holes from 4 KiB on'] })],
    ['convert -S 4 a b', convert({ sparse: true, notes: ['-S 4 is ignored: zeros become holes from 4 KiB on'] })],
    ['convert -O qcow2 -o help', { name: 'options', format: 'qcow2' }],
    ['convert -o compress,help -O vhd a', { name: 'options', format: 'vpc' }],
    ['convert a b.vmdk -o ?', { name: 'options', format: 'vmdk' }],
    ['convert -o help', { name: 'options', format: 'raw' }],
    ['convert --sync --resume a b', convert({ sync: true, resume: true })],
    ['convert a b --sync', convert({ sync: true })],
    ['convert -f raw a b', convert(opening({ format: 'raw' }))],
    ['convert -f vhd a b', convert(opening({ format: 'vpc' }))],
    ['convert --with c --with d=e a b', convert(opening({ companions: ['c', 'd=e'] }))],
    ['convert --password-file - --password-file c=d a b', convert(opening({ passwordFiles: ['-', 'c=d'] }))],
    ['convert --header-file c a b', convert(opening({ headers: { file: 'c', url: undefined } }))],
    ['convert --assume-password --salvage a b', convert(opening({ assumePassword: true, salvage: true }))],
    ['info --disk 2 a', { ...LIST, ...opening({ disk: 2 }) }],
    ['map --disk=a.vmdk a', { ...MAP, ...opening({ disk: 'a.vmdk' }) }],
    ['convert --disk 02 a b', convert(opening({ disk: '02' }))],
    ['convert --disk 9007199254740993 a b', convert(opening({ disk: '9007199254740993' }))],
    ['convert --disk all a b', convert(opening({ disk: 'all' }))],
    ['info --force-parent a', { ...LIST, ...opening({ forceParent: true }) }],
    ['convert --check-manifest a b', convert(opening({ checkManifest: true }))],
    ['help', HELP],
    ['-h', HELP],
    ['--help', HELP],
    ['help map', { name: 'help', topic: 'map' }],
    ['help completions', { name: 'help', topic: 'completions' }],
    ['help -h', { name: 'help', topic: 'help' }],
    ['help convert --help', { name: 'help', topic: 'help' }],
    ['completions --help', { name: 'help', topic: 'completions' }],
    ...(['bash', 'zsh', 'fish'] as const).map(
      (shell) => [`completions ${shell}`, { name: 'completions', shell }] as const,
    ),
    ['--version', { name: 'version' }],
    ['-V', { name: 'version' }],
  ] as const) {
    test(text, () => expect(parse(argumentsOf(text))).toEqual(command));
  }
});

describe('an argument after an option is its value, whatever it looks like', () => {
  for (const [text, command] of [
    ['convert --snapshot -h a b', convert(opening({ snapshot: '-h' }))],
    ['convert --snapshot=-h a b', convert(opening({ snapshot: '-h' }))],
    ['convert --snapshot -l a b', convert(opening({ snapshot: '-l' }))],
    ['convert -- -l b', convert({ image: '-l' })],
    ['convert --snapshot --help a b', convert(opening({ snapshot: '--help' }))],
    ['convert --snapshot -- a b', convert(opening({ snapshot: '--' }))],
    ['convert --snapshot -h -- -h b', convert({ image: '-h', ...opening({ snapshot: '-h' }) })],
    ['convert --snapshot a=b a b', convert(opening({ snapshot: 'a=b' }))],
    ["convert --snapshot '' a b", convert(opening({ snapshot: '' }))],
    ['convert --with --with a b', convert(opening({ companions: ['--with'] }))],
    ['convert --sync -f qcow2 -m 2 a b', convert({ sync: true, workers: 2, ...opening({ format: 'qcow2' }) })],
    ['convert -- -h b', convert({ image: '-h' })],
    ['convert -- --snapshot -h', convert({ image: '--snapshot', output: '-h' })],
    ['convert -h', { name: 'help', topic: 'convert' }],
    ['convert --help', { name: 'help', topic: 'convert' }],
    ['convert -pq --help a', { name: 'help', topic: 'convert' }],
    ['convert -ph', { name: 'help', topic: 'convert' }],
    ['info -h x', { name: 'help', topic: 'info' }],
    ['map a -h', { name: 'help', topic: 'map' }],
  ] as const) {
    test(text, () => expect(parse(argumentsOf(text))).toEqual(command));
  }
});

describe('options of the output format', () => {
  for (const [text, options] of [
    ['-o a=b', { a: 'b' }],
    ['-o a', { a: 'on' }],
    ['-o a=', { a: '' }],
    ['-o a=b=c', { a: 'b=c' }],
    ['-o a=b,c', { a: 'b', c: 'on' }],
    ['-o a=b -o c=d', { a: 'b', c: 'd' }],
    ['-o a=b,a=c -o a=d', { a: 'd' }],
    ['--options=a=b', { a: 'b' }],
  ] as const) {
    test(text, () => expect(parse(argumentsOf(`convert ${text} a b`))).toEqual(convert({ formatOptions: options })));
  }
});

describe('outputs on servers', () => {
  for (const [text, changes] of [
    ['convert a https://host/b', {}],
    ['convert --method POST --no-confirm a http://host/b', { method: 'POST', confirm: false, output: 'http://host/b' }],
    ['convert --upload-header-file c a HTTP://host/b', { uploadHeaderFile: 'c', output: 'HTTP://host/b' }],
    ...(['s3', 'gcs', 'tus', 'azure'] as const).map(
      (upload) => [`convert --upload ${upload} a https://host/b`, { upload }] as const,
    ),
    ['convert --resume --upload s3 a https://host/b', { upload: 's3', resume: true }],
    ['convert -n --upload azure -O vpc a https://host/b', { upload: 'azure', format: 'vpc', existing: true }],
  ] as const) {
    test(text, () => expect(parse(argumentsOf(text))).toEqual(convert({ output: 'https://host/b', ...changes })));
  }
});

describe('wrong arguments', () => {
  const secret = 'https://user:password@host/disk?token=secret';
  for (const [text, message] of [
    ['frobnicate', "There is no command 'frobnicate'; see decant --help"],
    ['convret a b', "There is no command 'convret'; did you mean convert?"],
    ['con', "There is no command 'con'; did you mean convert?"],
    ['completion bash', "There is no command 'completion'; did you mean completions?"],
    ['help convret', "There is no command 'convret'; did you mean convert?"],
    ['help frobnicate', "There is no command 'frobnicate'; the commands are info, map"],
    ['help info map', "Unexpected argument 'map'"],
    ['completions', 'The shell is missing'],
    ['completions bahs', "completions takes bash, zsh or fish, not 'bahs'; did you mean bash?"],
    ['completions bash zsh', "Unexpected argument 'zsh'"],
    [secret, "A command is missing before 'https://host/disk'; did you mean: decant info https://host/disk"],
    ['a.qcow2 b.raw', "A command is missing before 'a.qcow2'; did you mean: decant convert a.qcow2 b.raw"],
    ['a.qcow2', "A command is missing before 'a.qcow2'; did you mean: decant info a.qcow2"],
    ['-p a.qcow2 -', "A command is missing before '-p'; did you mean: decant convert -p a.qcow2 -"],
    ["./a;'b c", String.raw`did you mean: decant convert './a;'\''b' c`],
    ['-p', "A command is missing before '-p'; see decant --help"],
    ['--verson', "A command is missing before '--verson'; did you mean --version?"],
    ['-', "A command is missing before '-'; did you mean: decant info -"],
    ["''", "There is no command ''; see decant --help"],
    ['toString', "There is no command 'toString'; see decant --help"],
    [`--with=${secret} a b`, "did you mean: decant convert '--with=https://host/disk' a b"],
    [`${secret} b`, 'did you mean: decant convert https://host/disk b'],
    ['info', 'The image is missing'],
    ['map', 'The image is missing'],
    ['info a b', "Unexpected argument 'b'"],
    ['info --disk all a', '--disk all is for convert and digest; info takes one disk'],
    [`info a ${secret}`, "Unexpected argument 'https://host/disk'"],
    ['info --output=xml a', "--output takes human or json, not 'xml'"],
    ['info --output=jsn a', "--output takes human or json, not 'jsn'; did you mean json?"],
    ['info --frobnicate a', "Unknown option '--frobnicate'"],
    ['convert --forr azure a b', "Unknown option '--forr'; did you mean --for?"],
    ['convert --forr=azure a b', "Unknown option '--forr'; did you mean --for?"],
    ['info --password a b', "Unknown option '--password'; did you mean --password-file?"],
    ['info --frob a', "Unknown option '--frob'"],
    ['convert -x a b', "Unknown option '-x'"],
    ['convert -px a b', "Unknown option '-x'"],
    ['convert -snapshot c a b', "Unknown option '-s'; did you mean --snapshot?"],
    ['info -n a', '-n is an option of convert, not of info'],
    ['info -Un a', '-n is an option of convert, not of info'],
    ['info --size 2 a', '--size is an option of convert, not of info'],
    ['info --spool a', '--spool is an option of map'],
    ['convert --firmware uefi a b', "--firmware takes bios or efi, not 'uefi'; did you mean efi?"],
    ['convert --for azur a b', "There is no place 'azur'; did you mean azure?"],
    ['convert --for mars a b', "There is no place 'mars'; the places are raw, kvm"],
    ['convert -O qcow3 a b', "There is no output format 'qcow3'; did you mean qcow2?"],
    ['convert -O qed a b', "There is no output format 'qed'; choose one of raw, qcow2"],
    ["convert -O '' a b", "There is no output format ''; choose one of raw, qcow2"],
    ['convert -O qcow3 -o help', "There is no output format 'qcow3'; did you mean qcow2?"],
    ['convert -f vdmk a b', "There is no input format 'vdmk'; did you mean vmdk?"],
    ['convert -f -h a b', "There is no input format '-h'; choose one of qcow2, vdi"],
    ['info -f bochs a', "There is no input format 'bochs'; choose one of qcow2, vdi"],
    ['convert --upload azur a https://host/b', "--upload takes s3, gcs, tus or azure, not 'azur'; did you mean azure?"],
    ['info --salvage=1 a', "Option '--salvage' does not take an argument"],
    ['convert', 'The image is missing'],
    ['convert a', 'The output is missing'],
    ["convert '' b", 'The image is missing'],
    ["convert a ''", 'The output is missing'],
    ["convert '' ''", 'The image is missing'],
    ['convert a file:', 'The output is missing'],
    ["info ''", 'The image is missing'],
    ["map ''", 'The image is missing'],
    ['convert -l snap a b', 'There is no option -l; select the snapshot with --snapshot ID|NAME'],
    ['convert a b -lsnap', 'There is no option -l; select the snapshot with --snapshot ID|NAME'],
    ['info --backing-chain a', 'There is no option --backing-chain; omit it: info always lists the image'],
    ['convert a b c', "Unexpected argument 'c'"],
    ['convert --snapshot -h', 'The image is missing'],
    ['convert --snapshot -h a', 'The output is missing'],
    ['convert -- -h', 'The output is missing'],
    ['convert a b --snapshot', "Option '--snapshot <value>' argument missing"],
    ['convert a b -m', "Option '-m, --workers <value>' argument missing"],
    ...['0', '65', 'many', "''", '1.5', '-1', '1e1', '+2'].map(
      (count) =>
        [
          `convert -m ${count} a b`,
          `-m takes a whole number from 1 to 64, not '${count.replaceAll("'", '')}'`,
        ] as const,
    ),
    ['convert -o =b a b', "'-o =b' is not NAME=VALUE"],
    ["convert -o '' a b", "'-o ' is not NAME=VALUE"],
    ['convert -o a=b, a b', "'-o ' is not NAME=VALUE"],
    ['convert --upload ftp a https://host/b', "--upload takes s3, gcs, tus or azure, not 'ftp'"],
    ['convert --upload s3 a b', '--upload and --upload-header-file need an http or https URL as the output'],
    ['convert --upload-header-file c a b', '--upload and --upload-header-file need an http or https URL'],
    ['convert --method PATCH a https://host/b', "--method takes PUT or POST, not 'PATCH'"],
    ...['--method POST a b', '--no-confirm a -', '--method PUT --upload s3 a https://host/b'].map(
      (text) =>
        [
          `convert ${text}`,
          '--method and --no-confirm need an http or https URL as the output, without --upload',
        ] as const,
    ),
    ['convert -S x a b', "-S takes a size, not 'x'"],
    ['convert --bmap c a -', '--bmap needs a file, not standard output'],
    ['convert --bmap c a https://host/b', '--bmap needs a file, not a server'],
    ['convert --size x a b', "--size takes a size, not 'x'"],
    ['convert --size -1 a b', "--size takes a size, not '-1'"],
    ['convert --size +1G a b', "--size takes a size, not '+1G'"],
    ['convert --size 0 a b', "--size takes a size from 1 byte to less than 8 PiB, not '0'"],
    ['convert --size 8P a b', "--size takes a size from 1 byte to less than 8 PiB, not '8P'"],
    ['convert -n a -', '-n needs a file, a block device or a page blob (--upload azure -O vpc), not standard output'],
    ...['', '--upload s3 ', '--upload gcs ', '--upload tus ', '-O vpc ', '--upload azure ', '--upload s3 -O vpc '].map(
      (upload) =>
        [
          `convert -n ${upload}a https://host/b`,
          '-n needs a file, a block device or a page blob (--upload azure -O vpc), not another upload',
        ] as const,
    ),
    ['convert -n --upload azure -O vpc a b', '--upload and --upload-header-file need an http or https URL'],
    [
      'convert -n --resume --upload azure -O vpc a https://host/b',
      '--resume needs a file or --upload s3, not a server',
    ],
    ['convert --digest --resume a b', '--digest does not work with --resume, since'],
    ['digest', 'The image is missing'],
    ['digest a b', "Unexpected argument 'b'"],
    ['digest --resume a', '--resume is an option of convert, not of digest'],
    ['convert --tree a b', '--tree is an option of digest, not of convert'],
    ['convert -n --resume a b', '--resume does not work with -n, which writes in place'],
    ...['-n', '--resume', '--sync'].map(
      (option) => [`convert ${option} a b.ovf`, '-n, --resume and --sync need one file as the output'] as const,
    ),
    ['convert --sync a -', '--sync needs a file, not standard output'],
    ['convert --sync a http://host/b', '--sync needs a file, not a server'],
    ['convert --spool= a -', '--spool= takes a folder'],
    ['compare --all a b', '--all needs --output=json'],
    ['compare a', 'The second image is missing'],
    ['compare - -', 'Standard input is already the image; put the second image into a file'],
    ['info --header-file - -', 'Standard input is already the image; put the headers into a file'],
    ['info --password-file a=- -', 'Standard input is already the image; put the password into a file'],
    ['info --password-file - --header-file - a', 'Standard input is already the headers; put the password into a file'],
    ['info --password-file - --password-file a=- b', 'already the password; put the other password into a file'],
    ['compare --password-file - --second-password-file - a b', 'already the password; put the second password into a'],
    ['convert --password-file - - b', 'Standard input is already the image; put the password into a file'],
    [
      'convert --header-file - --upload-header-file - http://host/a http://host/b',
      'already the headers; put the headers of the upload into a file',
    ],
    ['compare --second-disk all a b', '--second-disk takes one disk'],
    ['map --spool= a', '--spool= takes a folder'],
    ['convert --spool c a -', "Unexpected argument '-'"],
    ['convert --resume a -', '--resume needs a file or --upload s3, not standard output'],
    ['convert --resume a https://host/b', '--resume needs a file or --upload s3, not a server'],
    ['convert --resume --upload tus a https://host/b', '--resume needs a file or --upload s3, not a server'],
  ] as const) {
    test(`${text}: ${message}`, () => {
      expect(() => parse(argumentsOf(text))).toThrow(
        expect.objectContaining({ kind: 'usage', message: expect.stringContaining(message) }),
      );
      expect(() => parse(argumentsOf(text))).not.toThrow(/secret|password@/);
    });
  }
});

describe('commands of qemu-img that Decant does not have', () => {
  // The commands in `qemu-img --help`.
  for (const [name, advice] of [
    ['amend', 'decant convert -o'],
    ['bench', 'use qemu-img bench'],
    ['bitmap', 'use qemu-img bitmap'],
    ['commit', 'decant convert --with BASE'],
    ['create', 'use qemu-img create'],
    ['dd', 'use decant convert'],
    ['rebase', 'decant convert --with BASE'],
    ['resize', 'decant convert --size SIZE'],
    ['snapshot', '--snapshot ID|NAME'],
  ] as const) {
    for (const words of [[name], [name, '--help'], [name, '-f', 'qcow2', 'a'], ['help', name]])
      test(words.join(' '), () => {
        expect(() => parse(words)).toThrow(
          expect.objectContaining({ kind: 'usage', message: expect.stringContaining(advice) }),
        );
        expect(() => parse(words)).toThrow(/^There is no command '\w+': (?!.*see decant).*[a-z]$/);
      });
  }
});
