// As docs/embedding.md has it.
import { configure } from './node_modules/decant/dist/browser.js';
import './node_modules/decant/dist/element.js';

const policy = trustedTypes.createPolicy('decant', { createScriptURL: (url) => url });
const script = policy.createScriptURL(new URL('./node_modules/decant/dist/worker.js', import.meta.url).href);
configure({ worker: () => new Worker(script, { type: 'module' }) });
document.querySelector('decant-converter').output = ({ name }) => ({ opfs: name });
