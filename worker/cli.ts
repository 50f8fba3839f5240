#!/usr/bin/env node

// The command `decant`. cli/commands.ts has its exit codes.

// Until something listens, Node opens its debugger at SIGUSR1. So this listener is there before the command is loaded, which prints
// its progress then (cli/progress.ts).
process.on('SIGUSR1', () => {});

const { finished, main } = await import('./cli/command.js');

const code = await main(process.argv.slice(2));
await finished();
// A connection to a silent server would keep the process.
process.exit(code);
