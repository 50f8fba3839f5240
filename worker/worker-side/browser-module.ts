// Modules of WebAssembly in browsers, in place of `crate/module/src/module.js`.

import { Instance as PlainInstance } from 'decant-module';
import { settled, usePlatform } from './browser-crypt.js';
import type { CryptExports } from './crypt-platform.js';

export class Instance extends PlainInstance {
  static settled = settled;

  static override create(name: string, bytes: Uint8Array): PlainInstance | undefined {
    const instance = PlainInstance.create(name, bytes);
    if (instance && name === 'crypt') usePlatform(instance.exports as unknown as CryptExports);
    return instance;
  }
}
