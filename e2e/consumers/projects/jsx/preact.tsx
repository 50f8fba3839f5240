import type { DecantConverterElement } from 'decant/element';
import 'decant/element';
import { createRef } from 'preact';

export function Converter() {
  const converter = createRef<DecantConverterElement>();
  return (
    <decant-converter ref={converter} class="wide" sample="./sample.qcow2" texts={{ convert: 'Import' }} wholeWindow>
      <h2 slot="header">Import a disk</h2>
    </decant-converter>
  );
}

export const Events = () => (
  <decant-converter
    ondecant-info={({ detail: { format } }) => format.trim()}
    ondecant-progress={({ detail }) => detail.fraction?.toFixed()}
    ondecant-done={({ detail: { outputSize }, currentTarget }) => {
      currentTarget.compact = outputSize.toFixed() === '0';
    }}
    ondecant-error={({ detail: { kind, code } }) => `${kind} ${code}`}
    ondecant-place={({ detail }) => detail.trim()}
    ondecant-title={({ detail }) => detail?.trim()}
  />
);

export const Output = () => <decant-converter output={({ name }) => ({ opfs: name })} />;

// @ts-expect-error: the sample is an address.
export const wrong = () => <decant-converter sample={1} />;

// @ts-expect-error: there is no such element.
export const unknown = () => <decant-convertor />;

// @ts-expect-error: an error has no size.
export const wrongDetail = () => <decant-converter ondecant-error={({ detail }) => detail.outputSize} />;

// @ts-expect-error: a listener is a function.
export const wrongListener = () => <decant-converter ondecant-done="done" />;
