// A file is closed only when nothing can read it any more: its descriptor's number may be another file's by then.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { programIn } from '../support/command.js';
import { withFaults } from '../support/faults.js';
import { images, PASSWORD } from '../support/images.js';
import { expect, FULL, test } from '../support/node.js';

for (const { name, work, tagged } of [
  { name: 'opening', work: '', tagged: FULL },
  { name: 'unlocking', work: 'await image.unlock({ signal })', tagged: FULL },
  { name: 'a map', work: 'for await (const extent of image.map({ signal }));', tagged: FULL },
  { name: 'a conversion', work: "await image.convert(args[2] + '/out.raw', { signal })", tagged: {} },
]) {
  test(`${name} that is cancelled during a read closes the file after it`, tagged, ({ folder }) => {
    const log = join(folder, 'log');
    writeFileSync(log, '');
    const kinds = programIn<string[]>(
      withFaults({ fault: 'read slow', log }),
      `const { closeSync, openSync, readFileSync } = await import('node:fs');
      const begun = () => readFileSync(args[3], 'utf8').split('read begins').length - 1;
      const kinds = [];
      for (const reads of [1, 2, 3]) {
        const cancel = new AbortController();
        const { signal } = cancel;
        const opened = ${name === 'opening'} ? undefined : await decant.open(args[0], { password: args[1] });
        const before = begun();
        const watch = setInterval(() => begun() >= before + reads && cancel.abort(), 5);
        try {
          const image = opened ?? await decant.open(args[0], { signal });
          ${work};
        } catch ({ kind }) {
          kinds.push(kind);
        }
        clearInterval(watch);
        await opened?.close();
        // The numbers of the descriptors are reused.
        const others = Array.from({ length: 20 }, () => openSync('/dev/zero'));
        // It waits for the workers, and so for reads in progress.
        await decant.dispose();
        others.forEach(closeSync);
      }
      console.log(JSON.stringify(kinds));`,
      ...[images.luks(), PASSWORD, folder, log],
    );
    expect(kinds).toContain('cancelled');
    const lines = readFileSync(log, 'utf8').split('\n');
    expect(lines).toContain('read');
    expect(lines).not.toContain('read after close');
  });
}
