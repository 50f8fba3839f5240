// Shared by conversions and comparisons: their images are open in one coordinator, and the workers of a pool read the disks.

import type { ImageSession } from '../client-side/image-session.js';
import type { Pool } from '../client-side/pool.js';
import { toDecantError } from '../errors/errors.js';
import type { CrateProgress, DiskRequest, NeededWorker } from '../messages/coordinator.js';
import type { RpcClient } from '../messages/rpc.js';
import type { CoordinatorMethods } from '../worker-side/coordinator-methods.js';
import { type ConversionContext, disksOf, failureOf } from './conversion-disks.js';

/** An operation of a coordinator with the workers of a pool. */
export interface DiskOperation {
  client: RpcClient<CoordinatorMethods>;
  operation: number;
  /** The disks, with the ports to their workers. */
  disks: DiskRequest[];
  /** All ports to workers, to be transferred. */
  ports: MessagePort[];
  /** The number of workers. */
  workers: number;
  /** Resolves when no worker has files of the operation open. */
  disconnect(): Promise<unknown>;
}

interface Hooks {
  /** Opens the images in one coordinator, and adds each session to `opened`. */
  open: (opened: ImageSession[]) => Promise<void>;
  update?: (progress: CrateProgress) => void;
  /** Whether it is too late to end the coordinator. */
  isCompleting?: () => boolean;
}

/** Runs `work` with the open images, as one operation. No worker is used any more when it returns. */
export async function withDiskWorkers<T>(
  conversion: ConversionContext,
  { open, update = () => {}, isCompleting = () => false }: Hooks,
  signal: AbortSignal,
  work: (operation: DiskOperation) => Promise<T>,
): Promise<T> {
  const sessions: ImageSession[] = [];
  let pool: Pool | undefined;
  let isHealthy = false;
  let wasOverdue = false;
  const overdue = () => {
    if (isCompleting()) return false;
    wasOverdue = true;
    pool?.overdue();
    return true;
  };
  try {
    await open(sessions);
    const acquired = conversion.sessions.acquirePool(sessions.length > 1);
    pool = acquired;
    const run = (operation: number) => withConnections(sessions, acquired, operation, update, work);
    const isElsewhere = () => acquired.reasonOfEnd !== undefined;
    const result = await sessions[0]!.run(signal, run, { overdue, isElsewhere });
    isHealthy = true;
    return result;
  } catch (thrown) {
    const explained = sessions.slice(1).reduce((error, session) => session.explain(error), toDecantError(thrown));
    const error = failureOf(conversion, explained);
    // The pool may be broken: nothing uses it again.
    if (error.kind === 'internal') pool?.giveUp();
    // A file that changed while it was read looks damaged: report the change instead.
    if (error.kind === 'corrupt' || error.kind === 'source')
      for (const { setup } of disksOf(conversion)) await setup.sources.verify();
    throw error;
  } finally {
    pool?.release(isHealthy, wasOverdue);
    // Workers that are being terminated may still write to the target.
    await pool?.ended;
    const [session, ...beside] = sessions;
    await Promise.all(beside.map((session) => session.end()));
    await session?.release();
  }
}

/** Calls `work` with a connection to the workers of `pool` for each session, and starts each worker when the coordinator needs it. */
async function withConnections<T>(
  sessions: ImageSession[],
  pool: Pool,
  operation: number,
  update: (progress: CrateProgress) => void,
  work: (operation: DiskOperation) => Promise<T>,
): Promise<T> {
  const { client } = sessions[0]!;
  const connections = sessions.map(() => pool.connect());
  const disks = sessions.map(({ image }, at) => ({
    image,
    diskSize: undefined,
    ranges: undefined,
    pool: connections[at]!.ports,
  }));
  const ports = disks.flatMap(({ pool }) => pool);
  const disconnect = () => Promise.all(connections.map((connection) => connection.close()));
  let notStarted: unknown;
  const poolEnded = (sentence: string) => {
    // A dead coordinator runs nothing.
    client.call('poolEnded', operation, sentence).catch(() => {});
  };
  pool.onEnd(poolEnded);
  client.on(`worker:${operation}`, (needed) => {
    const { disk, at } = needed as NeededWorker;
    connections[disk]!.begin(at).catch((thrown) => {
      notStarted = thrown;
    });
  });
  client.on(`progress:${operation}`, (detail) => update(detail as CrateProgress));
  try {
    return await work({ client, operation, disks, ports, workers: pool.size, disconnect });
  } catch (thrown) {
    throw notStarted ?? thrown;
  } finally {
    await disconnect();
    pool.offEnd(poolEnded);
    client.off(`worker:${operation}`);
    client.off(`progress:${operation}`);
  }
}
