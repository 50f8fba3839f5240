// The arguments of callers, in browsers and in Node.

import type * as Browser from './types.browser.js';
import type { CommonOpenOptions } from './types.js';
import type * as Node from './types.node.js';

export type Input = Browser.Input | Node.Input;
/** A path as the command found it: an `OutputPath` of `worker/targets/node`. */
interface FoundPath {
  readonly path: string;
  readonly given: Uint8Array;
  readonly name: string;
}
export type Output = Browser.Output | Node.Output | FoundPath;
export type Companion = Input | { name: string; source: Input };
export type ConvertOptions = Node.ConvertOptions;
/** The options of a conversion, with the options of its format as texts, which the core takes. */
export interface SettledOptions extends Omit<ConvertOptions, 'formatOptions'> {
  formatOptions?: Record<string, string> | undefined;
}
export interface OpenOptions extends CommonOpenOptions {
  companions?: readonly Companion[] | undefined;
  spool?: Node.OpenOptions['spool'];
}
