// What an image holds besides its file: one session, and those that somebody still uses.

import { execFileSync } from 'node:child_process';
import { images } from '../support/images.js';
import { expect, test } from '../support/node.js';

const dist = new URL('../../dist/', import.meta.url);

test('a session that was given up while it was held goes with its last user', () => {
  const script = `
    import { queryObjects } from 'node:v8';
    import { open } from '${new URL('node.js', dist)}';
    import { Session } from '${new URL('workers/session.js', dist)}';
    const count = () => queryObjects(Session, { format: 'count' });
    const { hold } = Session.prototype;
    let giveUp;
    Session.prototype.hold = function () {
      giveUp ??= () => this.giveUp();
      hold.call(this);
    };
    const image = await open('${images.endless()}');
    const map = image.map();
    await map.next();
    await giveUp();
    giveUp = async () => {};
    await image.read(0, 1);
    const held = count();
    await map.return();
    // A coordinator that has ended is forgotten when the next one is asked for.
    await (await open('${images.kinds()}')).close();
    const left = count();
    await image.close();
    console.log(JSON.stringify({ held, left }));
  `;
  const told = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  expect(JSON.parse(told)).toEqual({ held: 2, left: 1 });
});
