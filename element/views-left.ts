// What interrupted conversions have left, on the first screen.

import { shownText } from 'decant';
import { html, type TemplateResult } from 'lit';
import type { Session } from './session.js';
import { spoken } from './spoken.js';
import type { Left } from './state.js';

export const leftView = (left: Left[], session: Session): TemplateResult => html`
  <ul class="left">
    ${left.map(
      (one) => html`
        <li class="notice" part="notice"><span>${spoken(one.text)}</span>
          <button part="button" aria-label=${`${one.action}: ${shownText(one.image)}`} @click=${() => session.removeLeft(one)}>${one.action}</button>
        </li>
      `,
    )}
  </ul>
`;
