// The Electron example, installed, and what drives its parts in Node.

import { join } from 'node:path';
import { run } from '../command.js';
import { type Project, project } from './project.js';

export interface Failure {
  kind: string;
  message: string;
}

export interface Opened {
  name: string;
  format: string;
  virtualSize: number;
  needs: { kind: string; name?: string }[];
  formats: { name: string; extension: string }[];
}

export interface Reply {
  value?: unknown;
  error?: Failure;
}

export interface Driven {
  replies: Reply[];
  /** The results that the page got. */
  progress: { phase: string; share?: number; secondsLeft?: number }[];
  /** The values that the task bar got. */
  shares: (number | null)[];
  /** How often the task bar was told that a conversion has ended. */
  done: number;
  /** The name that the dialog for the output came with. */
  suggested?: string;
}

export interface Task {
  /** The calls of the page, in order: names and values. */
  calls: string[][] | unknown[][];
  /** The choices of the person in the dialogs. */
  files: { image?: string; companions?: string[]; output?: string };
  /** Whether the conversion is cancelled when it has begun. */
  cancels?: boolean;
}

const LAYERS = ['electron', '../../../examples/electron'];

/** The example from `examples/electron`, with the packed package. */
export const electron = (): Promise<Project> => project('electron', LAYERS, { tools: false });

/** The same with Electron's types and what packs it. */
export const electronWithTools = (): Promise<Project> => project('electron-tools', LAYERS);

/** Runs `task` with the parts of the application in these folders. */
export function drive({ folder }: Project, task: Task, main = join(folder, 'main'), work = join(folder, 'work')) {
  const ended = run(process.execPath, [join(folder, 'drive.mjs'), main, work, JSON.stringify(task)]);
  if (ended.status !== 0 || ended.stderr !== '') throw new Error(`${ended.status} ${ended.stderr}`);
  return JSON.parse(ended.stdout) as Driven;
}
