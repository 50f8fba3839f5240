// The places where the disk can run, as tiles.

import { html, nothing, type TemplateResult } from 'lit';
import { pageLink, spoken } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import type { Step } from '../steps/state.js';
import type { AllTexts } from '../types.texts.js';
import type { Destination } from '../ways/destinations.js';

/** The number of places that are shown before a search. */
const SHOWN = 6;

export function placesView(state: Step<'ready'>, controls: Controls): TemplateResult {
  const { texts } = controls;
  const { destinations, destination } = state;
  const sought = controls.chooser.placeSearch.trim().toLowerCase();
  const isFound = (one: Destination) => texts.placeLabel(one).toLowerCase().includes(sought);
  const shown = destinations.filter((one, at) =>
    sought ? isFound(one) : at < SHOWN || one.name === destination?.name,
  );
  const search = (event: Event) => controls.chooser.searchPlace((event.target as HTMLInputElement).value);
  return html`
    <fieldset class="more">
      <legend>${texts.where}</legend>
      <div class="tiles">
        ${shown.map((one) => tile(one, state, controls))}
        ${
          destinations.length > SHOWN
            ? html`<input name="place-search" class="tile" part="field" type="search" aria-label=${texts.otherPlace} placeholder=${texts.otherPlace} .value=${controls.chooser.placeSearch} @input=${search} />`
            : nothing
        }
      </div>
    </fieldset>
    ${sought && shown.length === 0 ? html`<p class="quiet">${texts.noPlace}</p>` : nothing}
    ${refusals(shown, texts)}
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

const tile = (one: Destination, { destination, choosingTarget }: Step<'ready'>, controls: Controls) => html`
  <label class="tile" part="tile">
    <input
      type="radio"
      name="place"
      value=${one.name}
      .checked=${one.name === destination?.name}
      ?disabled=${one.output.refusal !== undefined || choosingTarget}
      @change=${() => controls.chooser.selectDestination(one)}
    />
    <span>${controls.texts.placeLabel(one)}</span>
  </label>
`;
