// Files on servers. Their code is loaded when one is first opened: most images are local.

import { checkSignal } from '../errors/argument-checks.js';
import { orCancelled } from '../errors/errors.js';
import { loadPart } from '../errors/load-part.js';
import { orUsageError } from '../errors/option-names.js';
import type { HttpPlatform } from '../http/http-client.js';
import type { HttpOptions } from '../http/http-types.js';
import type { Source } from '../public/types.js';
import { loadCustomSources } from './custom-input.js';
import type { OpenedSource } from './opened-source.js';

/** Opens a file for `httpSource`: as `openHttp`. Fails with `internal` if the code cannot be loaded. */
export async function openServerFile(
  platform: HttpPlatform,
  url: string | URL,
  options: HttpOptions = {},
): Promise<Source> {
  const signal = orUsageError('the options of httpSource', () => options.signal);
  checkSignal(signal);
  const { openHttp } = await orCancelled(signal, load());
  return openHttp(platform, url, options);
}

/** Opens a URL that was passed to `open`: as `openAddress`. Fails with `internal` if the code cannot be loaded. */
export async function openServerAddress(
  platform: HttpPlatform,
  url: string | URL,
  options: HttpOptions,
): Promise<OpenedSource> {
  const { openAddress } = await orCancelled(options.signal, load());
  return openAddress(platform, url, options);
}

/** Files on servers become custom sources. */
async function load() {
  const [part] = await Promise.all([loadPart('files on servers', () => import('./open-http.js')), loadCustomSources()]);
  return part;
}
