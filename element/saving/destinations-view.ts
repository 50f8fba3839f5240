// The places where the disk can run: the most used ones as tiles, all of them in a list with a search.

import { html, nothing, type TemplateResult } from 'lit';
import { openedInSight, pageLink, spoken } from '../steps/common-views.js';
import type { Controls } from '../steps/controls.js';
import type { Step } from '../steps/state.js';
import type { AllTexts } from '../types.texts.js';
import type { Destination } from '../ways/destinations.js';

/** The most characters of a format that fit in one line of a tile: the extension stands for a longer one. */
const MOST_OF_FORMAT = 16;
/** The number of places that are shown before the list is opened. */
const SHOWN = 9;

export function placesView(state: Step<'ready'>, controls: Controls): TemplateResult {
  const { texts, chooser } = controls;
  const { destinations } = state;
  const first = destinations.slice(0, SHOWN);
  const others = destinations.slice(SHOWN);
  // Until the person opens or closes the list, it is open if the chosen place is in it.
  const isChosen = others.some(({ name }) => name === state.destination?.name);
  const isListed = others.length > 0 && (chooser.listsPlaces ?? isChosen);
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
      ${isListed ? html`<div class="opened" ${chooser.listsPlaces ? openedInSight : nothing}>${listView(listed, state, controls)}</div>` : nothing}
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
  const short = format === label || format.length > MOST_OF_FORMAT ? output.extension : format;
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
      <span class="quiet" id=${`format-${name}`}>${[short, isLast && texts.lastUsed].filter(Boolean).join(' · ')}</span>
    </label>
  `;
}

const CLOUD = 'M7 18.5a4.5 4.5 0 0 1-.6-9 6 6 0 0 1 11.5 1.3 3.9 3.9 0 0 1-.4 7.7z';

/** Drawings for places: lines of one weight in a square of 24. */
const ICONS: Record<string, string> = {
  raw: 'M4.5 4.5h6v6h-6zM13.5 4.5h6v6h-6zM4.5 13.5h6v6h-6zM13.5 13.5h6v6h-6z',
  kvm: 'M7 7h10v10H7zM10 3.5V7M14 3.5V7M10 17v3.5M14 17v3.5M3.5 10H7M3.5 14H7M17 10h3.5M17 14h3.5',
  proxmox: 'M4 4.5h16V11H4zM4 13h16v6.5H4zM7.5 7.7h1M7.5 16.2h1M12 7.7h4.5M12 16.2h4.5',
  vmware: 'M4 9h11v11H4zM9 9V4h11v11h-5',
  virtualbox: 'M12 3.5l7.5 4.2v8.6L12 20.5l-7.5-4.2V7.7zM4.5 7.7L12 12l7.5-4.3M12 12v8.5',
  hyperv: 'M4 4.5h16v15H4zM4 9h16M7.5 13h5M7.5 16h8',
  aws: `${CLOUD}M12 16v-5M9.7 13l2.3-2.3 2.3 2.3`,
  azure: `${CLOUD}M9 15.5l3-5.5 3 5.5z`,
  google: `${CLOUD}M12 10.5l2.2 1.3v2.4L12 15.5l-2.2-1.3v-2.4z`,
};

/** Returns the drawing for the place `name`, or a cloud. */
const placeIcon = (name: string): TemplateResult =>
  html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${ICONS[name] ?? CLOUD} /></svg>`;
