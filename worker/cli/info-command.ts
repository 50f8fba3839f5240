// `decant info`.

import { sizeInArchive } from '../api/stated-size.js';
import { toDecantError } from '../errors/errors.js';
import { isAddress } from '../errors/secrets.js';
import type { AnyImage } from '../node.js';
import type { AnyInfo } from '../public/types.js';
import type { CommandOf, OpenArguments } from './arguments.js';
import { bugReport, packageVersion, type Subject } from './bug-report.js';
import { disksJson, disksText, infoJson, infoText, nestedLines, packedJson, packedText } from './info-report.js';
import { partsBeside } from './open-image.js';
import { shownInput, statsOf } from './operands.js';
import { print } from './printing.js';
import type { RunContext } from './run-context.js';
import { STANDARD_INPUT } from './standard-streams.js';

/** Prints what the image is, or with `--report` a report on it. Returns the exit code. */
export async function info(command: CommandOf<'info'>, context: RunContext): Promise<number> {
  if (command.report) await report(command, context);
  else for (const line of await lines(command, context)) print(line);
  return 0;
}

/** Prints a report on the image, also if it cannot be opened; then it fails. */
async function report(command: CommandOf<'info'>, context: RunContext): Promise<void> {
  const subject: Subject = { source: await kindOf(command.image) };
  await examine(command, context, subject).catch((thrown) => {
    subject.failure = toDecantError(thrown);
  });
  const found = bugReport(subject, await packageVersion());
  for (const line of command.json ? JSON.stringify(found, null, 4).split('\n') : nestedLines(found, 0)) print(line);
  if (subject.failure) throw subject.failure;
}

/** Opens the image, and adds what it is to `subject`, as far as that succeeds. */
async function examine(
  { image: path, opening }: CommandOf<'info'>,
  context: RunContext,
  subject: Subject,
): Promise<void> {
  const open = await context.opener(path, opening);
  const opened = await open(opening.disk);
  if ('packed' in opened) subject.packed = opened.packed;
  if ('choice' in opened) subject.disks = opened.choice.disks;
  if (!('image' in opened)) return;
  const { image } = opened;
  try {
    Object.assign(subject, { info: image.info, streamed: image.streamed });
    subject.check = await image.check({ signal: context.signal });
    await unlock(image, opening, context);
  } finally {
    await image.close();
  }
}

/** Where the image comes from. */
async function kindOf(path: string): Promise<string> {
  if (path === STANDARD_INPUT) return 'standard input';
  if (isAddress(path)) return 'server';
  const stats = await statsOf(path);
  if (stats?.isDirectory()) return 'folder';
  return stats?.isBlockDevice() || stats?.isCharacterDevice() ? 'device' : 'file';
}

/** Verifies the given passwords. */
async function unlock(image: AnyImage, { passwordFiles }: OpenArguments, { signal }: RunContext): Promise<void> {
  if (!image.streamed && passwordFiles.length > 0) await image.unlock({ signal });
}

/** What the image is, with the size of a streamed disk that its archive states. */
function described({ info, streamed, disks }: AnyImage): AnyInfo {
  const virtualSize = streamed ? sizeInArchive(info, disks) : undefined;
  return virtualSize === undefined ? info : { ...info, virtualSize };
}

async function lines({ image: path, json, opening }: CommandOf<'info'>, context: RunContext): Promise<string[]> {
  const open = await context.opener(path, opening);
  const opened = await open(opening.disk);
  const [shown, parts] = [shownInput(path), await partsBeside(path, [])];
  if ('packed' in opened) return (json ? packedJson : packedText)(opened.packed, shown, parts);
  if ('choice' in opened) return (json ? disksJson : disksText)(opened.choice, shown, parts);
  const { image } = opened;
  try {
    await unlock(image, opening, context);
    return await (json ? infoJson : infoText)(described(image), shown, parts);
  } finally {
    await image.close();
  }
}
