import { Browser } from './browser.mjs';
import { memoryRows } from './tmp-limits.mjs';

const browser = await Browser.start();
for (const row of await memoryRows(browser)) console.log(row.join(' | '));
await browser.stop();
process.exit(0);
