// Bare copies in Chromium: a worker that copies a File's bytes in the same way as a conversion. Slices are read ahead; the
// benchmark searches for the best sizes.

const ways = {
  /** To the private file system, by a sync access handle. */
  async storage({ name, length }) {
    const directory = await navigator.storage.getDirectory();
    const handle = await (await directory.getFileHandle(name, { create: true })).createSyncAccessHandle();
    handle.truncate(length);
    return {
      write: (bytes, at) => handle.write(bytes, { at }),
      close: () => handle.close(),
    };
  },

  /** To a picked file, which the browser copies and hashes on closing. */
  async picked({ handle, length }) {
    const writable = await handle.createWritable();
    await writable.truncate(length);
    return {
      write: (data, position) => writable.write({ type: 'write', position, data }),
      close: () => writable.close(),
    };
  },
};

async function copy({ way, file, slice, ahead, write, ...target }) {
  const start = performance.now();
  const writable = await ways[way](target);
  const read = (at) => (at < file.size ? file.slice(at, at + slice).arrayBuffer() : undefined);
  const reads = Array.from({ length: ahead + 1 }, (_, number) => read(number * slice));
  for (let at = 0; at < file.size; at += slice) {
    const bytes = new Uint8Array(await reads.shift());
    reads.push(read(at + (ahead + 1) * slice));
    for (let from = 0; from < bytes.length; from += write) {
      await writable.write(bytes.subarray(from, Math.min(from + write, bytes.length)), at + from);
    }
  }
  await writable.close();
  return (performance.now() - start) / 1000;
}

addEventListener('message', ({ data }) => {
  // An error thrown outside a promise reaches the page.
  copy(data).then(postMessage, (error) => setTimeout(() => reportError(error)));
});
