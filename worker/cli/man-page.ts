// The man page, made from the tables of commands and options when the package is built.

import { ALL_OPTIONS } from './command-options.js';
import { COMMANDS, commandEntry, exitCodesOf, TOPICS, type TopicName } from './commands.js';
import { formsOf, usageOf, wrapped } from './help.js';
import { listed } from './wording.js';

/** Characters that roff would change, and how it prints them as they are. */
const SPECIAL: Record<string, string> = {
  '\\': String.raw`\e`,
  '-': String.raw`\-`,
  "'": String.raw`\(aq`,
  '`': String.raw`\(ga`,
  '^': String.raw`\(ha`,
  '~': String.raw`\(ti`,
};

/** Text of a line, which must not look like a request. */
const escaped = (text: string): string =>
  text.replaceAll(/[\\'`^~-]/g, (character) => SPECIAL[character]!).replace(/^\./, String.raw`\&.`);

/** The lines of a text, short enough for lint programs. */
const paragraph = (text: string): string[] => wrapped('', text, 0).map(escaped);

const bold = (text: string): string => String.raw`\fB${escaped(text)}\fR`;

/** A paragraph with a tag. */
const tagged = (tag: string, text: string): string[] => ['.TP', tag, ...paragraph(text)];

const sentence = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}.`;

/** The arguments in brackets stay on one line. */
const synopsis = (name: TopicName): string =>
  bold(`decant ${name}`) +
  escaped(usageOf(name).slice(name.length)).replaceAll(/\[[^\]]*\]/g, (part) => part.replaceAll(' ', String.raw`\ `));

function commandSection(name: TopicName): string[] {
  const { summary, operands } = commandEntry(name);
  return [
    `.SS decant ${name}`,
    ...paragraph(sentence(summary)),
    ...operands.flatMap(({ name, text }) => tagged(String.raw`\fI${escaped(name)}\fR`, text)),
  ];
}

/** The options, each with the commands that take it, unless all do. */
function options(): string[] {
  const all = Object.keys(COMMANDS);
  return formsOf(ALL_OPTIONS).flatMap(([forms, text]) => {
    const { commands = all } = ALL_OPTIONS.find(({ help }) => Object.hasOwn(help, forms[0]!))!;
    const takers = commands.length === all.length || forms.length > 1 ? '' : ` (${listed(commands, 'and')})`;
    return tagged(forms.map(bold).join(', '), `${sentence(text).slice(0, -1)}${takers}.`);
  });
}

const exitStatus = (name: TopicName): string[] =>
  tagged(
    bold(`decant ${name}`),
    `${exitCodesOf(name)
      .map(([code, meaning]) => `${code}: ${meaning}`)
      .join('; ')}.`,
  );

const examples = (name: TopicName): string[] =>
  commandEntry(name).examples.flatMap(([line, text]) => tagged(bold(`decant ${line}`), sentence(text)));

/** The source of the man page of this version. */
export const manPage = (version: string): string =>
  [
    `.TH DECANT 1 "" "decant ${escaped(version)}" "User Commands"`,
    '.\\" Words are neither divided nor spread over the line: options and names stay as they are.',
    '.nh',
    '.ad l',
    '.SH NAME',
    String.raw`decant \- read and convert virtual disk images`,
    '.SH SYNOPSIS',
    [...TOPICS.map(synopsis), `${bold('decant --help')} | ${bold('--version')}`].join('\n.PP\n'),
    '.SH DESCRIPTION',
    ...paragraph(
      'Decant reads and converts virtual disk images. Its options match those of qemu-img where they overlap. It never opens a file because an image names it: pass the other files of an image with --with.',
    ),
    '.SH COMMANDS',
    ...TOPICS.flatMap(commandSection),
    '.SH OPTIONS',
    ...paragraph('An option that only some commands take names them.'),
    ...options(),
    '.SH EXIT STATUS',
    ...TOPICS.flatMap(exitStatus),
    '.SH EXAMPLES',
    ...TOPICS.flatMap(examples),
    '.SH SEE ALSO',
    String.raw`.BR qemu\-img (1)`,
    '',
  ].join('\n');
