// How the names of parts count.

const LETTERS = 'abcdefghijklmnopqrstuvwxyz';
const DIGITS = '0123456789';
const HEX = `${DIGITS}abcdef`;
/** The longest text of a number. Numbers of this width are exact. */
const MAX_WIDTH = 9;
/** The width of numbers of `split` without `-a`. */
const DEFAULT_WIDTH = 2;

/** How numbers are written. */
interface Counting {
  /** The number that `text` writes; undefined if it is not written so. */
  numberOf(text: string): number | undefined;
  /** The text of `number`; undefined if it has none. */
  textOf(number: number): string | undefined;
}

/** One way to read the name of a first part: which other names are those of parts of the same file. */
export interface Reading extends Counting {
  before: string;
  after: string;
  /** The number of the first part. */
  first: number;
  /** If the end of `before` may be the first letter of the number: the reading with that, and how many numbers begin alike then. */
  wider?: { reading: Reading; group: number };
  /** If a shorter number may be a part of the text: with so many parts, it was probably not. */
  exhausted?: number;
  /** If one part has such a text, parts are counted so, otherwise not. */
  evidence?: RegExp;
}

const isOf = (text: string, alphabet: string): boolean => [...text].every((letter) => alphabet.includes(letter));

const placeOf = (text: string, alphabet: string): number =>
  [...text].reduce((sum, letter) => sum * alphabet.length + alphabet.indexOf(letter), 0);

function written(number: number, alphabet: string, width: number): string {
  let [rest, text] = [number, ''];
  while (rest > 0 || text.length < width) {
    text = alphabet[rest % alphabet.length] + text;
    rest = Math.floor(rest / alphabet.length);
  }
  return text;
}

/** Numbers of one width, as from `split -a`. */
const fixed = (alphabet: string, width: number): Counting => ({
  numberOf: (text) => (text.length === width && isOf(text, alphabet) ? placeOf(text, alphabet) : undefined),
  textOf(number) {
    const text = written(number, alphabet, width);
    return text.length === width ? text : undefined;
  },
});

/** After `999` comes `1000`. */
const growing = (width: number): Counting => ({
  numberOf(text) {
    const isWider = text.length > width && text.length <= MAX_WIDTH && !text.startsWith('0');
    return (text.length === width || isWider) && isOf(text, DIGITS) ? Number(text) : undefined;
  },
  textOf: (number) => String(number).padStart(width, '0'),
});

/** As from `split` by default: after `yz` comes `zaaa`, after `zyzz` `zzaaaa`; after `89` `9000`. */
function widening(alphabet: string): Counting {
  const last = alphabet.at(-1)!;
  /** How many numbers have `more` times the last letter before them. */
  const amount = (more: number) => (alphabet.length - 1) * alphabet.length ** (more + 1);
  return {
    numberOf(text) {
      const more = (text.length - DEFAULT_WIDTH) / 2;
      if (!Number.isInteger(more) || more < 0 || text.length > MAX_WIDTH || !isOf(text, alphabet)) return undefined;
      const rest = text.slice(more);
      if (!text.startsWith(last.repeat(more)) || rest.startsWith(last)) return undefined;
      const shorter = Array.from({ length: more }, (_, at) => amount(at));
      return shorter.reduce((sum, one) => sum + one, placeOf(rest, alphabet));
    },
    textOf(number) {
      let [rest, more] = [number, 0];
      while (rest >= amount(more)) {
        rest -= amount(more);
        more += 1;
      }
      return last.repeat(more) + written(rest, alphabet, DEFAULT_WIDTH + more);
    },
  };
}

/** What comes before the number of a part. */
export const BEFORE_NUMBER = '(.*\\.(?=\\d\\d)|.*\\.part|x(?=\\d\\d))';
/** Names of first parts: what comes before the number, and the number. The last two have an `--additional-suffix` of `split`. */
const NUMBER = new RegExp(`^${BEFORE_NUMBER}(0{0,8}[01])$`, 'i');
const LETTER = /^(.+?)(a{2,9})$/;
const NUMBER_AND_MORE = /^(x)(0{1,8}[01])(\.[A-Za-z]\w*)$/;
const LETTER_AND_MORE = /^(.+?)(a{2,9})(\.[A-Za-z]\w*)$/;

/** The ways to read `name` as that of a first part; none if it is not such a name. */
export function readingsOf(name: string): Reading[] {
  const [, before = '', text = '', after = ''] =
    NUMBER.exec(name) ?? LETTER.exec(name) ?? NUMBER_AND_MORE.exec(name) ?? LETTER_AND_MORE.exec(name) ?? [];
  if (text === '') return [];
  return isOf(text, DIGITS) ? numbers(before, text, after) : letters(before, text, after);
}

function numbers(before: string, text: string, after: string): Reading[] {
  const common = { before, after, first: Number(text) };
  // Between `09` and `10`. A name such as `disk.db` does not show that.
  const evidence = /^\d+[a-f]/;
  const isDefault = text.length === DEFAULT_WIDTH;
  return [
    ...(isDefault ? [{ ...common, ...widening(DIGITS) }] : []),
    { ...common, ...growing(text.length) },
    ...(isDefault ? [{ ...common, ...widening(HEX), evidence }] : []),
    { ...common, ...fixed(HEX, text.length), evidence },
  ];
}

/** `a` may also end the name before the number. */
function letters(before: string, text: string, after: string): Reading[] {
  const widths = Array.from({ length: text.length - 1 }, (_, at) => at + DEFAULT_WIDTH);
  return widths.flatMap((width) => {
    const rest = before + text.slice(width);
    const exhausted = (LETTERS.length - 1) * LETTERS.length ** (width - 1);
    const wider = widerReading(rest, after, width);
    const common = { before: rest, after, first: 0, exhausted, ...(wider && { wider }) };
    const plain = { ...common, ...fixed(LETTERS, width) };
    return width === DEFAULT_WIDTH ? [{ ...common, ...widening(LETTERS) }, plain] : [plain];
  });
}

/** After parts that begin with `sda` may come those that begin with `sdb`, or these are of another file. */
function widerReading(before: string, after: string, width: number): Reading['wider'] {
  if (!/.[a-z]$/.test(before)) return undefined;
  const reading = { before: before.slice(0, -1), after, first: 0, ...fixed(LETTERS, width + 1) };
  return { reading, group: LETTERS.length ** width };
}
