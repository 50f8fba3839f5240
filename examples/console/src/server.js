// Requests to the console's server; server/routes.js answers them.

const ATTEMPTS = 4;
/** The wait before the second attempt, in milliseconds; it doubles for each further one. */
const PAUSE = 500;

export class ServerError extends Error {
  /** Whether a retry may succeed. */
  constructor(message, isPassing) {
    super(message);
    this.isPassing = isPassing;
  }
}

async function once(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (cause) {
    options.signal?.throwIfAborted();
    throw Object.assign(new ServerError('The console cannot be reached; check your network', true), { cause });
  }
  if (response.ok) return response.status === 204 ? undefined : response.json();
  const { error } = await response.json().catch(() => ({}));
  throw new ServerError(error ?? `The console answered ${response.status}`, response.status >= 500);
}

/** Makes a request, with retries. */
async function ask(path, options = {}) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await once(path, options);
    } catch (thrown) {
      if (!(thrown instanceof ServerError) || !thrown.isPassing || attempt === ATTEMPTS) throw thrown;
    }
    // With jitter, so that many pages do not retry together.
    await new Promise((done) => setTimeout(done, PAUSE * 2 ** (attempt - 1) * (0.5 + Math.random())));
  }
}

const json = (value) => ({ body: JSON.stringify(value), headers: { 'Content-Type': 'application/json' } });

/** Resolves to the disks: their names and sizes in bytes. */
export const disks = () => ask('/api/disks');

/** Resolves to whether disks go to a bucket. */
export const hasBucket = async () => (await ask('/api/place')).bucket;

/** Begins an import of a disk of `size` bytes. Resolves to its `id` and, without a bucket, the part size in bytes. */
export const begin = (name, size) => ask('/api/imports', { method: 'POST', ...json({ name, size }) });

/** Sends part `number`. The server checks its digest. */
export async function sendPart(id, number, bytes, signal) {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  const headers = { 'Content-Digest': `sha-256=:${btoa(String.fromCharCode(...digest))}:` };
  // A browser copies an array slowly, on the page's thread.
  await ask(`/api/imports/${id}/parts/${number}`, { method: 'PUT', body: new Blob([bytes]), headers, signal });
}

/** Resolves to the signed URL of a request. `decant` retries if this fails with a TypeError, as `fetch` does. */
export async function sign(id, request) {
  const response = await fetch(`/api/imports/${id}/sign`, { method: 'POST', ...json(request) });
  const { url, error } = await response.json().catch(() => ({}));
  if (response.ok) return url;
  const message = error ?? `The console answered ${response.status}`;
  throw response.status >= 500 ? new TypeError(message) : new ServerError(message, false);
}

/**
 * Completes a disk. Without a bucket, it has `parts` parts; missing parts are zeros.
 */
export const complete = (id, parts) => ask(`/api/imports/${id}/complete`, { method: 'POST', ...json({ parts }) });

export const remove = (id) => ask(`/api/imports/${id}`, { method: 'DELETE' });
