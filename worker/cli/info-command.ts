// `decant info`.

import type { CommandOf } from './arguments.js';
import { disksJson, disksText, infoJson, infoText, packedJson, packedText } from './info-report.js';
import { partsBeside } from './open-image.js';
import { shownInput } from './operands.js';
import { print } from './printing.js';
import type { RunContext } from './run-context.js';

/** Prints what the image is. Returns the exit code. */
export async function info(command: CommandOf<'info'>, context: RunContext): Promise<number> {
  for (const line of await lines(command, context)) print(line);
  return 0;
}

async function lines({ image: path, json, opening }: CommandOf<'info'>, context: RunContext): Promise<string[]> {
  const open = await context.opener(path, opening);
  const opened = await open(opening.disk);
  const [shown, parts] = [shownInput(path), await partsBeside(path, [])];
  if ('packed' in opened) return (json ? packedJson : packedText)(opened.packed, shown, parts);
  if ('choice' in opened) return (json ? disksJson : disksText)(opened.choice, shown, parts);
  const { image } = opened;
  try {
    // Verifies the given passwords.
    if (!image.streamed && opening.passwordFiles.length > 0) await image.unlock({ signal: context.signal });
    return await (json ? infoJson : infoText)(image.info, shown, parts);
  } finally {
    await image.close();
  }
}
