// An image and its companions, opened.

import { DecantError } from './errors.js';
import type { CompanionSpec } from './inside/coordinator.js';
import { isObject, type OpenedSource, type Platform } from './platform/platform.js';
import type { Companion, Source } from './types.js';

export class Sources {
  private constructor(
    /** The image first, then its companions. */
    readonly all: OpenedSource[],
    readonly companions: CompanionSpec[],
  ) {}

  static async open(platform: Platform, source: Source, companions: Companion[]): Promise<Sources> {
    const sources = new Sources([], []);
    try {
      sources.all.push(await platform.openSource(source));
      for (const companion of companions) await sources.#add(platform, companion);
      return sources;
    } catch (thrown) {
      await sources.close();
      throw thrown;
    }
  }

  get image(): OpenedSource {
    return this.all[0]!;
  }

  /** Fails with `source` where a file is no longer what it was when it was opened. */
  async verify(): Promise<void> {
    for (const source of this.all) await source.verify();
  }

  async close(): Promise<void> {
    for (const source of this.all) await source.close();
  }

  async #add(platform: Platform, companion: Companion): Promise<void> {
    const named = isNamed(companion) ? companion : { name: undefined, source: companion };
    const opened = await platform.openSource(named.source);
    const standsFor = named.name;
    const name = opened.name ?? standsFor;
    if (name === undefined) {
      await opened.close();
      throw new DecantError('usage', 'A companion without a name of its own needs one: { name, source }');
    }
    const known = this.all.findIndex(({ identity }) => identity === opened.identity);
    // The same file twice is one candidate, not two.
    if (known > 0 && standsFor === undefined) {
      await opened.close();
      return;
    }
    this.all.push(opened);
    this.companions.push({ source: opened.spec, name, standsFor, isImage: known === 0 });
  }
}

const isNamed = (companion: Companion): companion is { name: string; source: Source } =>
  isObject(companion) && !(companion instanceof Blob) && 'source' in companion;
