// The arguments of callers, in browsers and in Node.

import type * as Browser from './types.browser.js';
import type { CommonOpenOptions } from './types.js';
import type * as Node from './types.node.js';

export type Input = Browser.Input | Node.Input;
export type Output = Browser.Output | Node.Output;
export type Companion = Input | { name: string; source: Input };
export type ConvertOptions = Node.ConvertOptions;
export interface OpenOptions extends CommonOpenOptions {
  companions?: readonly Companion[];
  spool?: Node.OpenOptions['spool'];
}
