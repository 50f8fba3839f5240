// Tunnels through a SOCKS5 proxy: RFC 1928, and RFC 1929 for a user and a password.

import { connect, isIP, type Socket } from 'node:net';
import { CodedFailure } from '../errors/errors.js';
import { decoded } from './address.js';
import { NoAnswer, networkReason, RequestRefused } from './http-failures.js';
import { proxySilence, shownProxy, TUNNEL_MS } from './proxy-tunnel.js';

const DEFAULT_PORT = 1080;
const VERSION = 5;
const PASSWORD_VERSION = 1;
/** Methods of authentication. */
const [NONE, PASSWORD] = [0, 2];
const CONNECT = 1;
/** Types of addresses, with the lengths of those that have a fixed one. */
const [IPV4, NAME, IPV6] = [1, 3, 4];
const LENGTHS: Record<number, number> = { [IPV4]: 4, [IPV6]: 16 };
const NOT_ALLOWED = 2;
/** The meanings of other replies. */
const REPLIES: Record<number, string> = {
  3: 'the network is unreachable',
  4: 'the host is unreachable',
  5: 'the connection was refused',
  6: 'the time to live has expired',
  7: 'it makes no tunnels',
  8: 'it does not support this type of address',
};

/** Connects to `port` of `host`, a name that the proxy resolves, or an IP address without brackets. Errors name the proxy. */
export function openSocksTunnel(proxy: URL, host: string, port: number): Promise<Socket> {
  const socket = connect(Number(proxy.port) || DEFAULT_PORT, proxy.hostname.replace(/^\[|\]$/g, ''));
  const steps = handshake(proxy, host, port, (bytes) => socket.write(Buffer.from(bytes)));
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => socket.destroy(new Error(`nothing for ${TUNNEL_MS / 1000} seconds`)), TUNNEL_MS);
    const failed = (cause: Error) => {
      clearTimeout(timer);
      reject(cause instanceof CodedFailure ? cause : proxySilence(proxy, networkReason(cause), cause));
    };
    const ended = () => socket.destroy(new Error('it has closed the connection'));
    let step = steps.next();
    const proceed = () => {
      try {
        while (!step.done) {
          const received: Buffer | null = socket.read(step.value);
          // `read` returns null until enough bytes have arrived; after the end, it returns fewer.
          if (received?.length !== step.value) return;
          step = steps.next(received);
        }
      } catch (thrown) {
        socket.destroy(thrown as Error);
        return;
      }
      clearTimeout(timer);
      socket.off('error', failed).off('end', ended).off('readable', proceed);
      resolve(socket);
    };
    socket.on('error', failed).on('end', ended).on('readable', proceed);
  });
}

/** The exchange with the proxy until the tunnel is open. Yields the number of bytes that it takes next. */
function* handshake(
  proxy: URL,
  host: string,
  port: number,
  send: (bytes: number[]) => void,
): Generator<number, void, Buffer> {
  const hasUser = proxy.username !== '' || proxy.password !== '';
  const methods = hasUser ? [NONE, PASSWORD] : [NONE];
  send([VERSION, methods.length, ...methods]);
  const [version, method] = yield 2;
  if (version !== VERSION) throw new Error('its answer is not one of SOCKS5');
  if (method === PASSWORD && hasUser) {
    send([PASSWORD_VERSION, ...counted(decoded(proxy.username)), ...counted(decoded(proxy.password))]);
    const [, status] = yield 2;
    if (status !== 0) throw refusal(proxy, 'refuses the user and the password in its URL', 407);
  } else if (method !== NONE) {
    throw refusal(proxy, 'accepts no connection without a user and a password; give them in its URL', 407);
  }
  send([VERSION, CONNECT, 0, ...addressBytes(host), port >> 8, port & 0xff]);
  const [, reply, , type] = yield 4;
  if (reply === NOT_ALLOWED) throw refusal(proxy, 'does not allow this server', 403);
  if (reply !== 0) {
    const reason = REPLIES[reply!] ?? 'it does not say why';
    throw new NoAnswer(`${shownProxy(proxy)} could not connect (${reason})`, undefined, { host: proxy.host });
  }
  // The address and the port from which the proxy connects are not needed.
  const length = LENGTHS[type!] ?? (yield 1)[0]!;
  yield length + 2;
}

const refusal = (proxy: URL, does: string, status: number): RequestRefused =>
  Object.assign(new RequestRefused(`${shownProxy(proxy)} ${does}`, status), { host: proxy.host });

/** The type and the bytes of an address. */
function addressBytes(host: string): number[] {
  if (isIP(host) === 4) return [IPV4, ...host.split('.').map(Number)];
  if (isIP(host) === 6) return [IPV6, ...ipv6Bytes(host)];
  return [NAME, ...counted(host)];
}

function ipv6Bytes(address: string): number[] {
  // `URL` writes all of it in hexadecimal digits.
  const written = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [start = [], end = []] = written.split('::').map((groups) => groups.split(':').filter(Boolean));
  const zeros = Array<string>(8 - start.length - end.length).fill('0');
  return [...start, ...zeros, ...end].flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

/** The bytes of a text after their number. Fails if it does not fit into a byte. */
function counted(text: string): number[] {
  const bytes = [...Buffer.from(text)];
  if (bytes.length > 255) throw new Error('a name or a password has more than 255 bytes');
  return [bytes.length, ...bytes];
}
