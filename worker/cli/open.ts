// Opens an image as the arguments say.

import { DecantError } from '../errors.js';
import { type Image, open } from '../node.js';
import type { Companion } from '../types.node.js';
import type { Opening } from './arguments.js';
import { namedFile } from './named-file.js';
import { readPasswords } from './passwords.js';
import { Remote } from './remote.js';
import { STANDARD_INPUT, standardInput } from './standard-input.js';

export async function openImage(
  path: string,
  opening: Opening,
  workers: number | undefined,
  signal: AbortSignal,
): Promise<Image> {
  const { format, companions, snapshot, passwordFiles, headerFile, assumePassword, salvage } = opening;
  const isInput = path === STANDARD_INPUT;
  const isHeaders = headerFile === STANDARD_INPUT;
  if (isInput && isHeaders) throw new DecantError('usage', 'Standard input is the image; put the headers into a file');
  const passwords = await readPasswords(
    passwordFiles,
    isInput ? 'the image' : isHeaders ? 'the headers' : undefined,
    signal,
  );
  const remote = await Remote.read(headerFile, signal);
  const input = isInput ? standardInput() : await remote.input(path, signal);
  const image = await open(input, {
    signal,
    companions: await companionsOf(companions, remote, signal),
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

async function companionsOf(given: string[], remote: Remote, signal: AbortSignal): Promise<Companion[]> {
  const companions: Companion[] = [];
  for (const argument of given) {
    const { name, file } = namedFile(argument);
    const source = await remote.input(file, signal);
    companions.push(name === undefined ? source : { name, source });
  }
  return companions;
}
