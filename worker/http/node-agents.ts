// Node: agents of `node:http` whose connections read into one large buffer each. A connection of Node's own allocates 64 KiB for each
// read, which costs a third of the processor time of receiving a file.

import { Buffer } from 'node:buffer';
import type { Agent } from 'node:http';
import type { OnReadOpts } from 'node:net';
import type { Duplex } from 'node:stream';
import { overwritten } from './node-response.js';

/** How long an unused connection is kept, in milliseconds, as by Node's own `fetch`. */
const KEEP_ALIVE_MS = 4000;
/** The most bytes of one read. */
const READ = 512 << 10;

type Connect = (options: object, done?: unknown) => Duplex;

const agents = new Map<string, Agent>();

/** Returns the agent for the protocol of a URL. `Made` is the class of agents for it. */
export function agentFor(protocol: string, Made: typeof Agent): Agent {
  const known = agents.get(protocol);
  if (known) return known;
  const agent = new Made({ keepAlive: true, timeout: KEEP_ALIVE_MS }) as Agent & { createConnection: Connect };
  const connect = agent.createConnection.bind(agent);
  agent.createConnection = (options, done) => {
    const socket: Duplex = connect({ ...options, onread: readsInto(bufferOf(READ), () => socket) }, done);
    return socket;
  };
  agents.set(protocol, agent);
  return agent;
}

function bufferOf(length: number): Buffer {
  const buffer = Buffer.allocUnsafeSlow(length);
  overwritten.add(buffer.buffer);
  return buffer;
}

/** Reads of `socket` into `buffer`: the parser of `node:http` gets them by the event of the other reads. */
const readsInto = (buffer: Buffer, socket: () => Duplex): OnReadOpts => ({
  buffer,
  callback: (length) => {
    socket().emit('data', buffer.subarray(0, length));
    return true;
  },
});
