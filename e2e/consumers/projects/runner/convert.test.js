import { readFileSync, rmSync } from 'node:fs';
import { open } from 'decant';

const { IMAGE, OUTPUT, PASSWORD, RAW } = process.env;

test('converts', async () => {
  rmSync(OUTPUT, { force: true });
  const image = await open(IMAGE, { password: PASSWORD });
  await image.convert(OUTPUT);
  await image.close();
  expect(readFileSync(OUTPUT).equals(readFileSync(RAW))).toBe(true);
});

test('fails with a DecantError', async () => {
  await expect(open('/nowhere.qcow2')).rejects.toMatchObject({ name: 'DecantError', kind: 'source' });
});
