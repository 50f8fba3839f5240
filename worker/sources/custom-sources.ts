// Custom sources and streams, and how coordinators read them. Imported only by `loadCustomSources`.

export { CustomLoan } from './custom-loan.js';
export { expects, networkOf, openCustomSource } from './custom-source.js';
export { openStream } from './open-stream.js';
export { openSequential, SequentialFile } from './sequential-file.js';
