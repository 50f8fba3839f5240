// The element: takes files and links, and shows the step that the session is in.

import type { DecantError } from 'decant';
import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from 'lit';
import { failedView } from './failures/failure.js';
import { remainsView } from './failures/interrupted.js';
import { filesOf, hasFiles, hasFilesOrLink, linkIn } from './files/dropped.js';
import { addressIn } from './files/input-file.js';
import { INPUTS, OUTPUTS } from './formats.js';
import { linkForm } from './opening/link-entry.js';
import { needsView } from './opening/needs-view.js';
import { costView, disksView, openingView, unlockingView, unpackingView } from './opening/opening-views.js';
import { Painter } from './picture/painter.js';
import { placeLane, showTip } from './picture/picture-view.js';
import { backgroundNews, backgroundView } from './queue/background-view.js';
import type { Item } from './queue/queue.js';
import { queueView } from './queue/queue-view.js';
import { convertingView, doneView, itemResultView, queueCommands } from './saving/conversion-views.js';
import { digestNews } from './saving/digest.js';
import { readyView } from './saving/ready-view.js';
import { Session } from './session/session.js';
import { announcement, windowTitle } from './steps/announcement.js';
import { bottle, button, fileButton, LEVELS, noticeView, spoken } from './steps/common-views.js';
import { Focus } from './steps/focus.js';
import { sceneOf } from './steps/frame.js';
import { fitHeading } from './steps/heading.js';
import { disksToAdd, type State, type Step } from './steps/state.js';
import { Announced, warningsOf } from './steps/warnings.js';
import { styles } from './styles.js';
import { english } from './texts/english/index.js';
import { textsIn } from './texts/languages.js';
import { languageOf } from './texts/replaced.js';
import type { DecantConverterElement, DecantConverterEvents } from './types.element.js';
import type { Texts } from './types.texts.js';
import { notify } from './ways/busy-tab.js';
import type { Host } from './ways/environment.js';
import { isUsable, outputProblem } from './ways/page-output.js';

const SAMPLE = 'sample.qcow2';
/** How long a new step takes to show, in milliseconds. */
const STEP_TIME = 200;

/** Calls `work` when the browser has time. Not all browsers say when. */
const whenIdle = (work: () => void): unknown => (globalThis.requestIdleCallback ?? setTimeout)(work);

/** The time of a frame, in milliseconds. */
const FRAME_TIME = 16;
/** The longest wait for a frame, in milliseconds. A hidden page gets no frames, but its title and notifications must change. */
const LONGEST_FRAME = 100;

/** Resolves before the next frame. */
const nextFrame = (): Promise<unknown> =>
  new Promise((resolve) => {
    requestAnimationFrame(resolve);
    setTimeout(resolve, LONGEST_FRAME);
  });

export class Converter extends LitElement implements DecantConverterElement, Host {
  static override styles = styles;
  static override properties = {
    sample: {},
    compact: { type: Boolean, reflect: true },
    wholeWindow: { type: Boolean, attribute: 'whole-window', reflect: true },
    output: { attribute: false },
    places: { attribute: false },
    texts: { attribute: false },
    dragging: { state: true },
    linking: { state: true },
  };

  static override get observedAttributes(): string[] {
    return [...Reflect.get(LitElement, 'observedAttributes', Converter), 'lang', 'output'];
  }

  declare sample: string | undefined;
  declare compact: boolean;
  declare wholeWindow: boolean;
  declare texts: Texts | undefined;
  declare output: DecantConverterElement['output'];
  declare places: DecantConverterElement['places'];
  declare streamedDownloads: DecantConverterElement['streamedDownloads'];
  private declare dragging: boolean;
  /** Whether the field for a link is open on the first screen. */
  private declare linking: boolean;
  /** The texts of the language, without the page's replacements. */
  #texts = english;
  #session = new Session(this, () => this.requestUpdate());
  readonly #announced = new Announced();
  readonly #focus = new Focus();
  readonly #painter = new Painter();
  /** When it was rendered last, by `performance.now()`. */
  #renderedAt = Number.NEGATIVE_INFINITY;
  /** The step that was shown last. */
  #step: State['step'] = 'empty';
  #title: string | undefined;
  /** The height below which the card does not go, in CSS pixels. */
  #leastHeight = 0;
  #width = 0;
  readonly #resized = new ResizeObserver(() => {
    if (this.#width !== this.clientWidth) this.#leastHeight = 0;
    this.#width = this.clientWidth;
    this.#holdHeight();
    fitHeading(this.renderRoot as ShadowRoot);
    this.#paintPicture();
  });
  #listening = new AbortController();
  /** Aborted when the element leaves the document; `undefined` outside of a document. */
  #connected: AbortController | undefined;
  /** When the current conversion began, in seconds. */
  #began: number | undefined;
  /** The notification about the end that is shown. */
  #notification: Notification | undefined;

  constructor() {
    super();
    this.compact = false;
    this.wholeWindow = false;
    this.dragging = false;
    this.linking = false;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#loadTexts();
    // `append` moves an element by removing and inserting it in one task.
    if (this.#connected) return;
    this.#connected = new AbortController();
    this.#listen(this.wholeWindow ? window : this);
    // The picture is painted in the size of the element and in colours of the scheme.
    const { signal } = this.#connected;
    this.#resized.observe(this);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.requestUpdate(), { signal });
  }

  /** Replaces `disconnectedCallback` and `connectedCallback` when `moveBefore` moves the element. */
  connectedMoveCallback(): void {
    this.#loadTexts();
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    queueMicrotask(() => {
      if (!this.isConnected) this.#leave();
    });
  }

  #leave(): void {
    this.#listening.abort();
    this.#resized.disconnect();
    this.#connected?.abort();
    this.#connected = undefined;
    this.#session.end();
  }

  override attributeChangedCallback(name: string, before: string | null, now: string | null): void {
    super.attributeChangedCallback(name, before, now);
    if (name === 'lang' && this.isConnected) this.#loadTexts();
    if (name === 'output') this.requestUpdate();
  }

  /** Renders the first change at once, and the next ones once a frame: opening and converting do not wait for each of them. */
  override async scheduleUpdate(): Promise<void> {
    if (performance.now() - this.#renderedAt < FRAME_TIME) await nextFrame();
    this.#renderedAt = performance.now();
    await super.scheduleUpdate();
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (this.shadowRoot) this.#focus.remember(this.shadowRoot);
    if (this.#session.state.step !== this.#step) this.linking = this.#session.links.isEdited;
    const isTyping = this.shadowRoot?.activeElement?.matches('[name=name], [name=address]') ?? false;
    const { state, queue, texts } = this.#session;
    this.#announced.take([
      ...warningsOf(state, this.#session, isTyping),
      ...digestNews(state, texts),
      ...this.#session.announcedNews,
      ...backgroundNews(queue, texts),
    ]);
    if (changed.has('output')) this.#session.changeOutput(changed.get('output'));
    if (changed.has('texts')) this.#session.useTexts(this.#texts, this.texts);
    if (changed.has('wholeWindow') && this.isConnected) this.#listen(this.wholeWindow ? window : this);
  }

  get outputProblem(): DecantError | undefined {
    return outputProblem(this);
  }

  /** Whether the page receives the disk, or means to. */
  get #isForPage(): boolean {
    return isUsable(this.output) || this.outputProblem !== undefined;
  }

  emit<K extends keyof DecantConverterEvents>(type: K, detail: DecantConverterEvents[K]['detail']): void {
    this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true }));
  }

  /** Listens for drops and pastes on `target`, and no longer on the previous target. */
  #listen(target: Window | HTMLElement): void {
    this.#listening.abort();
    this.#listening = new AbortController();
    const { signal } = this.#listening;
    for (const [type, listener] of this.#listeners)
      target.addEventListener(type, listener as EventListener, { signal });
  }

  /** Loads the texts of the element's language, then lists the remains of interrupted conversions. */
  #loadTexts(): void {
    textsIn(languageOf(this)).then((texts) => {
      this.#texts = texts;
      this.#session.useTexts(texts, this.texts);
      whenIdle(() => this.#session.recall());
    }, reportError);
  }

  override updated(): void {
    this.#announced.show(this.renderRoot.querySelector('#announced')!);
    fitHeading(this.renderRoot as ShadowRoot);
    this.#paintPicture();
    this.#holdHeight();
    this.#showStep();
    this.#notifyEnd();
    const { state, links } = this.#session;
    this.#focus.follow(this.renderRoot as ShadowRoot, state, links.problem);
    this.#reportTitle();
  }

  /** From a conversion to its result, the card becomes no lower: what is below it stays where it is. */
  #holdHeight(): void {
    const card = this.renderRoot.querySelector<HTMLElement>('.card');
    if (!card) return;
    const { state, isContinuing } = this.#session;
    const isAtWork = state.step === 'converting' || isContinuing;
    if (!isAtWork && state.step !== 'done' && state.step !== 'failed') this.#leastHeight = 0;
    card.style.minHeight = this.#leastHeight > 0 ? `${this.#leastHeight}px` : '';
    if (isAtWork) this.#leastHeight = card.offsetHeight;
  }

  /** Notifies the person when the last conversion has ended, or one needs an answer, until the person continues. */
  #notifyEnd(): void {
    const { state, texts } = this.#session;
    const now = performance.now() / 1000;
    if (state.step === 'converting') this.#began ??= now;
    const isAtWork = state.step === 'converting' || this.#session.isConvertingAll;
    if (isAtWork || state.step === 'empty' || state.step === 'opening') this.#notification?.close();
    if (!isAtWork && this.#began !== undefined) {
      const seconds = now - this.#began;
      this.#began = undefined;
      const { overall, queue } = this.#session;
      const title = windowTitle(state, texts, overall);
      const { done, all } = queue.results;
      const isStopped = all > 1 && !overall;
      const text = isStopped ? texts.allDone(done, all) : announcement(state, texts, undefined, overall);
      if (title !== undefined) this.#notification = notify(title, text, seconds);
    }
  }

  #paintPicture(): void {
    const figure = this.renderRoot.querySelector<HTMLElement>('.picture');
    if (!figure) return;
    const { picture } = sceneOf(this.#session.state, this.#session.texts);
    placeLane(figure, picture);
    this.#painter.paint(figure, picture);
  }

  /** Says what is under the pointer in the picture, if there is one. After a touch, the tip stays until the next one. */
  #pointAt = (event: PointerEvent) => {
    const figure = this.renderRoot.querySelector<HTMLElement>('.picture');
    const hasLeft = event.type === 'pointerout';
    if (!figure || (hasLeft && event.pointerType === 'touch')) return;
    const target = event.target as HTMLElement;
    const { state, texts } = this.#session;
    const isOver = !hasLeft && target.matches('canvas');
    this.#lookAt(hasLeft ? null : target.closest<HTMLElement>('.part'));
    const range = isOver ? this.#painter.rangeAt(event.offsetX, event.offsetY) : undefined;
    showTip(figure, sceneOf(state, texts), range, event.offsetX, event.offsetY, texts);
  };

  /** Makes all cells faint but those of a partition in the lane. */
  #lookAt(part: HTMLElement | null): void {
    const [start, length] = [Number(part?.dataset.offset), Number(part?.dataset.length)];
    const isSame = this.#painter.lookedAt?.[0] === (part ? start : undefined);
    if (isSame) return;
    this.#painter.lookedAt = part ? [start, start + length] : undefined;
    this.#paintPicture();
  }

  /** Fades in what is new in a step; the picture stays. From one image to the next, all stays. */
  #showStep(): void {
    const { step } = this.#session.state;
    if (step === this.#step) return;
    this.#step = step;
    // A conversion is less high than its choices: what comes into the window below it would move at its end.
    if (this.#session.isContinuing) return;
    if (this.wholeWindow && step === 'converting') this.scrollIntoView();
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    for (const part of this.renderRoot.querySelectorAll('.head, .below, .drop'))
      part.animate({ opacity: [0, 1] }, { duration: STEP_TIME, easing: 'ease-out' });
  }

  /** Reports a new title, which the page may show as the window's. */
  #reportTitle(): void {
    const { state, texts, overall } = this.#session;
    const title = windowTitle(state, texts, overall);
    if (title === this.#title) return;
    this.#title = title;
    this.emit('decant-title', title ?? null);
  }

  override render(): TemplateResult {
    const session = this.#session;
    const { state, news, texts } = session;
    const resultOf = (item: Item) => itemResultView(item, session.queue, state, session);
    return html`
      <div class="element">
        <div class="top">
          <slot name="header">
            <header class="more">
              <h1>${texts.title}</h1>
              <p>${texts.tagline} ${this.#isForPage || this.wholeWindow ? nothing : texts.nothingUploaded}</p>
            </header>
          </slot>
          ${this.wholeWindow ? this.#helpView() : nothing}
        </div>
        <section class=${this.#cardClass} part="card" @pointermove=${this.#pointAt} @pointerdown=${this.#pointAt} @pointerout=${this.#pointAt}>${this.#view(state)}</section>
        ${news ? html`<p class="news">${spoken(news)}</p>` : nothing}
        ${backgroundView(session.queue, session, resultOf)}
        ${session.queue.isShown ? queueView(session.queue, session, resultOf) : nothing}
        ${queueCommands(state, session)}
        ${state.step === 'empty' && !this.wholeWindow ? this.#helpView() : nothing}
        <p class="unseen" role="status" aria-live="polite">${spoken(announcement(state, texts, session.waiting, session.overall))}</p>
        <div class="unseen" id="announced" aria-live="polite"></div>
      </div>
      ${this.dragging && state.step !== 'empty' ? html`<div class="over" aria-hidden="true"><p>${this.#dropText(state)}</p></div>` : nothing}
    `;
  }

  #dropText(state: State): string {
    const { texts } = this.#session;
    if (this.#session.isBusy) return texts.dropToQueue;
    if (state.step === 'disks' && disksToAdd(state).length > 0) return texts.dropToAnswer(state.name);
    if (state.step === 'disks' || state.step === 'packed' || state.step === 'large') return texts.dropToQueue;
    if (state.step !== 'needs') return texts.dropToOpen;
    return this.#session.asksForFile ? texts.dropToAnswer(state.image.info.name ?? texts.image) : texts.dropToQueue;
  }

  #view(state: State): TemplateResult {
    const session = this.#session;
    switch (state.step) {
      case 'empty':
        return this.#dropZone(state);
      case 'opening':
        return openingView(state, session);
      case 'unlocking':
        return unlockingView(state, session);
      case 'needs':
        return needsView(state, session);
      case 'disks':
        return disksView(state, session);
      case 'packed':
      case 'large':
        return costView(state, session);
      case 'unpacking':
        return unpackingView(state, session);
      case 'ready':
        return readyView(state, session);
      case 'converting':
        return convertingView(state, session);
      case 'done':
        return doneView(state, session);
      case 'failed':
        return failedView(state, session);
    }
  }

  #dropZone({ notice, remains }: Step<'empty'>): TemplateResult {
    const { texts } = this.#session;
    const { outputProblem } = this;
    return html`
      <div class=${this.dragging ? 'drop dragging' : 'drop'} part="drop">
        ${bottle(this.dragging ? LEVELS.dragging : LEVELS.usual)}
        <h2 tabindex="-1" data-focus>${this.dragging ? texts.dropToOpen : texts.dropHere}</h2>
        <p class="more">${texts.fromTo}</p>
        ${fileButton(texts.choose, 'primary', true, this.#choose, (files) => this.#session.takePlain(files))}
        <div class="links more">
          <button class="link" part="button link" aria-expanded=${this.linking ? 'true' : 'false'} @click=${this.#toggleLink}>${texts.fromLink}</button>
          ${this.sample ? button(texts.trySample, this.#takeSample, 'link') : nothing}
        </div>
        ${this.linking ? linkForm(this.#session) : nothing}
        <details class="fold more"><summary>${texts.allFormats}</summary><p>${texts.takes(INPUTS)}<br />${texts.makes(OUTPUTS)}</p></details>
        ${notice ? noticeView(notice) : nothing}
        ${outputProblem ? noticeView(texts.failure(outputProblem)) : nothing}
        ${remains ? remainsView(remains, this.#session) : nothing}
      </div>
    `;
  }

  get #cardClass(): string {
    const { state, isContinuing, waiting } = this.#session;
    if (state.step === 'empty') return 'card first';
    const isShort = state.step === 'opening' && !isContinuing && !state.isSlow && !waiting;
    return isShort ? 'card opening' : 'card';
  }

  /** What protects the person's data: in each step on the page of Decant, and on the first screen elsewhere. */
  #helpView(): TemplateResult {
    const { texts } = this.#session;
    const [style, summary] = this.wholeWindow ? ['badge', texts.badge] : ['', texts.proof];
    const help = html`<details class=${`help quiet more ${style}`}><summary>${summary.split(' · ').map((text, at) => html`${at > 0 ? html`<i>·</i>` : nothing}<span>${text}</span>`)}</summary>${texts.checkUploads}</details>`;
    return html`<slot name="help">${this.#isForPage ? nothing : help}</slot>`;
  }

  #choose = (fallback: () => void) => {
    this.#session.prepare();
    this.#session.choose(fallback);
  };

  #toggleLink = async () => {
    this.linking = !this.linking;
    await this.updateComplete;
    this.renderRoot.querySelector<HTMLElement>('[name=address]')?.focus();
  };

  #takeSample = () =>
    this.#session.takeFrom(SAMPLE, async () => {
      const response = await fetch(new URL(this.sample!, document.baseURI));
      if (!response.ok) throw new Error(response.statusText);
      return [{ file: new File([await response.blob()], SAMPLE) }];
    });

  /** Takes pasted files and links, except those that are pasted into a text field. */
  #paste = (event: ClipboardEvent) => {
    const [target] = event.composedPath();
    const writing = target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea'));
    const files = [...(event.clipboardData?.files ?? [])];
    const text = event.clipboardData?.getData('text/plain') ?? '';
    const isAddress = addressIn(text) !== undefined;
    if (event.defaultPrevented || writing || (files.length === 0 && !isAddress)) return;
    event.preventDefault();
    if (files.length > 0) this.#session.takePlain(files);
    else this.#session.links.take(text);
  };

  #dragOver = (event: DragEvent) => {
    if (!hasFilesOrLink(event)) return;
    event.preventDefault();
    if (!this.dragging && this.#session.state.step === 'empty') this.#session.prepare();
    this.dragging = true;
  };

  #dragLeave = ({ relatedTarget: now }: DragEvent) => {
    // Without a related target, the pointer has left the window.
    if (now === null || (!this.wholeWindow && !this.contains(now as Node))) this.dragging = false;
  };

  #drop = (event: DragEvent) => {
    if (!hasFilesOrLink(event)) return;
    event.preventDefault();
    this.dragging = false;
    if (!hasFiles(event)) {
      this.#session.links.take(linkIn(event.dataTransfer));
      return;
    }
    // Asked for now, because the dropped items are gone after the event.
    const files = filesOf(event.dataTransfer);
    // The session reports a failure when it awaits `files`. Until then the rejection counts as handled.
    files.catch(() => {});
    this.#session.takeFrom(this.#session.texts.dropped, () => files);
  };

  readonly #listeners = [
    ['paste', this.#paste],
    ['dragover', this.#dragOver],
    ['dragleave', this.#dragLeave],
    ['drop', this.#drop],
  ] as const;
}
