#!/usr/bin/env node

// The command `decant`. cli/commands.ts has its exit codes.

// Until something listens, Node opens its debugger at SIGUSR1. So this listener is there before the command is loaded, which prints
// its progress then (cli/progress.ts).
process.on('SIGUSR1', () => {});

const { main } = await import('./cli/command.js');
const { cleanUpDone } = await import('./cli/interrupts.js');
const { flushed } = await import('./cli/printing.js');
const code = await main(process.argv.slice(2));
await cleanUpDone();
await flushed();
// A connection to a silent server would keep the process.
process.exit(code);
