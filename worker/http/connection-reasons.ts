// Node: failures of connections whose own texts are OpenSSL's or a parser's.

import { isObject } from '../calls/values.js';

const NO_TLS = 'the server does not use TLS on this port; it may expect http';
const NO_HTTP = 'the answer is not valid HTTP; the server may expect https';
const NO_RESPONSE = 'the server closed the connection without a response; it may expect https';
const UNTRUSTED =
  'the certificate of the server is not trusted here; NODE_EXTRA_CA_CERTS can name a file with its authority';

/** Maximum number of bytes that a port for TLS takes before it closes the connection. */
const LARGEST_REQUEST = 64 << 10;

const REASONS: Record<string, string> = {
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
  // Of `node:https`, which hides the code of OpenSSL.
  EPROTO: 'TLS failed; the server may expect http on this port',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  CERT_UNTRUSTED: UNTRUSTED,
  CERT_HAS_EXPIRED: 'the certificate of the server has expired',
  CERT_NOT_YET_VALID: 'the certificate of the server is not valid yet; check the clock of this computer',
  CERT_REVOKED: 'the certificate of the server was revoked',
  ERR_TLS_CERT_ALTNAME_INVALID: 'the certificate of the server is for another name',
};

/** Codes of a connection that the server has closed: undici's, and those of `node:http`. */
const CLOSED = ['UND_ERR_SOCKET', 'ECONNRESET'];

/** The parts of undici's errors that are used; requests by `node:http` have a `socket` added. */
interface ConnectionError {
  name?: unknown;
  code?: unknown;
  socket?: { bytesRead?: unknown; bytesWritten?: unknown };
}

/**
 * Explains by `cause` why a connection to `origin` failed, with its code if it has one; `undefined` if the failure explains
 * itself. `origin` is undefined for a proxy.
 */
export function connectionReason(cause: unknown, origin?: string): string | undefined {
  if (!isObject(cause)) return undefined;
  const { name, code, socket } = cause as ConnectionError;
  const isPlain = origin?.startsWith('http:');
  const isOfParser = name === 'HTTPParserError' || /^HPE_(?!HEADER_OVERFLOW)/.test(String(code));
  if (isPlain && isOfParser) return NO_HTTP;
  const isUnanswered = socket?.bytesRead === 0 && Number(socket.bytesWritten) < LARGEST_REQUEST;
  if (isPlain && CLOSED.includes(String(code)) && isUnanswered) return NO_RESPONSE;
  if (typeof code !== 'string') return undefined;
  if (Object.hasOwn(REASONS, code)) return `${code}: ${REASONS[code]}`;
  return code.startsWith('ERR_SSL_') ? `${code}: TLS failed` : undefined;
}
