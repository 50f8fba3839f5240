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

export const Events = () => (
  <decant-converter
    on:decant-info={({ detail: { format } }) => format.trim()}
    on:decant-progress={({ detail }) => detail.fraction?.toFixed()}
    on:decant-done={({ detail: { outputSize }, currentTarget }) => {
      currentTarget.compact = outputSize.toFixed() === '0';
    }}
    on:decant-error={({ detail: { kind, code } }) => `${kind} ${code}`}
    on:decant-place={({ detail }) => detail.trim()}
    on:decant-title={({ detail }) => detail?.trim()}
  />
);

export const Output = () => <decant-converter output={({ name }) => ({ opfs: name })} />;

// @ts-expect-error: the sample is an address.
export const wrong = () => <decant-converter sample={1} />;

// @ts-expect-error: there is no such element.
export const unknown = () => <decant-convertor />;

// @ts-expect-error: an error has no size.
export const wrongDetail = () => <decant-converter on:decant-error={({ detail }) => detail.outputSize} />;

// @ts-expect-error: a listener is a function.
export const wrongListener = () => <decant-converter on:decant-done="done" />;
