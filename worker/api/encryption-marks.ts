// The marks of encrypted disks and machines in configurations:
//
// | hypervisor | mark |
// |---|---|
// | VMware | `encryption.keySafe` in a `.vmx`: if it names no disks, they are in its encrypted part. A disk is marked in its own file |
// | VirtualBox | a `HardDisk` with a property `CRYPT/KeyId` or `CRYPT/KeyStore`, and all `HardDisk`s in it, its children; `MachineEncrypted` |
// | OVF (DSP0243) | a `File` to whose `id` or `href` a `CipherReference` or a `DataReference` refers; `EncryptedData` in the descriptor |
//
// crate/src/open/encryption_marks.rs has those of disks for archives.

import { DecantError, type Fields } from '../errors/errors.js';

/** The hypervisor, or the package, that has encrypted a disk, by the format of the configuration. */
const BY = { ovf: 'OVF', vbox: 'VirtualBox', vmx: 'VMware' };

/** The error for a disk, or a whole machine, that is encrypted by its configuration in `format`. */
export function encryptedError(what: string, format: keyof typeof BY, fields: Fields = {}): DecantError {
  const by = BY[format];
  const message = `${what} uses ${by}'s encryption, which Decant does not read yet; decrypt the disk there first`;
  return new DecantError('unsupported', message, { code: 'encrypted', fields: { ...fields, by } });
}

/** The key of an encrypted `.vmx`. */
export const VMX_KEY = 'encryption.keysafe';

/** The element of a `.vbox` whose machine is encrypted as a whole. */
export const ENCRYPTED_MACHINE = 'MachineEncrypted';

/** Whether a `Property` of a `HardDisk` in a `.vbox` says that the disk is encrypted. */
export const isEncryptionKey = (name: string | undefined, value: string | undefined): boolean =>
  (name === 'CRYPT/KeyId' || name === 'CRYPT/KeyStore') && value !== undefined && value !== '';

/** The elements of an OVF descriptor that refer to encrypted files, and the one that has an encrypted part of the descriptor. */
export const ENCRYPTED_FILES = ['CipherReference', 'DataReference'];
export const ENCRYPTED_PART = 'EncryptedData';
