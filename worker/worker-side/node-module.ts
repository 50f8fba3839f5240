// Modules of WebAssembly in Node, in place of `crate/module/src/module.js`.

import { Instance as PlainInstance } from 'decant-module';
import type { CryptExports } from './crypt-platform.js';
import { usePlatform } from './node-crypt.js';

export class Instance extends PlainInstance {
  static override create(name: string, bytes: Uint8Array): PlainInstance | undefined {
    const instance = PlainInstance.create(name, bytes);
    if (instance && name === 'crypt') usePlatform(instance.exports as unknown as CryptExports);
    return instance;
  }
}
