'use client';

import 'decant/element';
import { upload } from '../upload.js';

/** The mistake: rendered on the server, so that React drops the properties and events. */
export default function Page() {
  return <decant-converter output={upload} />;
}
