// The step after a conversion: how the disk gets to its place.

import type { MadeDisk } from 'decant/places';
import { nextStep } from 'decant/places';
import { html, nothing, type TemplateResult } from 'lit';
import type { Session } from './session.js';
import type { Step } from './state.js';

/** Places where Windows finds its disk only with drivers of virtio. */
const VIRTIO = ['kvm', 'proxmox', 'openstack', 'kubevirt', 'incus', 'utm'];

/** Whether there are signs of a Windows on the disk. */
function hasWindows({ contents }: Step<'done'>): boolean {
  const parts = contents?.parts ?? [];
  const isSign = ({ type, fileSystem }: (typeof parts)[number]) =>
    type === 'Microsoft reserved' || fileSystem?.label === 'System Reserved';
  return parts.some(isSign) && parts.some(({ fileSystem }) => fileSystem?.name === 'NTFS');
}

export function nextView(state: Step<'done'>, session: Session): TemplateResult {
  const { texts } = session;
  const { result, place, contents } = state;
  const destination = state.destination!;
  const { outputSize: size, virtualSize } = result;
  const made: MadeDisk = { file: place.name, format: destination.output.name, size, virtualSize };
  const step = nextStep(destination.name, made);
  const windows = VIRTIO.includes(destination.name) && hasWindows(state);
  if (!step) return html``;
  const commands = step.commands.join('\n');
  return html`
    <section class="next more" aria-labelledby="next">
      <h3 id="next">${texts.nextStep(texts.placeLabel(destination), step.shell)}</h3>
      <pre part="command" tabindex="0" aria-labelledby="next">${commands}</pre>
      ${step.replace.length > 0 ? html`<p>${texts.replaceWords(step.replace)}</p>` : nothing}
      ${contents?.firmware ? html`<p>${texts.contents.firmware(contents.firmware)}</p>` : nothing}
      ${windows ? html`<p>${texts.virtio}</p>` : nothing}
      <div class="actions"><button part="button" @click=${() => session.copy(commands)}>${texts.copy}</button></div>
    </section>
  `;
}
