// `await using`, for runtimes that have it.
import { open } from 'decant';

const [path] = process.argv.slice(2);
{
  await using image = await open(path);
  console.log(image.info.format);
}
