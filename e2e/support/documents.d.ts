// Declarations that the code in the documents assumes.

declare global {
  const file: File;
  const base: File;
  const size: number;
  const source: import('../../dist/testing.js').Source;
  const expectedBytes: Uint8Array;
  const token: string;
  const addressWithSignature: string;
  const otherAddressWithSignature: string;
  function freshToken(): Promise<string>;
  function presigned(request: { action: string; uploadId?: string; partNumber?: number }): Promise<string>;
  const accessKeyId: string;
  const secretAccessKey: string;
  const cancel: AbortController;
  function show(progress: import('../../dist/node.js').Progress): void;
  function ask(question: string): Promise<string>;
  function bytesOfMyServer(offset: number, length: number, signal: AbortSignal): Promise<Uint8Array>;
  function makeTarget(): import('../../dist/testing.js').Target;
  function readBack(target: import('../../dist/testing.js').Target): Promise<Uint8Array | undefined>;
  const assert: { deepEqual(actual: unknown, expected: unknown): void };
  const trustedTypes: {
    createPolicy(
      name: string,
      rules: { createScriptURL(url: string): string },
    ): { createScriptURL(url: string): string };
  };
}

export {};
