// The frame of all steps after the first: the heading, the picture of the disk, and the content of the step below them.

import { shownText } from 'decant';
import { html, nothing, type TemplateResult } from 'lit';
import { pictureView, type Scene } from '../picture/picture-view.js';
import type { AllTexts } from '../types.texts.js';
import { knownShare, workTitle } from './announcement.js';
import type { State } from './state.js';

/** The picture in a step. */
export function sceneOf(state: State, texts: AllTexts): Scene {
  switch (state.step) {
    case 'opening':
      return { work: texts.opening(state.name), share: state.share };
    case 'unlocking':
      return { work: texts.unlocking(state.name), share: state.share };
    case 'unpacking':
      return { work: texts.unpacking(state.name), share: state.share };
    case 'ready':
      return state.survey;
    case 'converting':
      return {
        picture: state.picture,
        contents: state.contents,
        work: workTitle(state, texts),
        share: knownShare(state),
      };
    case 'done':
      return { picture: state.picture, contents: state.contents, share: 1 };
    default:
      return {};
  }
}

/** The heading, which takes the focus. `by` is the ID of what describes it. */
export interface Head {
  icon?: TemplateResult;
  /** Comes before the text, for screen readers. */
  before?: string;
  text: string;
  /** The name of a file in the text, which is cut if the text is too long for its place. */
  name?: string | undefined;
  by?: string | undefined;
}

/**
 * The template is the same in each step, so that the picture stays while the rest changes. The text of the heading is shown after it is
 * rendered.
 */
export const frame = (
  state: State,
  texts: AllTexts,
  { icon, before, text, name, by }: Head,
  body: TemplateResult,
): TemplateResult => html`
  <div class="head"><h2 tabindex="-1" data-focus aria-describedby=${by ?? nothing}>${icon}${before ? html`<span class="unseen">${before}</span>` : nothing}<span data-heading=${text} data-name=${name === undefined ? '' : shownText(name)}></span></h2></div>
  ${pictureView(sceneOf(state, texts), texts)}
  <div class="below">${body}</div>
`;
