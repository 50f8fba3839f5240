// A cloud that takes uploads over HTTP, and may fail in many ways.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as later } from 'node:timers/promises';
import { Cloud, type CloudOptions } from './cloud.js';

/** Pages of any origin may send anything. */
export const CORS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': '*',
  'Access-Control-Allow-Headers': '*',
};
/** They also see the headers that an upload needs. */
export const EXPOSED = {
  ...CORS,
  'Access-Control-Expose-Headers': 'ETag, Location, Range, Upload-Length, Upload-Offset, x-ms-meta-decant',
};

/** The query of a request to S3, as the signer makes it. */
export function queryFor(request: {
  action: string;
  uploadId?: string;
  partNumber?: number;
  partNumberMarker?: number;
}): string {
  const { action, uploadId = '', partNumber = 0, partNumberMarker = 0 } = request;
  if (action === 'create') return 'uploads=';
  if (action === 'head') return '';
  const more: Record<string, string> = {
    ...(action === 'part' && { partNumber: String(partNumber) }),
    ...(action === 'list' && { 'part-number-marker': String(partNumberMarker) }),
  };
  return String(new URLSearchParams({ ...more, uploadId }));
}

export interface UploadServer extends Cloud {
  origin: string;
  /** Resolves once all that clients have sent by now has arrived, and each request is answered or given up. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Takes uploads below `/s3`, `/gcs`, `/tus`, `/put` and `/azure`. */
export async function takeUploads(options: CloudOptions = {}): Promise<UploadServer> {
  const cloud = new Cloud(options);
  const underWay = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    underWay.add(response);
    response.on('close', () => underWay.delete(response));
    take(cloud, request, response).catch((thrown) => response.destroy(thrown));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const settled = async () => {
    // Connections are accepted in the order in which they were made.
    await fetch(origin, { method: 'OPTIONS' });
    while (underWay.size > 0) await later(5);
  };
  return Object.assign(cloud, { origin, settled, close });
}

async function take(cloud: Cloud, request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.on('error', () => {});
  request.on('error', () => {});
  const { method = '', url = '', headers } = request;
  if (method === 'OPTIONS') {
    response.writeHead(204, cloud.options.headers).end();
    return;
  }
  const carryOut = cloud.arrive({ method, url, headers: headers as Record<string, string> });
  const outcome = await carryOut(await bodyOf(request).catch(() => undefined));
  if (outcome === 'broken') response.destroy();
  else if (outcome !== 'silent') {
    response.writeHead(outcome.status, outcome.headers).end(method === 'HEAD' ? undefined : outcome.body);
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
