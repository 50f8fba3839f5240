// The rival of an uncompressed conversion: a worker that copies a File to a sync access handle and does nothing
// else. Slices are read ahead, and written in the pieces that a handle takes fastest.

addEventListener('message', async ({ data: { file, slice, ahead, write } }) => {
  const start = performance.now();
  const directory = await navigator.storage.getDirectory();
  const handle = await (await directory.getFileHandle('out.raw', { create: true })).createSyncAccessHandle();
  const read = (at) => (at < file.size ? file.slice(at, at + slice).arrayBuffer() : undefined);
  const reads = Array.from({ length: ahead + 1 }, (_, number) => read(number * slice));
  for (let at = 0; at < file.size; at += slice) {
    const bytes = new Uint8Array(await reads.shift());
    reads.push(read(at + (ahead + 1) * slice));
    for (let from = 0; from < bytes.length; from += write) {
      handle.write(bytes.subarray(from, Math.min(from + write, bytes.length)), { at: at + from });
    }
  }
  handle.close();
  postMessage((performance.now() - start) / 1000);
});
