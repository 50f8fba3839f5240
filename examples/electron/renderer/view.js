// Renders the page.

import * as texts from './texts.js';

/** @returns {any} */
const element = (id) => document.getElementById(id);

const show = (id, shown) => {
  element(id).hidden = !shown;
};

const list = (id, lines) => {
  const items = lines.map((line) => Object.assign(document.createElement('li'), { textContent: line }));
  element(id).replaceChildren(...items);
  show(id, lines.length > 0);
};

const need = ({ role, name, of }) => `${name}: ${role} of ${of}`;

function option({ name, label, outputSize, refusal }) {
  const known = outputSize === undefined ? '' : `, ${texts.size(outputSize)}`;
  return Object.assign(new Option(`${label}${known}`, name), { disabled: refusal !== undefined });
}

/** Shows the opened image, and requests its missing files and passwords. */
export function showImage({ name, format, virtualSize, needs, safety, formats }) {
  const missing = needs.filter(({ kind }) => kind === 'missing-file');
  const disk = virtualSize === undefined ? 'a disk of unknown size' : `a disk of ${texts.size(virtualSize)}`;
  element('name').textContent = name;
  element('facts').textContent = `${format}, ${disk}`;
  list('safety', safety);
  list('missing-files', missing.map(need));
  show('missing', missing.length > 0);
  show('unlock', missing.length === 0 && needs.length > 0);
  show('save', needs.length === 0);
  element('password').value = '';
  element('format').replaceChildren(...formats.map(option));
  showNotices(formats[0]);
  show('image', true);
  element('name').focus();
}

/** Shows the hint of the selected format. */
export function showNotices({ notices }) {
  element('format-notice').textContent = notices.map(({ message }) => `${message}.`).join(' ');
}

/** During an action, only cancelling is possible. */
export function setBusy(busy) {
  /** @type {NodeListOf<HTMLInputElement>} */
  const controls = document.querySelectorAll('button:not(#cancel), input, select');
  for (const control of controls) control.disabled = busy;
}

export function showWork(shown) {
  show('work', shown);
  if (shown) element('cancel').focus();
}

export function showProgress(progress) {
  element('progress-text').textContent = texts.progress(progress);
  const bar = element('progress');
  // Without a value, the bar is indeterminate.
  if (progress.share === undefined) bar.removeAttribute('value');
  else bar.value = progress.share;
}

/** Announces progress to screen readers; others see the bar. */
export function speak(text) {
  element('quarter').textContent = text;
}

/** Announced by screen readers, too. */
export function say(text) {
  element('status').textContent = text;
}

export function showError(text) {
  element('error').textContent = text;
}

/** Shows the result of a conversion to the file `name`. */
export function sayResult(name, { outputSize, notices, lostBytes, seconds }) {
  const lost = lostBytes > 0 ? `${texts.size(lostBytes)} could not be read and are zeros.` : '';
  const done = `Saved ${name}: ${texts.size(outputSize)} in ${texts.duration(seconds)}.`;
  say([done, ...notices.map(({ message }) => `${message}.`), lost].filter(Boolean).join(' '));
}
