// Shows a failure, with the remedies that may work, the most likely first.

import { type DecantError, type ErrorKind, open } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import { labelOf, mayBeRaw } from '../files/bundle.js';
import { sourceOf } from '../files/input-file.js';
import { allOf, type DiskOpening, type Opening, openingOptions, sourcesOf } from '../files/opening.js';
import type { Queue } from '../queue/queue.js';
import { overallHead, overallView } from '../queue/queue-view.js';
import { button, separateButton, spoken } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import { frame } from '../steps/frame.js';
import { asError, type Screen } from '../steps/screen.js';
import type { Remedy, Step } from '../steps/state.js';
import { sentence } from '../texts/wording.js';

/** Whether a companion caused the error. */
export const isOfCompanion = ({ kind, fields }: DecantError): boolean =>
  kind !== 'missing-file' && fields.file !== undefined;

/** Lists the remedies to offer after `error`. */
export async function remediesAfter(error: DecantError, opening: Opening, signal: AbortSignal): Promise<Remedy[]> {
  const handedOver = allOf(opening).some(({ companions, answers }) => companions.length + answers.length > 0);
  const remedies: Remedy[] = [];
  switch (error.kind) {
    case 'not-recognised':
      if ((['state-format', 'later-part'].includes(error.code) || mayBeRaw(opening.top)) && !isOfCompanion(error))
        remedies.push('raw');
      break;
    case 'unsupported':
      // The bytes of an image of a disc are also a disk. In an archive, they could not be read as one.
      if (error.fields.format === 'iso' && mayBeRaw(opening.top) && !isOfCompanion(error)) remedies.push('raw');
      break;
    case 'corrupt':
      // To find out, an image that was unpacked would be unpacked again.
      if (!opening.salvage && (opening.spool || (await canSalvage(opening, signal)))) remedies.push('salvage');
      break;
    case 'source':
      // A handle returns the current file. A `File` describes the file as it was when it was chosen.
      if (opening.top.link) remedies.push('again');
      else if (opening.top.handle && !(await isEmptyNow(opening.top.handle))) remedies.push('again');
      break;
    case 'cancelled':
    case 'target':
      remedies.push('saveAgain');
      break;
    case 'internal':
      remedies.push('again');
      break;
  }
  if (opening.top.link && aboutLink.includes(error.kind) && !isOfCompanion(error)) {
    const isWrong = error.kind !== 'source' || isRefusal(error.fields.status);
    if (isWrong) remedies.unshift('editLink');
    else remedies.push('editLink');
  }
  if (handedOver && isOfCompanion(error)) remedies.unshift('filesAgain');
  else if (handedOver && aboutContent.includes(error.kind)) remedies.push('filesAgain');
  return remedies;
}

/** Whether the file is empty, as the browser's save dialog leaves it. False if the file cannot be read. */
async function isEmptyNow(handle: FileSystemFileHandle): Promise<boolean> {
  const file = await handle.getFile().catch(() => undefined);
  return file?.size === 0;
}

/** Kinds of failures that a wrong link may cause. */
const aboutLink: ErrorKind[] = ['source', 'not-recognised', 'unsupported'];

/** Whether the status of a server's answer says that it will not give the file. */
const isRefusal = (status: unknown): boolean => Number(status) >= 400 && Number(status) < 500;

/** Kinds of failures that a wrong companion, or one too many, may cause. */
const aboutContent: ErrorKind[] = ['corrupt', 'unsupported', 'not-recognised', 'usage'];

/** Whether a salvage would read any data. */
async function canSalvage(opening: Opening, signal: AbortSignal): Promise<boolean> {
  for (const one of allOf(opening)) if (await canSalvageDisk(one, signal)) return true;
  return false;
}

async function canSalvageDisk(opening: DiskOpening, signal: AbortSignal): Promise<boolean> {
  try {
    const options = await openingOptions(opening, signal);
    const image = await open(await sourceOf(opening.top, signal), { ...options, salvage: true, signal });
    try {
      if (image.streamed) return false;
      for await (const { kind } of image.map({ signal })) if (kind === 'data') return true;
      return false;
    } finally {
      await image.close();
    }
  } catch {
    return false;
  }
}

/** How the images of `opening` are opened again after `remedy`. */
export function reopened(remedy: Remedy, opening: Opening): Opening {
  /** All images with `change`; none stays open. */
  const all = (change: Partial<DiskOpening> = {}): Opening => ({
    ...opening,
    ...change,
    beside: opening.beside.map((other) => ({ ...other, ...change })),
  });
  switch (remedy) {
    case 'raw':
      return { ...opening, inputFormat: 'raw' };
    case 'salvage':
      return all({ salvage: true });
    case 'filesAgain':
      return all({ companions: [], repeated: [], answers: [], missing: [] });
    case 'again':
      for (const { link } of sourcesOf(opening)) link?.renew();
      return all();
    default:
      return all();
  }
}

/**
 * Shows that the work of `turn` on its image has failed, unless the turn is over. `describing` resolves to a sentence about
 * the remains of the output, if they are known.
 */
export async function fail(
  screen: Screen,
  queue: Queue,
  turn: AbortSignal,
  thrown: unknown,
  title: string,
  describing?: Promise<string | undefined>,
): Promise<void> {
  const { opening, texts } = screen;
  if (turn.aborted || !opening) return;
  const error = asError(thrown);
  screen.host.emit('decant-error', error);
  const [remains, remedies] = await Promise.all([describing, remediesAfter(error, opening, turn)]);
  if (turn.aborted) return;
  const isCancelled = error.kind === 'cancelled';
  const message = texts.failure(error);
  queue.fail(isCancelled ? texts.queued.cancelled : message, opening, remedies);
  const asks = error.code === 'state-format' && remedies[0] === 'raw';
  const said = asks ? texts.isRaw(labelOf(opening.bundle)) : title;
  screen.send(turn, 'failed', {
    asks,
    title: isCancelled ? texts.cancelled : said,
    message: isCancelled ? undefined : message,
    remains,
    remedies,
  });
}

/** The class of the button of a remedy, the first or a later one. */
const styleOf = (remedy: Remedy, at: number) => (at === 0 ? 'primary' : remedy === 'another' ? 'link' : '');

/** A failure with its remedies. */
export function failedView(state: Step<'failed'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  const { asks, title, message, remains, remedies } = state;
  const waiting = controls.imagesWaiting > 0;
  const offered: Remedy[] = [...remedies, ...(waiting ? (['next'] as const) : []), 'another'];
  const { overall } = controls;
  const titled = message || !remains ? title : `${sentence(title)} ${remains}`;
  const body = html`
    ${overall ? html`${overallView(overall, texts)}<h3>${titled}</h3>` : nothing}
    ${message ? html`<p class=${asks ? '' : 'bad'}>${spoken(message)}</p>` : nothing}
    ${message && remains ? html`<p>${remains}</p>` : nothing}
    <div class="actions">
      ${offered.map(
        (remedy, at) =>
          html`${remedy === 'another' ? separateButton(controls) : nothing}${button(texts.next[remedy], () => controls.takeRemedy(remedy), styleOf(remedy, at))}`,
      )}
    </div>
  `;
  return frame(
    state,
    texts,
    overall
      ? overallHead(overall, texts)
      : { text: titled, name: controls.opening && labelOf(controls.opening.bundle) },
    body,
  );
}
