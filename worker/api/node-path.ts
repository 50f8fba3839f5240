// Paths in Node, and advice for URLs that were passed as paths.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { DecantError } from '../errors/errors.js';
import { isAddress, shownAddress } from '../errors/secrets.js';

const COPY = 'copy the file here first';
const S3 =
  'for an S3 object, use its https URL: presigned to read it (aws s3 presign), or with --upload s3 to write it';
const GOOGLE =
  'for an object in Google Cloud Storage, use its https URL: signed to read it (gcloud storage sign-url), or that of an upload with --upload gcs to write it';
const AZURE = 'for an Azure blob, use its https URL with a SAS token, and --upload azure to write it';
const NBD = 'for a network block device, pipe its content: nbdcopy ADDRESS - | decant convert -f raw - OUTPUT';
const SSH = `for a file on another machine, pipe its content: ssh HOST cat FILE | decant convert -f raw - OUTPUT, or ${COPY}`;
const FTP = `FTP is not supported: ${COPY} (curl -O), or use an https URL`;
const RBD = 'for a Ceph image, pipe its content: rbd export IMAGE - | decant convert -f raw - OUTPUT';
const SHARE = 'mount the share and use the path of the file';
const ISCSI = 'attach the disk and pipe its content to standard input';
const OPTIONS = "QEMU's options are not supported: use the path of the file itself";

/** Advice by the scheme of a URL. */
const ADVICE: Record<string, string> = {
  ...Object.fromEntries(['s3', 's3a', 's3n'].map((scheme) => [scheme, S3])),
  ...Object.fromEntries(['gs', 'gcs'].map((scheme) => [scheme, GOOGLE])),
  ...Object.fromEntries(['az', 'azure', 'abfs', 'abfss', 'wasb', 'wasbs'].map((scheme) => [scheme, AZURE])),
  ...Object.fromEntries(['nbd', 'nbds', 'nbd+unix', 'nbds+unix', 'nbd+tcp'].map((scheme) => [scheme, NBD])),
  ...Object.fromEntries(['ssh', 'sftp', 'scp'].map((scheme) => [scheme, SSH])),
  ...Object.fromEntries(['ftp', 'ftps'].map((scheme) => [scheme, FTP])),
  ...Object.fromEntries(['nfs', 'smb', 'cifs', 'gluster'].map((scheme) => [scheme, SHARE])),
  ...Object.fromEntries(['iscsi', 'iser'].map((scheme) => [scheme, ISCSI])),
  rbd: RBD,
  json: OPTIONS,
};
/** Schemes that are recognised without slashes too. */
const WITHOUT_SLASHES = ['s3', 'gs', 'nbd', 'ssh', 'ftp', 'rbd', 'json'];

/** The path of a `file:` URL; without two slashes, `file:PATH` as QEMU reads it. Other strings are returned unchanged. */
export function localPath(given: string): string {
  if (!/^file:/i.test(given)) return given;
  return /^file:\/\//i.test(given) ? pathOf(given) : given.slice('file:'.length);
}

/** The path for `given`. Throws `usage` if it cannot be a path. */
export function toPath(given: string | URL): string {
  if (given instanceof URL && given.protocol !== 'file:') throw noPath(given.href);
  const path = given instanceof URL ? pathOf(given) : localPath(given);
  if (typeof given === 'string' && path === given && isForeign(given)) throw noPath(given);
  // Node would encode a lone surrogate as U+FFFD: the name of another file.
  if (/[\0\p{Surrogate}]/u.test(path)) throw new DecantError('usage', `'${path}' is not a valid file name`);
  return path;
}

function pathOf(url: string | URL): string {
  try {
    return fileURLToPath(url);
  } catch (cause) {
    throw new DecantError('usage', `'${url}' is not a valid path here`, { cause });
  }
}

const schemeOf = (text: string): string => /^[a-z][a-z0-9+.-]*(?=:)/i.exec(text)?.[0].toLowerCase() ?? '';

function isForeign(given: string): boolean {
  if (isAddress(given)) return true;
  return WITHOUT_SLASHES.includes(schemeOf(given)) && !existsSync(given);
}

function noPath(given: string): DecantError {
  const scheme = schemeOf(given);
  // The rest may be a secret.
  const shown = isAddress(given) ? shownAddress(given) : `${scheme}:...`;
  const advice = ADVICE[scheme] ?? 'use a URL that begins with http:// or https://';
  const message = `'${shown}' is neither a path nor a supported URL: ${advice}; for a file of this name, write ./ before it`;
  return new DecantError('usage', message, { code: 'address-unsupported', fields: { scheme } });
}
