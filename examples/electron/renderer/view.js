// What the page shows.

import * as texts from './texts.js';

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

function option({ name, label, size, refusal }) {
  const known = size === undefined ? '' : `, ${texts.size(size)}`;
  return Object.assign(new Option(`${label}${known}`, name), { disabled: refusal !== undefined });
}

/** Shows an image that was opened, and asks for what it needs. */
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

/** What a person should know about the format that is chosen. */
export function showNotices({ notices }) {
  element('format-notice').textContent = notices.map(({ message }) => `${message}.`).join(' ');
}

/** While something is under way, it can be cancelled, and nothing else can be begun. */
export function setBusy(busy) {
  for (const control of document.querySelectorAll('button:not(#cancel), input, select')) control.disabled = busy;
}

export function showWork(shown) {
  show('work', shown);
  if (shown) element('cancel').focus();
}

export function showProgress(progress) {
  element('progress-text').textContent = texts.progress(progress);
  const bar = element('progress');
  // Without a value it shows that nobody knows.
  if (progress.share === undefined) bar.removeAttribute('value');
  else bar.value = progress.share;
}

/** Has a screen reader read out how far it is. Others see the bar. */
export function speak(text) {
  element('quarter').textContent = text;
}

/** A screen reader reads it out, too. */
export function say(text) {
  element('status').textContent = text;
}

export function showError(text) {
  element('error').textContent = text;
}

/** Says how a conversion to the file `name` ended. */
export function sayResult(name, { outputSize, notices, lostBytes, seconds }) {
  const lost = lostBytes > 0 ? `${texts.size(lostBytes)} could not be read and are zeros.` : '';
  const done = `Saved ${name}: ${texts.size(outputSize)} in ${texts.duration(seconds)}.`;
  say([done, ...notices.map(({ message }) => `${message}.`), lost].filter(Boolean).join(' '));
}
