// Scripts that complete commands, options and values in a shell, made from the tables of commands and options.

import type { Shell } from '../commands.js';
import { bash } from './bash.js';
import { fish } from './fish.js';
import { zsh } from './zsh.js';

const SCRIPTS: Record<Shell, () => string[]> = { bash, zsh, fish };

/** The lines of the script for `shell`. */
export const completionsOf = (shell: Shell): string[] => SCRIPTS[shell]();
