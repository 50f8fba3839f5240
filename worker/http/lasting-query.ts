// The part of a query that may identify a file: all but signatures, which change with each signing.

interface Signature {
  /** The parameters that every such signature has; each alone may belong to the file. */
  marks: string[];
  /** Parameters that it may also have. */
  others?: string[];
}

/** Of SAS, by service or account. Azure Storage, "Create a service SAS", "account SAS", "user delegation SAS". */
const SAS =
  'sp st se si spr sip sdd ses skoid sktid skt ske sks skv skdutid saoid suoid sduoid scid rscc rscd rsce rscl rsct'.split(
    ' ',
  );

/** In lower case. */
const SIGNATURES: Signature[] = [
  // Amazon S3, versions 4 and 2; the latter also of Alibaba and Huawei.
  {
    marks: ['x-amz-signature'],
    others: ['algorithm', 'credential', 'date', 'expires', 'signedheaders', 'security-token', 'region-set'].map(
      (name) => `x-amz-${name}`,
    ),
  },
  { marks: ['awsaccesskeyid', 'expires', 'signature'], others: ['x-amz-security-token'] },
  { marks: ['ossaccesskeyid', 'expires', 'signature'], others: ['security-token'] },
  { marks: ['accesskeyid', 'expires', 'signature'], others: ['x-obs-security-token'] },
  // Amazon CloudFront, with a custom and a canned policy.
  { marks: ['key-pair-id', 'policy', 'signature'] },
  { marks: ['key-pair-id', 'expires', 'signature'] },
  // Google Cloud Storage, versions 4 and 2.
  {
    marks: ['x-goog-signature'],
    others: ['algorithm', 'credential', 'date', 'expires', 'signedheaders'].map((name) => `x-goog-${name}`),
  },
  { marks: ['googleaccessid', 'expires', 'signature'] },
  // Azure, of a service and of an account.
  { marks: ['sig', 'sr', 'sv'], others: SAS },
  { marks: ['sig', 'srt', 'ss', 'sv'], others: SAS },
];

/** Returns the names and values of the query of `url` without complete signatures. */
export function lastingQuery({ searchParams }: URL): [string, string][] {
  const names = new Set([...searchParams.keys()].map((name) => name.toLowerCase()));
  const signed = SIGNATURES.filter(({ marks }) => marks.every((name) => names.has(name)));
  const dropped = new Set(signed.flatMap(({ marks, others = [] }) => [...marks, ...others]));
  return [...searchParams].filter(([name]) => !dropped.has(name.toLowerCase()));
}
