// A network: `node proxy.mjs PORT` forwards connections to PORT of this machine, and prints the port on which it listens. When
// its standard input ends, it prints the number of bytes sent to PORT and exits. A round trip takes 20 ms; each connection, and
// all of them together, carry 100 MB/s in each direction.

import { connect, createServer } from 'node:net';

/** Each way, in milliseconds. */
const DELAY = 10;
/** In bytes for each millisecond. */
const RATE = 100_000;
/** Maximum number of bytes in flight on one connection: more than a round trip carries. */
const ON_THE_WAY = 8 << 20;

/** The time until which the wire of all connections is busy, by the clock of this process. */
class Wire {
  busyUntil = 0;
  carried = 0;

  /** The time when the last of `length` bytes, queued at `since`, have been sent. */
  carry(length, since) {
    this.carried += length;
    this.busyUntil = Math.max(this.busyUntil, since) + length / RATE;
    return this.busyUntil;
  }
}

const wires = { there: new Wire(), back: new Wire() };

/** Forwards the bytes of `from`, delayed and at the rate of both wires. */
function pass(from, to, all) {
  const own = new Wire();
  const waiting = [];
  let length = 0;
  let isDue = false;
  const flushIn = (milliseconds) => {
    isDue = true;
    setTimeout(flush, milliseconds);
  };
  const flush = () => {
    isDue = false;
    const now = performance.now();
    while (waiting.length > 0 && waiting[0].at <= now) {
      const { bytes } = waiting.shift();
      if (bytes) to.write(bytes);
      else to.end();
      length -= bytes?.length ?? 0;
    }
    if (length < ON_THE_WAY) from.resume();
    if (waiting.length > 0) flushIn(waiting[0].at - now);
  };
  const add = (bytes) => {
    const now = performance.now();
    const size = bytes?.length ?? 0;
    waiting.push({ at: Math.max(own.carry(size, now), all.carry(size, now)) + DELAY, bytes });
    length += size;
    if (length >= ON_THE_WAY) from.pause();
    if (!isDue) flushIn(DELAY);
  };
  from.on('data', add);
  from.on('end', () => add());
}

const target = Number(process.argv[2]);
const server = createServer({ allowHalfOpen: true }, (near) => {
  const far = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true });
  for (const [one, other] of [
    [near, far],
    [far, near],
  ]) {
    one.setNoDelay(true);
    one.on('error', () => other.destroy());
    one.on('close', () => other.destroy());
  }
  pass(near, far, wires.there);
  pass(far, near, wires.back);
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin
  .on('end', () => {
    console.log(wires.there.carried);
    process.exit();
  })
  .resume();
