'use client';

import 'decant/element';
import { useEffect, useRef, useState } from 'react';
import { upload } from '../upload.js';

/** Rendered on the server: a ref gives the element its properties and events. */
export default function Page() {
  const converter = useRef(null);
  const [done, setDone] = useState(0);
  useEffect(() => {
    const element = converter.current;
    const count = ({ detail }) => setDone(detail.outputSize);
    element.output = upload;
    element.addEventListener('decant-done', count);
    return () => element.removeEventListener('decant-done', count);
  }, []);
  return (
    <>
      <decant-converter ref={converter} />
      <output>{done}</output>
    </>
  );
}
