// Opens an image as the arguments say.

import { type Image, open } from '../node.js';
import type { Companion } from '../types.node.js';
import type { Opening } from './arguments.js';
import { namedFile } from './named-file.js';
import { readPasswords } from './passwords.js';
import { STANDARD_INPUT, standardInput } from './standard-input.js';

export async function openImage(
  path: string,
  opening: Opening,
  workers: number | undefined,
  signal: AbortSignal,
): Promise<Image> {
  const { format, companions, snapshot, passwordFiles, assumePassword, salvage } = opening;
  const isInput = path === STANDARD_INPUT;
  const passwords = await readPasswords(passwordFiles, isInput, signal);
  const image = await open(isInput ? standardInput() : path, {
    signal,
    companions: companions.map(companionOf),
    assumePassword,
    salvage,
    ...(workers === undefined ? {} : { workers }),
    ...(format === undefined ? {} : { format }),
    ...(snapshot === undefined ? {} : { snapshot }),
    ...(passwords.isEmpty ? {} : { password: (layer) => passwords.of(layer) }),
  });
  try {
    passwords.check(image.info);
  } catch (thrown) {
    await image.close();
    throw thrown;
  }
  return image;
}

function companionOf(argument: string): Companion {
  const { name, file } = namedFile(argument);
  return name === undefined ? file : { name, source: file };
}
