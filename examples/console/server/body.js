// Reads request bodies of bounded length.

import { createHash } from 'node:crypto';
import { Refusal } from './refusal.js';

const JSON_MOST = 4096;

async function read(request, most) {
  const chunks = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > most) throw new Refusal(413, 'That is more than was expected');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export async function readJson(request) {
  const text = await read(request, JSON_MOST);
  try {
    const value = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Invalid JSON gets the same response as a value that is not an object.
  }
  throw new Refusal(400, 'That is no JSON object');
}

/** Reads exactly `length` bytes, and checks them against `Content-Digest` (RFC 9530). */
export async function readPart(request, length) {
  const bytes = await read(request, length);
  const digest = `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`;
  if (bytes.length !== length || request.headers['content-digest'] !== digest) {
    throw new Refusal(422, 'The part did not arrive whole');
  }
  return bytes;
}
