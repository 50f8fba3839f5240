/** The output of a page whose server gets the disk: it is sent when it is complete. */
export function upload({ name }) {
  let bytes = new Uint8Array(0);
  return {
    async open({ outputSize }) {
      bytes = new Uint8Array(outputSize);
    },
    async write(offset, part) {
      bytes.set(part, offset);
    },
    async hole() {},
    async close() {
      const { ok, status } = await fetch(`/uploads/${name}`, { method: 'PUT', body: bytes });
      if (!ok) throw new Error(`The server answers ${status}`);
    },
    async abort() {},
  };
}
