// The page's code for streamed downloads, as one module.

export * from '../../web/download/streamed.js';
export * from '../../web/download/streaming-worker.js';
