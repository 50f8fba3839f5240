// The HTTP request of each S3 action. Amazon S3 API Reference: CreateMultipartUpload, UploadPart, ListParts,
// CompleteMultipartUpload, AbortMultipartUpload, HeadObject.

import type { S3Request } from './s3-types.js';

export function methodAndQuery({ action, uploadId = '', partNumber, partNumberMarker }: S3Request): {
  method: string;
  query: string;
} {
  const upload = `uploadId=${encodeURIComponent(uploadId)}`;
  switch (action) {
    case 'create':
      return { method: 'POST', query: 'uploads=' };
    case 'part':
      return { method: 'PUT', query: `partNumber=${partNumber}&${upload}` };
    case 'list':
      return { method: 'GET', query: `part-number-marker=${partNumberMarker}&${upload}` };
    case 'complete':
      return { method: 'POST', query: upload };
    case 'abort':
      return { method: 'DELETE', query: upload };
    case 'head':
      return { method: 'HEAD', query: '' };
  }
}
