// `decant/places`: the places where disks run, and the steps after a conversion. Importing it has no effects.

import type { Place } from '../public/types.places.js';
import { PLACES } from './registry.js';

export type * from '../contents/disk-contents.js';
export type { ContainerInfo, DiskMember, Fields, Snapshot } from '../errors/errors.js';
export type { NoticeCode, OutputFormatName, PlaceName } from '../errors/names.js';
export type { MachineHardware, Notice } from '../public/types.info.js';
export type { MadeDisk, NextCommand, NextStep, Place, PlaceFormat, PlaceLimit } from '../public/types.places.js';
export { nextStep } from './next-step.js';

/** All places, the most used ones first. */
export const places: readonly Place[] = PLACES.map(({ next: _, ...place }) => place);
