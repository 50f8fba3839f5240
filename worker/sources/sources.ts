// The opened sources of an image and its companions.

import { checkReadable, orUsageError } from '../errors/argument-checks.js';
import { DecantError } from '../errors/errors.js';
import { anyOf } from '../errors/signals.js';
import { isObject } from '../errors/values.js';
import { haveSameOrigin } from '../http/address.js';
import type { HttpOptions } from '../http/http-types.js';
import type { CompanionSpec, ImageSpec, SourceSpec } from '../messages/messages.js';
import type { Companion, Input } from '../public/caller-types.js';
import type { Network } from '../public/types.js';
import { isCustomSource, loadCustomSources } from './inputs.js';
import { Loan, type OpenedSource } from './opened-source.js';

/** The options for opening an image, without its sources. */
export type ImageSettings = Omit<ImageSpec, 'source' | 'companions' | 'file'>;

/** Opens a source. Fails with `usage` if it cannot be one, and with `cancelled` when the options' signal is aborted. */
type OpenSource = (input: Input, options: HttpOptions) => Promise<OpenedSource>;

/** How many files are opened at once: each may need a round trip to a server. */
const AT_ONCE = 8;

type CustomSources = Awaited<ReturnType<typeof loadCustomSources>>;

const isLent = ({ spec }: OpenedSource): boolean => 'custom' in spec || 'stream' in spec;

export class Sources {
  /** The content of the image, if it had to be unpacked. */
  #unpacked: OpenedSource | undefined;
  /** The name of the image's file, if it has one. */
  #file: string | undefined;
  /** The code for the sources that are custom ones or streams; `undefined` if all are files. */
  #custom: CustomSources | undefined;

  private constructor(
    /** The image, then its companions. */
    readonly all: OpenedSource[],
    readonly companions: Omit<CompanionSpec, 'source'>[],
  ) {}

  static async open(
    openSource: OpenSource,
    input: Input,
    companions: readonly Companion[],
    options: HttpOptions,
  ): Promise<Sources> {
    const sources = new Sources([], []);
    const named = companions.map(namedCompanion);
    const opened = await openAll(openSource, [input, ...named.map(({ source }) => source)], options);
    try {
      if (opened.some(isLent)) sources.#custom = await loadCustomSources();
      sources.all.push(opened[0]!);
      sources.#file = opened[0]!.name;
      for (const [at, { name }] of named.entries()) await sources.#add(opened[at + 1]!, name);
    } catch (thrown) {
      await closeAll(opened);
      throw thrown;
    }
    await closeAll(opened.filter((source) => !sources.all.includes(source)));
    return sources;
  }

  /** One source that is open. */
  static async of(opened: OpenedSource): Promise<Sources> {
    const sources = new Sources([opened], []);
    if (isLent(opened)) sources.#custom = await loadCustomSources();
    return sources;
  }

  get image(): OpenedSource {
    return this.all[0]!;
  }

  /** Why changes of the files could go unnoticed, as sentences. */
  get unnoticed(): string[] {
    return [...new Set(this.all.flatMap(({ unnoticed }) => unnoticed ?? []))];
  }

  /** Whether a source wants announcements of reads. */
  get expect(): boolean {
    return this.all.some(({ spec }) => 'custom' in spec && this.#custom!.expects(spec.custom));
  }

  /** The traffic so far of each source on a network. */
  get networks(): Network[] {
    const ofSpec = ({ spec }: OpenedSource) => {
      if ('custom' in spec) return this.#custom!.networkOf(spec.custom);
      return 'stream' in spec ? spec.stream.remote?.network : undefined;
    };
    return this.all.flatMap((source) => ofSpec(source) ?? []);
  }

  /**
   * From now on, lends `content`, which was unpacked from the image, in place of the image. The companions with the numbers `parts` were
   * parts of the image. Closes the content that was unpacked before.
   */
  async replaceImage(content: OpenedSource, parts: number[] = []): Promise<void> {
    for (const at of parts) this.companions[at]!.isImage = true;
    if (isLent(content)) this.#custom ??= await loadCustomSources();
    const before = this.#unpacked;
    this.#unpacked = content;
    await before?.close();
  }

  /** These sources, which lend `content`, a file, in place of the image. The caller must close it. */
  withImage(content: OpenedSource): Sources {
    const sources = new Sources(this.all, this.companions);
    sources.#custom = this.#custom;
    sources.#unpacked = content;
    return sources;
  }

  /** Lends the sources to a coordinator, for opening them with `settings`. The caller must end the loan. */
  lend(settings: ImageSettings): Loan {
    const custom = this.#custom;
    const lent = custom && new custom.CustomLoan();
    const loan = lent ?? new Loan();
    const toSpec = ({ spec }: OpenedSource): SourceSpec => {
      if ('stream' in spec) return { stream: lent!.lendStream(spec.stream) };
      if (!('custom' in spec)) return spec;
      return { port: lent!.lend(spec.custom), size: spec.size, expects: custom!.expects(spec.custom) };
    };
    const [image, ...files] = this.all;
    const source = toSpec(this.#unpacked ?? image!);
    const others = files.map(toSpec);
    const companions = this.companions.map((companion, at) => ({ ...companion, source: others[at]! }));
    // An unpacked file is never a part of a split file.
    const file = this.#unpacked ? undefined : (this.#file ?? settings.name);
    loan.image = { ...settings, source, companions, file };
    return loan;
  }

  /** From now on, lends the companion with this index as the image, in place of the configuration that names it. */
  choose(companion: number): void {
    const [configuration, ...files] = this.all;
    const [disk] = files.splice(companion, 1);
    const [{ name, standsFor = name }] = this.companions.splice(companion, 1) as [Omit<CompanionSpec, 'source'>];
    this.#file = standsFor;
    // The configuration stays open, since a change of it is reported.
    this.all.splice(0, this.all.length, disk!, ...files, configuration!);
    this.companions.push({ name: configuration!.name ?? '', standsFor: undefined, isImage: false });
  }

  /** Fails with `source` if a file has changed since it was opened. */
  async verify(): Promise<void> {
    for (const source of this.all) await source.verify();
  }

  /** Like `verify`, at the end of a conversion: also asks the owners of the files. May change `unnoticed`. */
  async confirm(signal: AbortSignal): Promise<void> {
    // A new signal for each source: Node warns about many listeners on one.
    await Promise.all(this.all.map((source) => source.confirm?.(anyOf([signal]))));
    await this.verify();
  }

  async close(): Promise<void> {
    // The unpacked content may still be read from the image.
    await this.#unpacked?.close();
    await closeAll(this.all);
  }

  /** Adds a companion. `standsFor` is the name that the caller gave it. */
  async #add(opened: OpenedSource, standsFor: string | undefined): Promise<void> {
    const name = opened.name ?? standsFor;
    if ('stream' in opened.spec) {
      const what = name === undefined ? 'A companion is a stream' : `'${name}' is a stream`;
      const message = `${what}, but companions must be readable at any position; save it to a file first`;
      throw new DecantError('usage', message);
    }
    if (name === undefined) {
      throw new DecantError('usage', 'A companion needs a name: pass { name, source }');
    }
    const known = await this.#placeOf(opened);
    // The same file twice is one candidate, not two.
    if (known > 0 && standsFor === undefined) return;
    this.all.push(opened);
    this.companions.push({ name, standsFor, isImage: known === 0 });
  }

  /** The index in `all` of a source that is the same file; -1 if there is none. */
  async #placeOf({ identity, entry, size }: OpenedSource): Promise<number> {
    const known = this.all.findIndex((source) => source.identity === identity);
    if (known >= 0 || !entry) return known;
    for (const [at, other] of this.all.entries()) {
      // Equal files have equal sizes and times, so that few pairs need a call of the browser.
      if (other.size !== size || other.entry?.lastModified !== entry.lastModified) continue;
      if (await other.entry.handle.isSameEntry(entry.handle)) return at;
    }
    return -1;
  }
}

const isNamed = (companion: Companion): companion is { name: string; source: Input } =>
  isObject(companion) && !(companion instanceof Blob) && !isCustomSource(companion) && 'source' in companion;

/** Throws `usage` for a name that is not a string. */
function namedCompanion(companion: Companion): { name: string | undefined; source: Input } {
  checkReadable("one of the 'companions'", companion);
  if (!isNamed(companion)) return { name: undefined, source: companion };
  const { name, source } = orUsageError("'companions'", () => ({ name: companion.name, source: companion.source }));
  checkReadable("the source of one of the 'companions'", source);
  if (name === undefined || typeof name === 'string') return { name, source };
  throw new DecantError('usage', "The 'name' of one of the 'companions' must be a string");
}

/** Opens `inputs`, several at once. If one fails, cancels and closes the others. */
async function openAll(open: OpenSource, inputs: Input[], options: HttpOptions): Promise<OpenedSource[]> {
  const ending = new AbortController();
  // A new one for each source: Node warns about many listeners on one.
  const signalOfOne = () => anyOf(options.signal ? [options.signal, ending.signal] : [ending.signal]);
  const opened: OpenedSource[] = [];
  let failure: { thrown: unknown } | undefined;
  let next = 0;
  const work = async () => {
    while (next < inputs.length && !failure) {
      const at = next++;
      try {
        const input = inputs[at]!;
        opened[at] = await open(input, { ...optionsFor(input, inputs[0]!, options), signal: signalOfOne() });
      } catch (thrown) {
        failure ??= { thrown };
        ending.abort();
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (!failure) return opened;
  // The array has gaps for sources that were not opened.
  await closeAll(opened.filter(Boolean));
  throw failure.thrown;
}

/** The options for `input`: headers are sent only to the origin of `image`. */
function optionsFor(input: Input, image: Input, { headers, ...options }: HttpOptions): HttpOptions {
  return headers !== undefined && haveSameOrigin(input, image) ? { ...options, headers } : options;
}

async function closeAll(sources: OpenedSource[]): Promise<void> {
  for (const source of sources) await source.close();
}
