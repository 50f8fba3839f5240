// Keeps the heading of a step in the lines that its place has, so that the picture below it stays where it is: a long name is cut in its
// middle, and the whole heading is in a tip.

/** The fewest characters of a name that are left. */
const LEAST = 12;
/** How much shorter a name is made at a time. */
const STEP = 0.85;

/** Returns `name` cut in its middle, to `most` characters. */
export function cutInMiddle(name: string, most: number): string {
  const characters = [...name];
  if (characters.length <= most) return name;
  const end = Math.floor((most - 1) / 2);
  return [...characters.slice(0, most - 1 - end), '…', ...characters.slice(-end)].join('');
}

/** Yields `text`, then with `name`, as it is shown, or else its longest word, shorter and shorter. */
export function* shorterTexts(text: string, name: string): Generator<string> {
  yield text;
  const words = text.split(' ').toSorted((one, other) => other.length - one.length);
  const long = name !== '' && text.includes(name) ? name : words[0]!;
  for (let most = [...long].length; most > LEAST; ) {
    most = Math.max(LEAST, Math.floor(most * STEP));
    yield text.replace(long, () => cutInMiddle(long, most));
  }
}

/** Shows the text of the heading in `root`: cut as far as needed, in a smaller font if that is not enough. */
export function fitHeading(root: ShadowRoot): void {
  const span = root.querySelector<HTMLElement>('[data-heading]');
  const heading = span?.parentElement;
  const place = heading?.parentElement;
  if (!span || !heading || !place) return;
  const { heading: whole = '', name = '' } = span.dataset;
  const key = [whole, name, place.clientWidth].join();
  if (span.dataset.fitted === key) return;
  span.dataset.fitted = key;
  const shown = showFitting(span, heading, place, whole, name);
  heading.title = shown === whole ? '' : whole;
  heading.ariaLabel = shown === whole ? null : `${heading.querySelector('.unseen')?.textContent ?? ''}${whole}`;
}

/** Shows the first text that fits, and returns it; the whole one if none does. */
function showFitting(span: HTMLElement, heading: HTMLElement, place: HTMLElement, whole: string, name: string): string {
  for (const isSmall of [false, true]) {
    heading.classList.toggle('long', isSmall);
    const line = Number.parseFloat(getComputedStyle(heading).lineHeight);
    const lines = Math.max(1, Math.floor(Number.parseFloat(getComputedStyle(place).minHeight) / line));
    for (const text of shorterTexts(whole, name)) {
      span.textContent = text;
      if (Math.round(span.offsetHeight / line) <= lines) return text;
    }
  }
  // Even the shortest cut takes too many lines.
  span.textContent = whole;
  return whole;
}
