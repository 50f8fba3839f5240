// Custom sources and streams as inputs. The code that reads them is loaded when it is needed: most inputs are files.

import { orCancelled } from '../errors/errors.js';
import { loadPart } from '../errors/load-part.js';
import { isObject } from '../errors/values.js';
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
  { signal }: { signal?: AbortSignal },
): Promise<OpenedSource> {
  const { openCustomSource, openStream } = await orCancelled(signal, loadCustomSources());
  return isCustomSource(input) ? openCustomSource(input) : openStream(input);
}
