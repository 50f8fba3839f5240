// The page's logic. `window.converter` does the rest: see ../preload/preload.cjs.

import * as texts from './texts.js';
import * as view from './view.js';

const { converter } = /** @type {any} */ (window);
/** @returns {any} */
const element = (id) => document.getElementById(id);

/** The last opened image, or undefined. */
let image;
let busy = false;

/** Only faults of this application arrive here: expected failures are replies. */
const fault = (thrown) => view.showError(String(thrown));

/** Runs one action at a time: ignores others meanwhile. */
function alone(work) {
  if (busy) return;
  const focused = /** @type {HTMLElement} */ (document.activeElement);
  busy = true;
  view.setBusy(true);
  view.showError('');
  view.say('');
  const end = () => {
    busy = false;
    view.setBusy(false);
    // A disabled control loses the focus.
    if (document.activeElement === document.body) focused.focus();
  };
  work().catch(fault).finally(end);
}

/** Returns the value of a reply, or null after showing its error. */
function unwrap({ value, error }) {
  if (!error) return value;
  if (error.kind === 'cancelled') view.say('Cancelled. Nothing was saved.');
  else view.showError(texts.failure(error));
  return null;
}

async function opened(reply) {
  const value = unwrap(await reply);
  if (!value) return;
  image = value;
  view.showImage(image);
}

/** Shows `phase` and the cancel button until `reply` settles. */
async function whileWorking(phase, reply) {
  view.showProgress({ phase });
  view.speak('');
  view.showWork(true);
  try {
    return await reply;
  } finally {
    view.showWork(false);
    element('name').focus();
  }
}

const unlock = () => opened(whileWorking('unlocking', converter.givePassword(element('password').value)));

async function convert() {
  const name = unwrap(await converter.chooseOutput(element('format').value));
  if (!name) return;
  const result = unwrap(await whileWorking('preparing', converter.convert()));
  if (result) view.sayResult(name, result);
}

/** Adds missing files to the image; otherwise opens the file as an image. */
async function drop(files) {
  if (image?.needs.some(({ kind }) => kind === 'missing-file')) await opened(converter.addCompanions(files));
  else if (files.length === 1) await opened(converter.openImage(files[0]));
  else view.showError('Drop the image alone. Files that it needs can be added afterwards.');
}

/** The last announced quarter. */
let quarter = 0;
converter.onProgress((progress) => {
  // Progress comes by a separate port, and may be late.
  if (!busy) return;
  view.showProgress(progress);
  const reached = Math.floor((progress.share ?? 0) * 4);
  if (progress.phase === 'converting' && reached > quarter && reached < 4) view.speak(`${reached * 25}%`);
  quarter = reached;
});

const onClick = (id, work) => element(id).addEventListener('click', () => alone(work));
const onSubmit = (id, work) =>
  element(id).addEventListener('submit', (event) => {
    event.preventDefault();
    alone(work);
  });

onClick('choose-image', () => opened(converter.chooseImage()));
onClick('choose-companions', () => opened(converter.chooseCompanions()));
onSubmit('unlock', unlock);
onSubmit('save', convert);
element('cancel').addEventListener('click', () => converter.cancel().catch(fault));
element('format').addEventListener('change', ({ target }) => {
  view.showNotices(image.formats.find(({ name }) => name === target.value));
});

const dropping = (is) => document.body.classList.toggle('dropping', is);
document.addEventListener('dragover', (event) => {
  event.preventDefault();
  dropping(true);
});
document.addEventListener('dragleave', () => dropping(false));
document.addEventListener('drop', (event) => {
  event.preventDefault();
  dropping(false);
  const files = [...(event.dataTransfer?.files ?? [])];
  if (files.length > 0) alone(() => drop(files));
});
