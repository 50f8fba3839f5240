import 'decant/element';
import { useState } from 'react';
import { upload } from '../upload.js';

/** Rendered in the browser only: React sets the properties, and hears the events. */
export default function Converter() {
  const [done, setDone] = useState(0);
  return (
    <>
      <decant-converter output={upload} ondecant-done={({ detail }) => setDone(detail.outputSize)} />
      <output>{done}</output>
    </>
  );
}
