// The arguments of callers, in browsers and in Node.

import type { OutputPath } from '../targets/node/output-path.js';
import type * as Browser from './types.browser.js';
import type { CommonOpenOptions } from './types.js';
import type * as Node from './types.node.js';

export type Input = Browser.Input | Node.Input;
/** The command passes a path as it found it. */
export type Output = Browser.Output | Node.Output | OutputPath;
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
