// A `CacheStorage` in memory, for tests.

interface Stored {
  text: string;
  headers: [string, string][];
}

class FakeCache {
  readonly #stored = new Map<string, Stored>();

  async put(url: string, response: Response): Promise<void> {
    this.#stored.set(url, { text: await response.text(), headers: [...response.headers] });
  }

  async match(url: string): Promise<Response | undefined> {
    const found = this.#stored.get(url);
    return found && new Response(found.text, { headers: found.headers });
  }
}

export class FakeCaches {
  readonly #caches = new Map<string, FakeCache>();

  async open(name: string): Promise<FakeCache> {
    const cache = this.#caches.get(name) ?? new FakeCache();
    this.#caches.set(name, cache);
    return cache;
  }

  async match(url: string, { cacheName }: { cacheName?: string }): Promise<Response | undefined> {
    for (const [name, cache] of this.#caches) {
      // Without `cacheName`, all caches are searched.
      const found = cacheName === undefined || cacheName === name ? await cache.match(url) : undefined;
      if (found) return found;
    }
    return undefined;
  }

  async keys(): Promise<string[]> {
    return [...this.#caches.keys()];
  }

  async delete(name: string): Promise<boolean> {
    return this.#caches.delete(name);
  }
}
