// The interface between the views and the session: what a view reads besides the state of its step, and the person's actions.

import type { OutputFormat, Snapshot, Waiting } from 'decant';
import type { InputFile } from '../files/input-file.js';
import type { Opening } from '../files/opening.js';
import type { AllTexts, MissingFile } from '../types.texts.js';
import type { Way } from '../ways/choices.js';
import type { Destination } from '../ways/destinations.js';
import type { AddressProblem, Overall, Remains, Remedy } from './state.js';

/** The fields for links. */
export interface LinkFields {
  /** The problem with a text in a field, until the text changes or the step ends. */
  readonly problem: AddressProblem | undefined;
  /** The link that was given last for `need`, or to an image. It stays until the image is open, so that it can be mended. */
  given(need?: MissingFile): string;
  /** Whether the person mends the link to an image, on the first screen. */
  readonly isEdited: boolean;
  /** Takes `text` from the field for links of `need`, or of the first screen. */
  submit(text: string, need?: MissingFile): void;
  /** Forgets the problem, because the text in the field has changed. */
  change(): void;
}

/** The choices before a conversion. */
export interface SaveChoices {
  /** Whether the section "Change" is open. */
  readonly isChanging: boolean;
  /** Opens or closes the section "Change". */
  openChange(isChanging: boolean): void;
  /** Whether the person has opened or closed the list of all places. */
  readonly listsPlaces: boolean | undefined;
  listPlaces(isListed: boolean): void;
  /** The text by which the person looks for a place. */
  readonly placeSearch: string;
  /** Shows the places whose names contain `text`. */
  searchPlace(text: string): void;
  select(way: Way): void;
  selectDestination(destination: Destination): void;
  selectOutput(output: OutputFormat): void;
  rename(name: string): void;
  /** Gives the disk this size in bytes; `undefined`: that of the image. */
  resize(size: number | undefined): void;
  /** Verifies the results of this image and the next ones, or does not. */
  verify(isWanted: boolean): void;
  /** Stops proposals, because the person is about to convert. */
  hold(): void;
}

export interface Controls {
  readonly texts: AllTexts;
  readonly links: LinkFields;
  readonly chooser: SaveChoices;
  readonly opening: Opening | undefined;
  /** The server that keeps the session waiting. */
  readonly waiting: Waiting | undefined;
  /** How many images of the queue are not opened yet. */
  readonly imagesWaiting: number;
  /** The results of the queue, if the result that is shown is the last of several. */
  readonly overall: Overall | undefined;
  /** Whether new images have to wait, because a disk is being written or its target is being chosen. */
  readonly isBusy: boolean;
  /** Whether the images are converted one after the other, without a step of the person. */
  readonly isConvertingAll: boolean;
  /** Whether the image that is opened is converted next, without a step of the person. */
  readonly isContinuing: boolean;
  readonly isSalvage: boolean;
  /** How many disks of the archive or machine that is shown can become one file together; 0 unless the person has chosen several. */
  readonly joinable: number;
  /** Whether all these disks become one file. */
  readonly isTogether: boolean;
  /** The snapshots of the image or the machine that is shown. */
  readonly snapshots: readonly Snapshot[];
  /** The index of the open snapshot in the list; -1 is the active disk. */
  readonly snapshotIndex: number;
  /** Whether a snapshot was chosen in the last step: the focus stays on the list. */
  readonly isChoosingSnapshot: boolean;
  /** The text that was just copied. */
  readonly copied: string | undefined;
  /** The person's values for placeholders in commands. They stay for the next image. */
  readonly values: Readonly<Record<string, string>>;

  /** Opens the browser's dialog for files. Calls `fallback` if there is none. */
  choose(fallback: () => void): void;
  /** Opens the browser's dialog for the file that `need` asks for. Calls `fallback` if there is none. */
  chooseFor(need: MissingFile, fallback: () => void): void;
  /** Takes the files of an `<input>` or a paste, which have no handles. */
  takePlain(files: Iterable<File>): void;
  /** Ends the current turn and returns to the start. Images in the queue stay there. */
  reset(): void;
  /** Resumes an interrupted conversion: opens the browser's dialog for its image. Calls `fallback` if there is none. */
  resume(fallback: () => void): void;
  /** Takes the files of an `<input>`, and resumes the interrupted conversion of the image among them. */
  takeToResume(files: Iterable<File>): void;
  /** Resumes the interrupted conversion of the image at `link`. If it is empty, lets the person enter the link. */
  resumeLink(link: string): void;
  /** Removes the remains of an interrupted conversion, and reports it. */
  removeRemains(remains: Remains): void;

  /** Opens the image `id` of the queue, or the next one; with `remedy`, as the person has chosen after its failure. */
  openNext(id?: number, remedy?: Remedy): void;
  /** Removes the image `id` from the queue. */
  remove(id: number): void;
  /** Applies a remedy that was offered after a failure. */
  takeRemedy(remedy: Remedy): void;

  /** Opens the snapshot at an index in the list; -1 is the active disk. */
  chooseSnapshot(at: number): void;
  /** Queues the disks at these indexes of the list in place of their archive, and opens the first. */
  chooseDisks(indexes: number[]): void;
  /** Opens the other disks of the archive or machine that is shown, to convert all to one file. */
  joinDisks(): void;
  /** Opens the first of these disks, to convert each to its own file. */
  separateDisks(): void;
  /** Uses the file that is offered as the missing disk `name` of the machine. */
  useAsDisk(name: string): void;
  /** Unpacks the image that is packed. */
  unpack(): void;
  /** Decodes the image, which takes much memory. */
  allowMemory(): void;
  /** Uses `input` for `need`. If `confirmed`, doubts about the file are ignored. */
  answer(need: MissingFile, input: InputFile, confirmed?: boolean): void;
  /** Removes the file that was given for `need`. */
  takeBack(need: MissingFile): void;
  /** Tries `password` for the layer `name`. */
  unlock(name: string, password: string, assumePassword: boolean): void;

  convert(way?: Way): void;
  /** Converts to the place where the browser checks the file for hours, as the person was asked. */
  saveAnyway(): void;
  /** Converts the image that is shown, and then all that wait the same way. */
  convertAll(): void;
  /** Opens the browser's dialog for a folder. If one is picked, saves there; otherwise nothing changes. */
  pickFolder(): void;
  /** Replaces the existing file that the person was asked about. */
  replace(): void;
  /** Saves under a free name instead of replacing the existing file. */
  useFreeName(): void;
  /** Resumes an interrupted download, or starts it over. */
  download(resumes: boolean): void;
  /** Starts over a download that another tab has resumed. */
  downloadAgain(): void;
  cancel(): void;
  /** Lets the browser complete the file in the background, and opens the next image or shows the first screen. */
  leaveToBrowser(): void;
  /** Cancels the conversion of the image `id` in the background. */
  cancelInBackground(id: number): void;
  /** Removes the image `id`, whose conversion in the background has ended. */
  dismiss(id: number): void;

  /** Puts `value` in place of `placeholder` in commands. */
  fillIn(placeholder: string, value: string): void;
  /** Computes the SHA-256 of the result. */
  digest(): void;
  /** Computes the SHA-256 of the disk of the open image. */
  digestDisk(): void;
  /** Copies a text, such as commands, for the person. */
  copy(text: string): void;
  /** Asks for the permission to notify the person at the end. */
  askToNotify(): void;
}
