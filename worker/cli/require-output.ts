// Checks the output of a conversion before the image is opened.

import { isHttp } from '../http/http-url.js';
import type { Command } from './arguments.js';
import { namedFile } from './named-file.js';
import { requireOtherFiles } from './other-files.js';
import { passwordFile } from './password-input.js';
import { STANDARD_INPUT } from './standard-input.js';
import { requireFile, requireNoTerminal, STANDARD_OUTPUT } from './standard-output.js';

/** Fails with `usage` if the output is a terminal, an input file, or a pipe by name. */
export async function requireOutput({
  image,
  opening,
  output,
  uploadHeaderFile,
}: Extract<Command, { name: 'convert' }>): Promise<void> {
  const passwords = opening.passwordFiles.map((argument) => passwordFile(argument).file);
  const headers = [opening.headerFile, uploadHeaderFile].filter((file) => file !== undefined);
  const secrets = [...passwords, ...headers];
  if (isHttp(output)) return;
  if (output === STANDARD_OUTPUT) {
    requireNoTerminal();
    const companions = opening.companions.map((argument) => namedFile(argument).file);
    await requireOtherFiles(output, [image, ...companions, ...secrets]);
  } else {
    await requireFile(output);
    // The package checks images with a path.
    await requireOtherFiles(output, [...(image === STANDARD_INPUT ? [image] : []), ...secrets]);
  }
}
