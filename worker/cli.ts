#!/usr/bin/env node
// The command `decant`. Exit codes: 0 done, 1 failed, 2 usage, 3 salvaged with losses, 130 interrupted.

import { left } from './cli/leaving.js';
import { main } from './cli/main.js';
import { printed } from './cli/output.js';

const code = await main(process.argv.slice(2));
await left();
await printed();
// A connection to a server that never answers would keep the process.
process.exit(code);
