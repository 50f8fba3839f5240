// Sizes for people.

const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
const DECIMAL = ['bytes', 'KB', 'MB', 'GB', 'TB'];

/** Divides `bytes` by `step` until they are less than `next`. Returns the value with its unit. */
function inUnits(bytes: number, units: string[], step: number, next: number): { value: number; unit: string } {
  let [value, index] = [bytes, 0];
  while (value >= next && index < units.length - 1) {
    value /= step;
    index += 1;
  }
  return { value, unit: units[index]! };
}

/** Formats a size like QEMU's `size_to_str`, as the command does: `%0.3g`, with the next unit from 1000 on, before rounding. */
export function humanSize(bytes: number): string {
  const { value, unit } = inUnits(bytes, BINARY, 1024, 1000);
  const rounded = Number(value.toPrecision(3));
  return `${rounded < 1000 ? rounded : '1e+03'} ${unit}`;
}

/** Formats a size in decimal units, as browsers and file managers do: "25.2 MB". */
export function decimalSize(bytes: number): string {
  const { value, unit } = inUnits(bytes, DECIMAL, 1000, 999.95);
  return `${unit === 'bytes' ? value : value.toFixed(1)} ${unit}`;
}
