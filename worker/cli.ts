#!/usr/bin/env node
// The command `decant`. Exit codes: 0 done, 1 failed, 2 usage, 3 salvaged with losses, 130 interrupted.

import { main } from './cli/main.js';

process.exitCode = await main(process.argv.slice(2));
