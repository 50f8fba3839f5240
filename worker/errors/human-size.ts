// Sizes for people.

/** Formats a size like QEMU's `size_to_str`: `%0.3g`, with the next unit from 1000 on, before rounding. */
export function humanSize(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
  let [value, unit] = [bytes, 0];
  while (value >= 1000) {
    value /= 1024;
    unit += 1;
  }
  const rounded = Number(value.toPrecision(3));
  return `${rounded < 1000 ? rounded : '1e+03'} ${units[unit]}`;
}
