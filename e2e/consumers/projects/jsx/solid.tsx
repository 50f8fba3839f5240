import type { DecantConverterElement } from 'decant/element';
import 'decant/element';

export function Converter() {
  let converter!: DecantConverterElement;
  const element = (
    <decant-converter ref={converter} class="wide" sample="./sample.qcow2" texts={{ convert: 'Import' }} wholeWindow>
      <h2 slot="header">Import a disk</h2>
    </decant-converter>
  );
  converter.wholeWindow = true;
  return element;
}

export const Output = () => <decant-converter output={({ name }) => ({ opfs: name })} />;

// @ts-expect-error: the sample is an address.
export const wrong = () => <decant-converter sample={1} />;

// @ts-expect-error: there is no such element.
export const unknown = () => <decant-convertor />;
