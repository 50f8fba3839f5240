// The warnings of a step, which are shown and announced to screen readers.

import { type AnyImage, type ConvertResult, shownText } from 'decant';
import { render } from 'lit';
import { downloadName, nameProblem } from '../files/names.js';
import type { AllTexts } from '../types.texts.js';
import { imagesIn } from '../ways/choices.js';
import { spoken } from './common-views.js';
import type { Controls } from './controls.js';
import type { State, Step, Warning } from './state.js';

/** Notices that the image names other files. Those were handed over by the time that its warnings are shown. */
const OF_REFERENCES = ['backing-file', 'data-file', 'extent', 'extents', 'absolute-path', 'parent-path', 'protocol'];

type ImageLayer = AnyImage['info']['layers'][number];

export const smaller = (layer: ImageLayer, above: ImageLayer, texts: AllTexts): string =>
  texts.smallerLayer(layer.name, layer.virtualSize, above.name, above.virtualSize);

/** Returns a sentence for each layer whose disk is smaller than the disk of the layer above. */
export function smallerLayers({ layers }: AnyImage['info'], texts: AllTexts): string[] {
  return layers.flatMap((layer, at) => {
    const above = layers[at - 1];
    return above && layer.virtualSize < above.virtualSize ? [smaller(layer, above, texts)] : [];
  });
}

/** The warnings about the image, above the choices. */
export function imageWarnings({ survey, otherTab, ...images }: Step<'ready'>, controls: Controls): Warning[] {
  const { texts, isSalvage } = controls;
  const all = imagesIn(images);
  const missing = all.length > 1 ? images.image.disks.flatMap((disk) => (disk.missing ? disk.name : [])) : [];
  return [
    ...only(missing.length > 0, 'missing', () => texts.withoutDisks(missing)),
    ...all.flatMap(({ info }, at) => contentWarnings(info, at, all.length > 1, texts)),
    ...only(isSalvage, 'salvage', () => texts.salvaging(survey.lost)),
    ...only(otherTab, 'other tab', () => texts.otherTab),
  ];
}

/** The warnings about the image with the index `at`; with its name if there are several. */
function contentWarnings(info: AnyImage['info'], at: number, isNamed: boolean, texts: AllTexts): Warning[] {
  const safety = info.safety.filter(({ code }) => !OF_REFERENCES.includes(code));
  const warning = (id: string, text: string): Warning => ({
    id: `${id} of ${at}`,
    text: isNamed ? `${shownText(info.name ?? texts.image)}: ${text}` : text,
  });
  return [
    ...[...new Set(safety.map((notice) => texts.notice(notice)))].map((text, at) => warning(`safety ${at}`, text)),
    ...smallerLayers(info, texts).map((text, at) => warning(`layer ${at}`, text)),
    ...(info.unusedCompanions.length > 0 ? [warning('unused', texts.unused(info.unusedCompanions))] : []),
  ];
}

/** The warnings about the chosen output format. */
export const outputWarnings = ({ output }: Step<'ready'>, texts: AllTexts): Warning[] =>
  output.notices.map((notice, at) => ({
    id: `output ${output.name} ${notice.code} ${at}`,
    text: texts.notice(notice),
  }));

/** The warning that the name ends in the extension of another output format. */
function extensionWarning({ image, output, name }: Step<'ready'>, texts: AllTexts): Warning[] {
  const endsIn = (extension: string) => name.toLowerCase().endsWith(extension);
  const other = image.formats.find(({ extension }) => endsIn(extension))?.extension;
  if (other === undefined || endsIn(output.extension)) return [];
  return [{ id: `extension ${other}`, text: texts.otherExtension(other, output.extension) }];
}

/** The warning that the browser changes the name of a download. */
function changedName({ way, name }: Step<'ready'>, texts: AllTexts): Warning[] {
  if (way !== 'download' || nameProblem(name, texts)) return [];
  const changed = downloadName(name);
  return only(changed !== name, 'changed name', () => texts.changedName(changed));
}

/** The warnings about the name. */
export const nameWarnings = (state: Step<'ready'>, texts: AllTexts): Warning[] => [
  ...extensionWarning(state, texts),
  ...changedName(state, texts),
];

/** Sentences about the disk of a result, among them those of `Info.safety` that are true of it. Layers may share a sentence. */
export const noticesOf = ({ notices }: ConvertResult, texts: AllTexts): string[] => [
  ...new Set(notices.map((notice) => texts.notice(notice))),
];

/** The warnings about a result. */
export const resultWarnings = ({ result, tooLate }: Step<'done'>, texts: AllTexts): Warning[] => [
  ...only(tooLate, 'too late', () => texts.wasTooLate),
  ...noticesOf(result, texts).map((text, at) => ({ id: `result ${at}`, text })),
];

/** All warnings of the step that is shown. `isTyping`: whether a name or a link is being typed. */
export function warningsOf(state: State, controls: Controls, isTyping: boolean): Warning[] {
  const { texts, links } = controls;
  if (state.step === 'done') {
    const { lostBytes, lostRanges } = state.result;
    const lost = only(lostBytes > 0, 'lost', () => texts.lost(lostBytes, lostRanges));
    return [...resultWarnings(state, texts), ...lost];
  }
  if (links.problem) {
    const id = `address ${links.problem.refusals}`;
    return [{ id, text: texts.noAddress, isDescription: !isTyping }];
  }
  if (state.step !== 'ready') return [];
  const { survey, nameProblem: problem, choices, lostWay } = state;
  const obstacle = choices.find(({ way }) => way === lostWay)?.obstacle;
  return [
    ...imageWarnings(state, controls),
    ...only(survey.contents?.table?.damaged, 'table', () => texts.contents.damaged),
    ...outputWarnings(state, texts),
    ...only(obstacle, `way ${lostWay}`, () => `${obstacle} ${texts.chooseWay}`),
    ...(problem ? [{ id: `name ${problem.id}`, text: problem.text, isDescription: !isTyping }] : []),
    ...nameWarnings(state, texts),
  ];
}

const only = (isThere: unknown, id: string, text: () => string): Warning[] => (isThere ? [{ id, text: text() }] : []);

/** The warnings that a live region has: each is announced once, when it appears. */
export class Announced {
  #items = new Map<string, Warning>();
  readonly #elements = new Map<string, Element>();

  /** Takes the present warnings. A warning that stays keeps its first text. */
  take(warnings: Warning[]): void {
    this.#items = new Map(warnings.map((warning) => [warning.id, this.#items.get(warning.id) ?? warning]));
  }

  get items(): Warning[] {
    return [...this.#items.values()].filter(({ isDescription }) => !isDescription);
  }

  /** Shows the warnings in `region`. The element of a warning that stays is not touched, since a change is announced. */
  show(region: Element): void {
    const { items } = this;
    for (const [id, element] of this.#elements) {
      if (items.some((item) => item.id === id)) continue;
      element.remove();
      this.#elements.delete(id);
    }
    for (const { id, text } of items) {
      if (this.#elements.has(id)) continue;
      const element = document.createElement('p');
      render(spoken(text), element);
      region.append(element);
      this.#elements.set(id, element);
    }
  }
}
