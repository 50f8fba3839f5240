// Lends functions of the platform to `crypt.wasm`. `crate/crypt/src/direct/platform.rs` calls them.

/** The exports of `crate/crypt/wasm` that are used here. */
export interface CryptExports {
  memory: WebAssembly.Memory;
  __indirect_function_table: WebAssembly.Table;
  use_platform(...places: number[]): void;
}

export type PlatformFunction = (a: number, b: number, c: number) => number;

/** The platform cannot do it. */
export const CANNOT = -1;
/** The progress of a finished derivation, in thousandths. */
const ALL = 1000;

/** Exports the function that it imports, because a table accepts only functions that a module exports. */
const reexport = new WebAssembly.Module(
  new Uint8Array([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    // The type (i32, i32, i32) -> i32.
    ...[1, 8, 1, 0x60, 3, 0x7f, 0x7f, 0x7f, 1, 0x7f],
    // Imports a function of type 0, without a name.
    ...[2, 5, 1, 0, 0, 0, 0],
    // Exports function 0, without a name.
    ...[7, 4, 1, 0, 0, 0],
  ]),
);

/** Lets the instance with these exports use functions, in the order of the crate's `Platform`. */
export function lend(exports: CryptExports, functions: PlatformFunction[]): void {
  const table = exports.__indirect_function_table;
  const places = functions.map((code) => {
    const { exports } = new WebAssembly.Instance(reexport, { '': { '': code } });
    const place = table.grow(1);
    table.set(place, exports['']);
    return place;
  });
  exports.use_platform(...places);
}

/** Copies the key, wipes it, and returns that all is done. */
export function take(key: Uint8Array, place: Uint8Array): number {
  place.set(key);
  key.fill(0);
  return ALL;
}

/** Bytes in the memory of the instance. */
export type BytesAt = (address: number, length: number) => Uint8Array<ArrayBuffer>;

/** Reads the crate's `PlatformDerivation` at `address`: the arguments of PBKDF2, and the place of the key. */
export function derivationAt(bytes: BytesAt, address: number) {
  const fields = new Uint32Array(bytes(address, 32).slice().buffer);
  const [hash = 0, iterations = 0, password = 0, passwordLength = 0, salt = 0, saltLength = 0, key = 0, length = 0] =
    fields;
  return {
    /** The number of the crate's `Hash`. */
    hash,
    iterations,
    password: bytes(password, passwordLength),
    salt: bytes(salt, saltLength),
    place: bytes(key, length),
  };
}

/** A derivation that the platform runs. */
export interface Derivation {
  began: number;
  /** How long it takes, in milliseconds. */
  estimate: number;
  key?: Uint8Array;
  failed?: boolean;
}

/** The share of a derivation that is done, in thousandths; less than `ALL`. */
export const shareOf = ({ began, estimate }: Derivation): number =>
  Math.min(ALL - 1, Math.floor((ALL * (performance.now() - began)) / estimate));
