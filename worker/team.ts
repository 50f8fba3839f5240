// Workers and who uses them: a coordinator with its pool. It is shared by everything that asks for
// the same one, stays warm for a short time after its last use, and ends at once after a failure.

import type { CoordinatorMethods } from './inside/coordinator.js';
import type { Platform } from './platform/platform.js';
import { Client } from './rpc.js';
import type { Engine } from './types.js';

/** How long workers stay after their last successful use, in milliseconds: long enough for the next file. */
export const WARM = 10_000;

/** What tells teams apart. */
export interface Kind {
  engine: Engine;
  workers: number;
  /** Whether it can do zstd and encryption. */
  extras: boolean;
}

export type Coordinator = Client<CoordinatorMethods>;

export class Team {
  #users = 0;
  #forgotten = false;
  #ended: Promise<void> | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;

  private constructor(
    readonly coordinator: Coordinator,
    readonly ready: Promise<void>,
    private readonly forgetIt: () => void,
  ) {
    coordinator.on('died', (reason) => this.end(String(reason)));
  }

  /** Its start may still fail: see `ready`. */
  static start(platform: Platform, { engine, workers, extras }: Kind, forget: () => void): Team {
    const coordinator: Coordinator = new Client(platform.spawnCoordinator());
    const variant = platform.variant(engine, extras);
    // Scripts are loaded while the module is compiled.
    const spawned = coordinator.call('spawn', { variant, workers });
    const ready = platform.module(variant).then(async (module) => {
      await spawned;
      await coordinator.call('start', module);
    });
    spawned.catch(() => {});
    const team = new Team(coordinator, ready, forget);
    ready.catch((error) => team.end(error.message));
    return team;
  }

  use(): void {
    this.#users += 1;
    clearTimeout(this.#idle);
    this.coordinator.keepAlive(true);
  }

  /** Ends one use; after a failure the workers end too, unless somebody else uses them. */
  release(healthy: boolean): void {
    this.#users -= 1;
    if (this.#users > 0) return;
    // One that was let go of serves nobody any more.
    if (!healthy || this.#forgotten) {
      this.end();
      return;
    }
    this.coordinator.keepAlive(false);
    this.#idle = setTimeout(() => this.end(), WARM);
    // Node: an idle team does not keep the process.
    if (typeof this.#idle === 'object') this.#idle.unref();
  }

  /** Ends the workers, whoever uses them: open calls fail with `internal`. */
  end(reason?: string): void {
    clearTimeout(this.#idle);
    this.forget();
    this.#ended ??= this.coordinator.terminate(reason);
  }

  /** New work gets another team. */
  private forget(): void {
    this.#forgotten = true;
    this.forgetIt();
  }

  /** Ends the workers, or lets those who still use them be the last ones. */
  endUnlessShared(): void {
    if (this.#users > 1) this.forget();
    else this.end();
  }

  /** Resolves when nothing runs any more, if the workers were ended. */
  get ended(): Promise<void> | undefined {
    return this.#ended;
  }
}

const teams = new Map<string, Team>();

/** The team of this kind; the caller releases it. */
export function acquire(platform: Platform, kind: Kind): Team {
  const key = `${kind.workers}:${platform.variant(kind.engine, kind.extras)}`;
  let team = teams.get(key);
  if (!team?.coordinator.alive) {
    team = Team.start(platform, kind, () => {
      if (teams.get(key) === team) teams.delete(key);
    });
    teams.set(key, team);
  }
  team.use();
  return team;
}

/** The team that reads metadata; the caller releases it. */
export const acquireReader = (platform: Platform, extras: boolean): Team =>
  acquire(platform, { engine: 'workers', workers: 0, extras });
