// The places where the disk can run, the output for each, and the proposed place.

import { type AnyImage, type Notice, type OutputFormat, shownText } from 'decant';
import { places as knownPlaces } from 'decant/places';
import type { OwnPlace } from '../types.element.js';
import { type Choice, type Images, MOST_TO_CHECK, type Survey } from './choices.js';
import type { Host } from './environment.js';

/** A place where disks run, and the output for it. */
export interface Destination {
  name: string;
  label: string;
  output: OutputFormat;
  /** Whether the person has chosen it last. */
  isLast?: true;
}

/** The place that is proposed first. */
const DEFAULT_PLACE = 'raw';

/** The format whose files may have several disks. */
const SEVERAL_DISKS = 'ova';

/** Whether a file in the format may have several disks. */
export const takesSeveral = ({ name }: Pick<OutputFormat, 'name'>): boolean => name === SEVERAL_DISKS;

/** Whether the place called `name` accepts a file with several disks. */
export const placeTakesSeveral = (name: string): boolean =>
  knownPlaces.some((place) => place.name === name && place.formats.some(takesSeveral));

/** The formats that the disks of `images` can become: for several, those whose files may have several disks. */
export function formatsOf([image, ...others]: Images): readonly OutputFormat[] {
  if (others.length === 0) return image.formats;
  const notices = [image, ...others].flatMap(({ formats, info: { name = '' } }) =>
    formats.filter(takesSeveral).flatMap((format) => format.notices.map((notice) => ofDisk(notice, name))),
  );
  // A conversion says which of the disks is refused, and why.
  return image.formats.filter(takesSeveral).map(({ refusal: _, ...format }) => ({ ...format, notices }));
}

/** Adds the name of its disk to a notice, as a conversion of several disks does. */
const ofDisk = ({ code, fields, message }: Notice, disk: string): Notice => ({
  code,
  fields: { ...fields, disk },
  message: `${shownText(disk)}: ${message}`,
});

/** Lists the places for the disks of `images`: those that the page wants, or all. */
export async function destinationsOf(images: Images, { places: wanted, output }: Host): Promise<Destination[]> {
  // A page that takes the disk is the place, unless it says more.
  if (wanted ? wanted.length === 0 : output) return [];
  const [image, ...others] = images;
  const formats = formatsOf(images);
  const found = await image.places();
  const fitting = others.length === 0 ? found : found.filter(({ name }) => placeTakesSeveral(name)).map(forSeveral);
  const all = fitting.flatMap((place) => destination(formats, place));
  if (!wanted) return all;
  return wanted.flatMap((one) =>
    typeof one === 'string' ? all.filter(({ name }) => name === one) : destination(formats, one),
  );
}

/** The place with the format for several disks, which it accepts. */
const forSeveral = ({ name, label }: PlaceOutput): PlaceOutput => ({ name, label, format: SEVERAL_DISKS });

type PlaceOutput = OwnPlace & Partial<Pick<OutputFormat, 'outputSize' | 'notices' | 'refusal'>>;

function destination(formats: readonly OutputFormat[], { name, label, format, ...place }: PlaceOutput): Destination[] {
  const base = formats.find((one) => one.name === format);
  return base ? [{ name, label, output: outputWith(base, place) }] : [];
}

/** Returns `base` with the options of a place. Drops what `base` says of other options. */
function outputWith(base: OutputFormat, place: Omit<PlaceOutput, 'name' | 'label' | 'format'>): OutputFormat {
  const { formatOptions = base.recommended, outputSize, notices = [] } = place;
  const isBase = Object.entries(formatOptions).every(([option, value]) => value === usual(base, option));
  const refusal = place.refusal ?? (isBase ? base.refusal : undefined);
  const refused = refusal && { refusal };
  if (isBase) return { ...base, recommended: formatOptions, ...refused };
  const { outputSize: _, refusal: __, ...rest } = base;
  const unknown = { compressed: formatOptions.compress === 'on', resumable: false, streamable: false };
  return {
    ...rest,
    ...unknown,
    recommended: formatOptions,
    notices,
    ...(outputSize === undefined ? {} : { outputSize }),
    ...refused,
  };
}

/** The value of an option in the output that `base` describes. */
const usual = ({ recommended, options }: OutputFormat, option: string): string | undefined =>
  recommended[option] ?? options.find(({ name }) => name === option)?.values[0];

/** Puts the place called `chosen`, which the person has chosen last, before the others, and marks it. */
export function lastFirst(destinations: Destination[], chosen: string | undefined): Destination[] {
  const [last] = destinations.filter(({ name }) => name === chosen);
  return last ? [{ ...last, isLast: true }, ...destinations.filter((one) => one !== last)] : destinations;
}

/** Proposes the place called `chosen`, or else a raw disk, or the first possible one; `undefined` if none is possible. */
export function proposed(destinations: Destination[], chosen: string | undefined): Destination | undefined {
  const possible = destinations.filter(({ output }) => !output.refusal);
  const named = (wanted: string | undefined) => possible.find(({ name }) => name === wanted);
  return named(chosen) ?? named(DEFAULT_PLACE) ?? possible[0];
}

/** The format without holes that is offered in place of a raw disk. */
const QUICK_FORMAT = 'qcow2';

/**
 * The format to offer in place of a raw disk that takes hours to save, although it has little data; `undefined` if there is none, or the
 * place takes another format only.
 */
export function quickFormat(saving: {
  image: AnyImage;
  output: OutputFormat;
  destination: Destination | undefined;
  choices: Choice[];
  survey: Survey;
}): OutputFormat | undefined {
  const { image, output, destination, choices, survey } = saving;
  const isRaw = output.name === DEFAULT_PLACE && (destination?.name ?? DEFAULT_PLACE) === DEFAULT_PLACE;
  if (!isRaw || survey.data > MOST_TO_CHECK || !choices.some(({ takesHours }) => takesHours)) return undefined;
  return image.formats.find(({ name, refusal }) => name === QUICK_FORMAT && !refusal);
}

/** Whether the place takes the image file itself. Only for formats without variants that places refuse. */
export function fits({ info }: AnyImage, { output }: Destination): boolean {
  const isPlain = info.layers.length === 1 && info.references.length === 0 && info.containers.length === 0;
  return isPlain && !info.encryption && info.format === output.name && ['raw', 'qcow2'].includes(output.name);
}
