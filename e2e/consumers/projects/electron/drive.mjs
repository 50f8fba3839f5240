// Runs the Electron example's own parts in Node, without Electron: `drive.mjs MAIN WORK TASK`. MAIN and WORK are the
// folders of the application's parts. A MessageChannel stands in for the utility process, an object for the dialogs, a
// port for the page. Prints the replies and the progress as JSON.

import { EventEmitter } from 'node:events';
import { pathToFileURL } from 'node:url';
import { MessageChannel } from 'node:worker_threads';

const [main, work, task] = process.argv.slice(2);
const load = (folder, file) => import(new URL(file, `${pathToFileURL(folder)}/`));
const { answer } = await load(main, 'calls.js');
const { Session } = await load(main, 'session.js');
const { WorkClient } = await load(main, 'work-client.js');
const { serve } = await load(work, 'serve.mjs');

const { calls, files, cancels } = JSON.parse(task);

/** A process as `utilityProcess.fork` makes it. */
function fork() {
  const { port1, port2 } = new MessageChannel();
  serve({
    on: (name, listener) => port2.addEventListener(name, listener),
    postMessage: (message) => port2.postMessage(message),
  });
  const child = new EventEmitter();
  port1.on('message', (message) => child.emit('message', message));
  child.postMessage = (message, ports) => port1.postMessage(message, ports);
  return child;
}

const dialogs = {
  image: async () => files.image,
  companions: async () => files.companions ?? [],
  output: async (suggested) => {
    said.suggested = suggested;
    return files.output;
  },
};

const said = { replies: [], progress: [], shares: [], done: 0 };

const frame = { url: 'app://decant/' };
const ask = (name, ...values) => answer(name, session, { senderFrame: frame, sender: { mainFrame: frame } }, values);

const page = {
  progressPort() {
    const { port1, port2 } = new MessageChannel();
    port2.on('message', (progress) => {
      said.progress.push(progress);
      if (cancels && progress.share > 0) ask('cancel').catch(console.error);
    });
    return port1;
  },
  done: () => {
    said.done += 1;
  },
};

const session = new Session(new WorkClient(fork, (share) => said.shares.push(share)), dialogs, page);
for (const [name, ...values] of calls) said.replies.push(await ask(name, ...values));
// What is still on its way by the other port.
await new Promise((resolve) => setImmediate(resolve));
// The example's process is killed at the end; here it is this one.
process.stdout.write(JSON.stringify(said), () => process.exit());
