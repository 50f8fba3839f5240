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

export const Output = () => <decant-converter output={({ name }) => ({ opfs: name })} />;

// @ts-expect-error: the sample is an address.
export const wrong = () => <decant-converter sample={1} />;

// @ts-expect-error: there is no such element.
export const unknown = () => <decant-convertor />;
