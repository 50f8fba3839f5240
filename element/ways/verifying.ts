// Whether a result is verified unless the person decides otherwise: where reading it back takes less than a tenth of the conversion.

import type { AnyInfo, OutputFormat } from 'decant';
import type { SaveMethod } from '../types.texts-results.js';
import { predict, type Rates } from './rates.js';

/** Reading a file back and comparing it, in bytes per second. Measured in Chromium on two cores in 2026. */
const READ = 2e9;
/** Reading a compressed output back and comparing it, in bytes of data per second. */
const DECODE = 8e8;
/** A fast connection to a server, in bytes of the image's file per second. */
const NETWORK = 1.25e8;
/** Containers that take long to decode, in bytes of the disk per second. */
const SLOW_CONTAINERS: Record<string, number> = { bzip2: 1e8, xz: 1.5e8 };
/** The largest share of the time of a conversion that reading back takes. */
const SHARE = 0.1;

/** Whether an output of this method can be read back. */
export const canReadBack = (method: SaveMethod): boolean => method !== 'streamed';

/** Rounds each rate down to a power of two, so that no small difference between two measurements changes the proposal. */
const rounded = (rates: Rates): Rates =>
  Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, 2 ** Math.floor(Math.log2(rate))])) as never;

/** The conversion of one or more disks. */
interface Work {
  infos: readonly Pick<AnyInfo, 'containers' | 'fileSize'>[];
  output: Pick<OutputFormat, 'compressed' | 'outputSize'>;
  /** The bytes of data on the disks. */
  survey: { data: number };
  method: SaveMethod;
  /** The virtual size, in bytes. */
  virtualSize: number;
  /** `undefined` if they are not known yet. */
  rates: Rates | undefined;
  isRemote: boolean;
}

/** Whether reading the output back takes less than a tenth of the conversion. */
export function isQuickToReadBack({ infos, output, survey, method, virtualSize, rates, isRemote }: Work): boolean {
  if (!canReadBack(method) || !rates) return false;
  const { data } = survey;
  const { converting, finishing } = predict(rounded(rates), method, virtualSize, data);
  const containers = infos.flatMap((info) => info.containers);
  const slow = containers.map(({ name }) => virtualSize / (SLOW_CONTAINERS[name] ?? Number.POSITIVE_INFINITY));
  const stored = infos.reduce((sum, { fileSize }) => sum + (fileSize ?? data / infos.length), 0);
  const coming = isRemote ? stored / NETWORK : 0;
  const reading = output.compressed ? data / DECODE : (output.outputSize ?? data) / READ;
  return reading < SHARE * (Math.max(converting, coming, ...slow) + finishing);
}
