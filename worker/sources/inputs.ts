// Inputs whose code is loaded when it is needed, since most are local files: custom sources, streams, files on servers.

import { checkSignal, orUsageError } from '../errors/argument-checks.js';
import { cancelled, orCancelled, toDecantError } from '../errors/errors.js';
import { loadPart } from '../errors/load-part.js';
import { isObject } from '../errors/values.js';
import type { HttpPlatform } from '../http/http-client.js';
import type { HttpOptions } from '../http/http-types.js';
import type { Source } from '../public/types.js';
import type { OpenedSource } from './opened-source.js';
import { orSourceError } from './source-errors.js';

/** Whether `value` has the shape of a custom source. */
export const isCustomSource = (value: unknown): value is Source =>
  isObject(value) && orSourceError(() => 'read' in value && typeof value.read === 'function');

/** Whether `value` has the shape of a ReadableStream. */
export const isReadable = (value: unknown): value is ReadableStream<Uint8Array> =>
  isObject(value) && 'getReader' in value && typeof value.getReader === 'function';

/** Loads the code that reads custom sources and streams. Fails with `internal` if it cannot be loaded. */
export const loadCustomSources = () => loadPart('streams and custom sources', () => import('./custom-sources.js'));

/** Opens a custom source, or a stream, which is locked. Throws `usage` for an invalid property, and if the stream is locked. */
export async function openCustom(
  input: Source | ReadableStream<Uint8Array>,
  { signal }: { signal?: AbortSignal | undefined },
): Promise<OpenedSource> {
  const { openCustomSource, openStream } = await orCancelled(signal, loadCustomSources());
  return isCustomSource(input) ? openCustomSource(input) : openStream(input);
}

/** Opens a file for `httpSource`: as `openHttp`. Fails with `internal` if the code cannot be loaded. */
export async function openServerFile(
  platform: HttpPlatform,
  url: string | URL,
  options: HttpOptions = {},
): Promise<Source> {
  const signal = orUsageError('the options of httpSource', () => options.signal);
  checkSignal(signal);
  try {
    const { openHttp } = await orCancelled(signal, loadServerFiles());
    return await openHttp(platform, url, options);
  } catch (thrown) {
    throw toDecantError(thrown).kind === 'cancelled' ? cancelled('Opening the file', signal) : thrown;
  }
}

/** Opens a URL that was passed to `open`: as `openAddress`. Fails with `internal` if the code cannot be loaded. */
export async function openServerAddress(
  platform: HttpPlatform,
  url: string | URL,
  options: HttpOptions,
): Promise<OpenedSource> {
  const { openAddress } = await orCancelled(options.signal, loadServerFiles());
  return openAddress(platform, url, options);
}

/** Loads the code for files on servers, and at the same time that for custom sources, which it uses. */
async function loadServerFiles() {
  const [part] = await Promise.all([loadPart('files on servers', () => import('./open-http.js')), loadCustomSources()]);
  return part;
}
