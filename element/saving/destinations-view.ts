// The places where the disk can run: the most used ones as tiles, all of them in a list with a search.

import { html, nothing, type TemplateResult } from 'lit';
import { pageLink, spoken } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import type { Step } from '../steps/state.js';
import type { AllTexts } from '../types.texts.js';
import type { Destination } from '../ways/destinations.js';
import { placeIcon } from './place-icons.js';

/** The number of places that are shown before the list is opened. */
const SHOWN = 9;

export function placesView(state: Step<'ready'>, controls: Controls): TemplateResult {
  const { texts, chooser } = controls;
  const { destinations } = state;
  const first = destinations.slice(0, SHOWN);
  const others = destinations.slice(SHOWN);
  // A place that was chosen in the list is seen without opening it.
  const isListed =
    others.length > 0 && (chooser.listsPlaces || others.some(({ name }) => name === state.destination?.name));
  const listed = isListed ? others.filter((one) => isFound(one, controls)) : [];
  return html`
    <fieldset class="more">
      <legend>${texts.where}</legend>
      <div class="tiles">
        ${first.map((one) => tile(one, state, controls, placeIcon(one.name)))}
        ${
          others.length > 0
            ? html`<button type="button" class="tile" part="tile" aria-expanded=${isListed ? 'true' : 'false'} @click=${() => chooser.listPlaces(!isListed)}>${texts.morePlaces}</button>`
            : nothing
        }
      </div>
      ${isListed ? listView(listed, state, controls) : nothing}
    </fieldset>
    ${refusals([...first, ...listed], texts)}
  `;
}

const isFound = (one: Destination, { texts, chooser }: Controls): boolean =>
  texts.placeLabel(one).toLowerCase().includes(chooser.placeSearch.trim().toLowerCase());

function listView(listed: Destination[], state: Step<'ready'>, controls: Controls): TemplateResult {
  const { texts, chooser } = controls;
  const search = (event: Event) => chooser.searchPlace((event.target as HTMLInputElement).value);
  return html`
    <input name="place-search" part="field" type="search" aria-label=${texts.otherPlace} placeholder=${texts.otherPlace} .value=${chooser.placeSearch} @input=${search} />
    ${
      listed.length > 0
        ? html`<div class="tiles">${listed.map((one) => tile(one, state, controls, nothing))}</div>`
        : html`<p class="quiet">${texts.noPlace}</p>`
    }
  `;
}

/** Why places are refused. Places with the same reason share a line. */
function refusals(shown: Destination[], texts: AllTexts): TemplateResult[] {
  const lines = new Map<string, { labels: string[]; source: unknown }>();
  for (const { output, ...place } of shown) {
    if (!output.refusal) continue;
    const why = texts.failure(output.refusal);
    const line = lines.get(why) ?? { labels: [], source: output.refusal.fields.source };
    line.labels.push(texts.placeLabel(place));
    lines.set(why, line);
  }
  return [...lines].map(
    ([why, { labels, source }]) =>
      html`<p class="quiet more">${spoken(`${labels.join(', ')}: ${why}`)} ${pageLink(source)}</p>`,
  );
}

function tile(
  one: Destination,
  { destination, choosingTarget }: Step<'ready'>,
  controls: Controls,
  icon: TemplateResult | typeof nothing,
): TemplateResult {
  const { texts } = controls;
  const { name, output, isLast } = one;
  const label = texts.placeLabel(one);
  const format = texts.outputValue(output);
  return html`
    <label class="tile" part="tile">
      <input
        type="radio"
        name="place"
        value=${name}
        aria-labelledby=${`place-${name}`}
        aria-describedby=${`format-${name}`}
        .checked=${name === destination?.name}
        ?disabled=${output.refusal !== undefined || choosingTarget}
        @change=${() => controls.chooser.selectDestination(one)}
      />
      ${icon}
      <span id=${`place-${name}`}>${label}</span>
      <span class="quiet" id=${`format-${name}`}>${[format === label ? output.extension : format, isLast && texts.lastUsed].filter(Boolean).join(' · ')}</span>
    </label>
  `;
}
