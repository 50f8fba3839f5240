// What the page does. All that is not the page's own is behind `window.converter`: see ../preload/preload.cjs.

import * as texts from './texts.js';
import * as view from './view.js';

const { converter } = window;
const element = (id) => document.getElementById(id);

/** What was opened last, or undefined. */
let image;
let busy = false;

/** Only a fault of this application comes here: what fails by itself is answered. */
const fault = (thrown) => view.showError(String(thrown));

/** Runs one thing after the other: a second one is not begun while the first is under way. */
function alone(work) {
  if (busy) return;
  const focused = document.activeElement;
  busy = true;
  view.setBusy(true);
  view.showError('');
  view.say('');
  const end = () => {
    busy = false;
    view.setBusy(false);
    // A control that is disabled loses the focus.
    if (document.activeElement === document.body) focused.focus();
  };
  work().catch(fault).finally(end);
}

/** The value of a reply, or null; shows why something failed. */
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

/** Shows `phase` and what can be cancelled until `reply` is there. */
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

/** Files that an image lacks are added to it; otherwise the file is the image. */
async function drop(files) {
  if (image?.needs.some(({ kind }) => kind === 'missing-file')) await opened(converter.addCompanions(files));
  else if (files.length === 1) await opened(converter.openImage(files[0]));
  else view.showError('Drop the image alone. Files that it needs can be added afterwards.');
}

/** The last quarter that was read out. */
let quarter = 0;
converter.onProgress((progress) => {
  // It comes by a way of its own, and may come late.
  if (!busy) return;
  view.showProgress(progress);
  const reached = Math.floor((progress.share ?? 0) * 4);
  if (progress.phase === 'converting' && reached > quarter && reached < 4) view.speak(`${reached * 25} %`);
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
  const files = [...event.dataTransfer.files];
  if (files.length > 0) alone(() => drop(files));
});
