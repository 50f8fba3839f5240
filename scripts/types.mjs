// The package's types: one declaration file for each entry point, and reports of the public API.
//
// `npm run api` writes the reports in docs/api/. The build fails if they are out of date, or if a public declaration is not
// documented.

import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bin, fail, root, run } from './lib.mjs';
import { shareTypes } from './shared-types.mjs';

const DECLARATIONS = join(root, '.cache', 'types');
const REPORTS = join(root, 'docs', 'api');
/** The reports as they are made. */
const NEW_REPORTS = join(root, '.cache', 'reports');

/** By name in the package: the source of each entry point, and the global types that it uses. */
const ENTRIES = {
  browser: { main: 'browser', globals: ['browser', 'common'] },
  node: { main: 'node', globals: ['common'] },
  threads: { main: 'threads', globals: ['common'] },
  testing: { main: 'testing/index', globals: ['common'] },
  contents: { main: 'contents/index', globals: ['common'] },
  places: { main: 'places/index', globals: ['common'] },
  upload: { main: 'upload/index', globals: ['common'] },
};

/** The sources of an entry point, and the paths of its declarations and report. */
function config(name, { main }, dist) {
  const entry = join(DECLARATIONS, `${main}.d.ts`);
  return {
    configObject: {
      projectFolder: root,
      mainEntryPointFilePath: entry,
      newlineKind: 'lf',
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            target: 'ES2022',
            lib: ['ES2023', 'ESNext.Disposable', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
            module: 'NodeNext',
            moduleResolution: 'NodeNext',
            types: ['node'],
            strict: true,
            skipLibCheck: true,
          },
          files: [entry],
        },
      },
      apiReport: {
        enabled: true,
        reportFileName: name,
        reportFolder: NEW_REPORTS,
        reportTempFolder: join(root, '.cache', 'api'),
      },
      docModel: { enabled: false },
      tsdocMetadata: { enabled: false },
      dtsRollup: { enabled: true, untrimmedFilePath: join(dist, `${name}.d.ts`) },
      messages: {
        compilerMessageReporting: { default: { logLevel: 'error' } },
        extractorMessageReporting: {
          default: { logLevel: 'error' },
          // Every export is public.
          'ae-missing-release-tag': { logLevel: 'none' },
        },
        tsdocMessageReporting: { default: { logLevel: 'none' } },
      },
    },
    packageJsonFullPath: join(root, 'package.json'),
    configObjectFullPath: undefined,
  };
}

/** The global types that are declared with the package's, without comments for our linters. */
const globalTypes = (name) =>
  readFileSync(join(root, 'scripts', 'globals', `${name}.d.ts`), 'utf8').replace(/^ *\/\/ biome-ignore.*\n/gm, '');

/** The declarations of `files` of the element, in one text. What they take from the package comes from `./browser.js`. */
function declarationsOf(files) {
  const texts = files.map((name) => readFileSync(join(DECLARATIONS, 'element', `${name}.d.ts`), 'utf8'));
  const taken = texts.flatMap((text) => [...text.matchAll(/^import type \{ (.*) \} from 'decant';$/gm)]);
  const names = new Set(taken.flatMap(([, list]) => list.split(', ')));
  const own = texts.map((text) => text.replace(/^import .*\n/gm, '')).join('');
  return `import type { ${[...names].sort().join(', ')} } from './browser.js';\n${own}`;
}

/** The types of `decant/texts` and of `decant/element`, which shows these texts. */
function elementTypes(dist) {
  run('Compiling TypeScript', bin('tsc'), ['-p', 'element']);
  const texts = declarationsOf(['types.texts-results', 'types.texts', 'texts/languages']);
  const names = [...texts.matchAll(/^export (?:type|interface) (\w+)/gm)].map(([, name]) => name).join(', ');
  const element = declarationsOf(['types.element', 'index']);
  const shared = `import type { Texts } from './texts.js';\nexport type { ${names} } from './texts.js';\n`;
  writeFileSync(join(dist, 'texts.d.ts'), texts);
  writeFileSync(join(dist, 'element.d.ts'), `${shared}${element}${globalTypes('element')}`);
}

/**
 * Gives declarations in `file` of decant/`entry` their own names: the extractor numbers those whose names are global, such as `open_2`. Returns
 * the text. Ends the script if a name has no other.
 */
function named(file, entry) {
  const text = readFileSync(file, 'utf8').replaceAll(/\bopen_\d+\b/g, 'openImage');
  const [, global] = /\b(\w+)_\d+ as \1\b/.exec(text) ?? [];
  if (global) fail(`'${global}' of decant/${entry} is a global name, too.`, 'Choose another name.');
  writeFileSync(file, text);
  return text;
}

/** Writes `dist/NAME.d.ts` for each entry point, and with `update` the reports, too. */
export async function types(dist, { update = false } = {}) {
  // Imported here because this file is loaded before the packages are installed.
  const { Extractor, ExtractorConfig } = await import('@microsoft/api-extractor');
  rmSync(DECLARATIONS, { recursive: true, force: true });
  run('Compiling TypeScript', bin('tsc'), ['-p', 'worker']);
  mkdirSync(REPORTS, { recursive: true });
  mkdirSync(NEW_REPORTS, { recursive: true });
  for (const [name, entry] of Object.entries(ENTRIES)) {
    const shown = [];
    const { succeeded } = Extractor.invoke(ExtractorConfig.prepare(config(name, entry, dist)), {
      localBuild: true,
      messageCallback: (message) => {
        message.handled = true;
        if (message.logLevel === 'error') shown.push(message.formatMessageWithLocation(root));
      },
    });
    if (shown.length > 0) fail(shown.join('\n'), 'Document what is public, or do not export it.');
    if (!succeeded) fail(`The types of decant/${name} could not be made.`);
    const report = named(join(NEW_REPORTS, `${name}.api.md`), name);
    named(join(dist, `${name}.d.ts`), name);
    const path = join(REPORTS, `${name}.api.md`);
    if (update) {
      writeFileSync(path, report);
    } else if (!existsSync(path) || readFileSync(path, 'utf8') !== report) {
      fail(
        `What is public in decant/${name} differs from docs/api/${name}.api.md.`,
        'If that is meant, run npm run api.',
      );
    }
  }
  shareTypes(dist, Object.keys(ENTRIES));
  for (const [name, { globals }] of Object.entries(ENTRIES)) {
    for (const each of globals) appendFileSync(join(dist, `${name}.d.ts`), globalTypes(each));
  }
  elementTypes(dist);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await types(join(root, 'dist'), { update: true });
