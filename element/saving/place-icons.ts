// Drawings for places: lines of one weight in a square of 24.

import { html, type TemplateResult } from 'lit';

const CLOUD = 'M7 18.5a4.5 4.5 0 0 1-.6-9 6 6 0 0 1 11.5 1.3 3.9 3.9 0 0 1-.4 7.7z';

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

/** The drawing of the place called `name`: a cloud, if it has none of its own. */
export const placeIcon = (name: string): TemplateResult =>
  html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${ICONS[name] ?? CLOUD} /></svg>`;
