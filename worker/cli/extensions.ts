// The extensions of files, as the registries of the core have them.

import { CONTAINERS, FORMATS } from '../public/registry.js';

const escaped = (extension: string): string => extension.replaceAll('.', String.raw`\.`);

/** Returns a pattern of names that end in one of `extensions`, in any case. */
export const endingIn = (extensions: string[]): RegExp => new RegExp(`(?:${extensions.map(escaped).join('|')})$`, 'i');

const extensionsOf = (members: { extensions: string[] }[]): string[] => members.flatMap(({ extensions }) => extensions);

/** Of disk images in formats that Decant reads. */
export const IMAGES = extensionsOf(FORMATS.filter(({ kind }) => kind === 'image'));
/** Of configurations of virtual machines. */
export const MACHINES = extensionsOf(FORMATS.filter(({ kind }) => kind === 'machine'));
/** Of containers that may have several files. */
export const ARCHIVES = extensionsOf(CONTAINERS.filter(({ isArchive }) => isArchive));
/** Of files that are compressed as a whole. */
export const COMPRESSED = extensionsOf(CONTAINERS.filter(({ isArchive }) => !isArchive));
/** Of all files that are recognised. */
export const KNOWN = extensionsOf([...FORMATS, ...CONTAINERS]);
