// The commands that come after a conversion: one a row, with fields for what only the person knows.

import { type NextCommand, nextStep } from 'decant/places';
import { html, nothing, type TemplateResult } from 'lit';
import { copyButton, pageLink, spoken } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import type { Step } from '../steps/state.js';

export function commandsView({ destination, made, contents }: Step<'done'>, controls: Controls) {
  const { texts, values } = controls;
  const step = destination && nextStep(destination.name, made, values);
  if (!step) return nothing;
  const lines = step.commands.map(({ line }) => line);
  const shown = partsOfCommands(destination.name, made);
  const origins = originsOf(step.commands);
  const title = texts.nextStep(texts.placeLabel(destination), step.shell);
  const commands = lines.map((line, at) => ({ line, parts: shown[at]!, origins: origins[at]! }));
  return html`
    <section class="next more" aria-label=${title}>
      <h3>${title}</h3>
      ${commands.length > 0 ? html`<ol>${commands.map((command) => row(command, controls))}</ol>` : nothing}
      ${commands.length > 1 ? html`<div class="actions">${copyButton(lines.join('\n'), controls, texts.copyAll)}</div>` : nothing}
      ${contents?.firmware ? html`<p>${texts.contents.firmware(contents.firmware)}</p>` : nothing}
      ${step.notices.map((notice) => html`<p>${spoken(texts.notice(notice))} ${pageLink(notice.fields.source)}</p>`)}
    </section>
  `;
}

/** A command: the text to copy, and its parts: texts, and each placeholder between two of them. */
interface Command {
  line: string;
  parts: string[];
  origins: Origin[];
}

/** A placeholder, and the number of the command that prints its value. */
interface Origin {
  placeholder: string;
  step: number;
}

const isComment = (line: string): boolean => line.startsWith('#');

/** For each command, its placeholders whose values an earlier command prints, and the step of that one. Comments do not count as steps. */
export function originsOf(commands: readonly NextCommand[]): Origin[][] {
  const steps = new Map<string, number>();
  let step = 0;
  return commands.map(({ line, placeholders, prints = [] }) => {
    const known = placeholders.flatMap((placeholder) => {
      const from = steps.get(placeholder);
      return from === undefined ? [] : [{ placeholder, step: from }];
    });
    if (!isComment(line)) step += 1;
    for (const placeholder of prints) steps.set(placeholder, step);
    return known;
  });
}

function row({ line, parts, origins }: Command, controls: Controls): TemplateResult {
  if (isComment(line)) return html`<li class="comment quiet">${line.replace(/^#\s*/, '')}</li>`;
  const { texts } = controls;
  return html`
    <li>
      <code part="command">${wordsOf(parts).map((word) => wordView(word, controls))}</code>
      ${copyButton(line, controls, texts.copy, `${texts.copy}: ${line}`)}
      ${origins.map(({ placeholder, step }) => html`<span class="origin quiet">${texts.fromStep(placeholder, step)}</span>`)}
    </li>
  `;
}

/** Words are not broken at hyphens. */
const wordView = (word: string[], controls: Controls) =>
  html`<span class="word">${word.map((part, at) => (at % 2 === 1 ? valueField(part, controls) : part))}</span> `;

/** Splits the parts of a command at spaces. A word has parts as well. */
export function wordsOf(parts: string[]): string[][] {
  const words: string[][] = [[]];
  for (const [at, part] of parts.entries()) {
    const [first = '', ...others] = at % 2 === 1 ? [part] : part.split(' ');
    words.at(-1)!.push(first);
    for (const text of others) words.push([text]);
  }
  return words;
}

/** The field for a placeholder, wide enough for what is in it. Each field of a placeholder has the same value. */
const valueField = (placeholder: string, controls: Controls) => {
  const value = controls.values[placeholder] ?? '';
  const typed = (event: Event) => controls.fillIn(placeholder, (event.target as HTMLInputElement).value);
  // Spaces around it would be spaces of the command.
  return html`<input class="value" name=${`value-${placeholder}`} aria-label=${placeholder} placeholder=${placeholder} size=${(value || placeholder).length} autocomplete="off" autocapitalize="off" spellcheck="false" .value=${value} @input=${typed} />`;
};

/** A text that no command has, in place of a placeholder: it needs no quotes in any shell. */
const markOf = (at: number): string => `decantPlaceholder${at}x`;

/** The parts of each command: texts, and each placeholder between two of them. */
export function partsOfCommands(place: string, made: Parameters<typeof nextStep>[1]): string[][] {
  const commands = nextStep(place, made)?.commands ?? [];
  const placeholders = [...new Set(commands.flatMap((command) => command.placeholders))];
  const marks = Object.fromEntries(placeholders.map((placeholder, at) => [placeholder, markOf(at)]));
  const marked = nextStep(place, made, marks)?.commands ?? [];
  return marked.map(({ line }) =>
    line.split(/decantPlaceholder(\d+)x/).map((part, at) => (at % 2 === 1 ? placeholders[Number(part)]! : part)),
  );
}
