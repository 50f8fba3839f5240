// Serves calls of the main process. Works with any port like Electron's, so it runs in Node, too.

import { DecantError } from 'decant';
import { Job } from './job.mjs';

/** Converts an error to plain data: errors lose their fields between processes. */
function failure(thrown) {
  const error = thrown instanceof DecantError ? thrown : new DecantError('internal', String(thrown));
  return error.toJSON();
}

/**
 * Serves `port`: receives `{ id, call, task }` and posts `{ id, value }` or `{ id, error }`. Progress goes to the page by
 * the port in `convert`. The main process gets only the share, for the task bar.
 */
export function serve(port) {
  const job = new Job();
  const calls = {
    open: (task) => job.open(task),
    cancel: async () => job.cancel(),
    convert: async (task, [page]) => {
      const tell = (progress) => {
        page.postMessage(progress);
        port.postMessage({ share: progress.share });
      };
      try {
        return await job.convert(task, tell);
      } finally {
        page.close();
      }
    },
  };
  port.on('message', ({ data: { id, call, task }, ports }) => {
    calls[call](task, ports).then(
      (value) => port.postMessage({ id, value }),
      (thrown) => port.postMessage({ id, error: failure(thrown) }),
    );
  });
}
