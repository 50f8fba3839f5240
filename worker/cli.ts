#!/usr/bin/env node

// The command `decant`. cli/commands.ts has its exit codes.

import { main } from './cli/command.js';
import { cleanUpDone } from './cli/interrupts.js';
import { flushed } from './cli/printing.js';

const code = await main(process.argv.slice(2));
await cleanUpDone();
await flushed();
// A connection to a silent server would keep the process.
process.exit(code);
