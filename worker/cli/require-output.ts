// Checks the output of a conversion before the image is opened.

import { toPath } from '../api/node-path.js';
import { isHttp } from '../http/address.js';
import { PathTarget } from '../targets/node/path.js';
import type { ConvertCommand } from './command-output.js';
import { namedFile } from './named-file.js';
import { requireOtherFiles } from './other-files.js';
import { isFolder, requireFileForOne, requireWritableFolder } from './output-folder.js';
import { passwordFile } from './password-input.js';
import { STANDARD_INPUT } from './standard-input.js';
import { requireFile, requireNoTerminal, STANDARD_OUTPUT } from './standard-output.js';

/** Fails if the output is a terminal, an input file, or a pipe by name, or if nothing can be written there. */
export async function requireOutput(command: ConvertCommand): Promise<void> {
  const { image, opening, output, uploadHeaderFile, existing, resume } = command;
  const passwords = opening.passwordFiles.map((argument) => passwordFile(argument).file);
  const headers = [opening.headerFile, uploadHeaderFile].filter((file) => file !== undefined);
  const secrets = [...passwords, ...headers];
  if (isHttp(output)) return;
  if (output === STANDARD_OUTPUT) {
    requireNoTerminal();
    const companions = opening.companions.map((argument) => namedFile(argument).file);
    await requireOtherFiles(output, [image, ...companions, ...secrets]);
  } else {
    const path = toPath(output);
    await requireFile(output);
    // The package checks images with a path.
    await requireOtherFiles(output, [...(image === STANDARD_INPUT ? [image] : []), ...secrets]);
    if (!(await isFolder(output))) return new PathTarget(path, [], { existing }).requireWritable(resume);
    await requireFileForOne(command);
    await requireWritableFolder(output);
  }
}
