// Moves the focus with the steps, for keyboards and screen readers.

import type { AddressProblem, State } from './state.js';

/** The step and the question in it. When this key changes, the focus moves. */
function keyOf(state: State, address: AddressProblem | undefined): string {
  const refused = address && `address ${address.need} ${address.refusals}`;
  switch (state.step) {
    case 'ready': {
      const problem = state.nameProblem && `${state.nameProblem.id} ${state.nameRefusals}`;
      return [state.step, state.asking?.kind ?? problem].filter(Boolean).join(' ');
    }
    case 'needs':
      return [state.step, state.doubt ? 'doubt' : state.notice, refused].filter(Boolean).join(' ');
    case 'disks':
      return [state.step, state.notice].filter(Boolean).join(' ');
    default:
      return [state.step, refused].filter(Boolean).join(' ');
  }
}

/** Focusable elements: those up to the focused one, and those after it. */
interface Stops {
  before: HTMLElement[];
  after: HTMLElement[];
}

export class Focus {
  #key = 'empty';
  /** The focusable elements around the focus, as they were before an update. */
  #stops: Stops | undefined;

  /** Remembers the focusable elements before `root` is updated. */
  remember(root: ShadowRoot): void {
    const focused = root.activeElement;
    this.#stops = undefined;
    if (!focused) return;
    const all = [...root.querySelectorAll<HTMLElement>('button, input, select, summary, [tabindex]')];
    const at = all.indexOf(focused as HTMLElement);
    this.#stops = { before: all.slice(0, at + 1), after: all.slice(at + 1) };
  }

  /** After an update of `root`: moves the focus to a new step or question, or to a neighbour if the focused element is gone. */
  follow(root: ShadowRoot, state: State, address: AddressProblem | undefined): void {
    this.#move(root, keyOf(state, address));
    this.#keep(root);
  }

  #move(root: ShadowRoot, key: string): void {
    const before = this.#key;
    this.#key = key;
    if (key === before) return;
    if (before.startsWith(key)) {
      // A question was answered. If it had the focus, the focus returns to the button that led to the question.
      if (!root.activeElement) root.querySelector<HTMLElement>('[data-convert]')?.focus();
      return;
    }
    [...root.querySelectorAll<HTMLElement>('[data-focus]')].at(-1)?.focus();
  }

  #keep(root: ShadowRoot): void {
    const stops = this.#stops;
    this.#stops = undefined;
    if (!stops || root.activeElement || stops.before.at(-1)?.isConnected) return;
    const isThere = (stop: HTMLElement) => stop.isConnected && stop.offsetParent !== null && !stop.matches(':disabled');
    (stops.before.findLast(isThere) ?? stops.after.find(isThere))?.focus();
  }
}
