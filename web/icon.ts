// The icon of the tab: its bottle fills while a disk is converted.

const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')!;
const { href } = icon;

/** Fills the bottle to `share`, 0 to 1; without a share, as on the first screen. */
export function fillIcon(share?: number): void {
  const level = Math.round((share ?? 0) * 20) / 20;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><linearGradient id="f" y1="1" x2="0" y2="0"><stop offset="${level}" stop-color="#7fe0d0"/><stop offset="${level}" stop-color="#0b6b63"/></linearGradient><rect width="32" height="32" rx="8" fill="#0b6b63"/><path d="M11 6h10v5l3 5v8a3 3 0 0 1-3 3H11a3 3 0 0 1-3-3v-8l3-5z" fill="url(#f)" stroke="#fff" stroke-width="2" stroke-linejoin="round"/></svg>`;
  const filled = share === undefined ? href : `data:image/svg+xml,${encodeURIComponent(svg)}`;
  if (icon.href !== filled) icon.href = filled;
}
