// The step after a conversion: commands that bring the file to its place.

import { isObject } from '../calls/values.js';
import { DecantError } from '../errors/errors.js';
import { orUsageError } from '../errors/option-names.js';
import type { MadeDisk, NextStep } from '../public/types.places.js';
import { quotedForPowerShell, quotedForSh } from './shell.js';

/** What commands are made from. */
interface Words extends MadeDisk {
  /** The path of the file, quoted for the shell. */
  path: string;
  /** The path of the file, quoted, as a value in a list that commas separate. */
  listed: string;
  /** A name for a machine or an image, made from the name of the file: lower-case letters, digits and dashes. */
  name: string;
  /** A name for the file on a server. */
  object: string;
}

interface Step {
  shell?: NextStep['shell'];
  replace?: string[];
  commands(words: Words): string[];
}

const GIB = 2 ** 30;
const EXTENSION = /(?:\.tar\.gz|\.raw\.gz|\.[^.]*)$/i;
/** The extension of a format that is not named after it. */
const EXTENSIONS: Record<string, string> = { vpc: 'vhd' };
/** The names of formats in the interfaces of clouds. */
const FORMATS: Record<string, string> = { qcow2: 'QCOW2', raw: 'RAW', vmdk: 'VMDK', vpc: 'VHD' };

const STEPS: Record<string, Step> = {
  kvm: {
    commands: ({ name, listed }) => [
      `virt-install --name ${name} --memory 2048 --import --disk ${listed} --osinfo detect=on,require=off`,
    ],
  },
  proxmox: {
    replace: ['VMID', 'STORAGE'],
    commands: ({ path }) => [`qm importdisk VMID ${path} STORAGE`],
  },
  vmware: { commands: ({ path, name }) => [`vmkfstools -i ${path} -d thin ${name}-disk.vmdk`] },
  virtualbox: {
    replace: ['MACHINE'],
    commands({ path, name, format }) {
      const attach = 'VBoxManage storageattach MACHINE --storagectl SATA --port 0 --device 0 --type hdd --medium';
      if (format !== 'vmdk') return [`${attach} ${path}`];
      // VirtualBox does not write to a streamOptimized VMDK.
      return [`VBoxManage clonemedium disk ${path} ${name}.vdi --format VDI`, `${attach} ${name}.vdi`];
    },
  },
  azure: {
    replace: ['GROUP', 'SAS_URL'],
    commands: ({ path, name, size }) => [
      `az disk create --resource-group GROUP --name ${name} --upload-type Upload --upload-size-bytes ${size}`,
      `az disk grant-access --resource-group GROUP --name ${name} --access-level Write --duration-in-seconds 86400`,
      `azcopy copy ${path} 'SAS_URL' --blob-type PageBlob`,
      `az disk revoke-access --resource-group GROUP --name ${name}`,
    ],
  },
  aws: {
    replace: ['BUCKET'],
    commands({ path, object, format }) {
      const container = { Format: FORMATS[format], UserBucket: { S3Bucket: 'BUCKET', S3Key: object } };
      return [
        `aws s3 cp ${path} s3://BUCKET/${object}`,
        `aws ec2 import-image --disk-containers '${JSON.stringify([container])}'`,
      ];
    },
  },
  google: {
    replace: ['BUCKET'],
    commands: ({ path, name, object }) => [
      `gcloud storage cp ${path} gs://BUCKET/${object}`,
      `gcloud compute images create ${name} --source-uri gs://BUCKET/${object}`,
    ],
  },
  openstack: {
    commands: ({ path, name, format }) => [
      `openstack image create ${name} --disk-format ${format} --container-format bare --file ${path}`,
    ],
  },
  hyperv: {
    shell: 'powershell',
    commands: ({ path, name }) => [`New-VM -Name ${name} -Generation 1 -MemoryStartupBytes 2GB -VHDPath ${path}`],
  },
  kubevirt: {
    commands: ({ path, name, virtualSize }) => [
      `virtctl image-upload dv ${name} --size=${Math.ceil(virtualSize / GIB)}Gi --image-path=${path}`,
      '# or convert and upload at once, without virtctl: decant convert --method POST (docs/upload.md, KubeVirt)',
    ],
  },
  incus: {
    commands: ({ path, name }) => [
      'incus image generate-metadata metadata.tar.xz',
      `incus image import metadata.tar.xz ${path} --alias ${name}`,
      `incus launch ${name} ${name} --vm`,
    ],
  },
  digitalocean: {
    replace: ['REGION', 'HOST'],
    commands: ({ name, object }) => [
      `doctl compute image create ${name} --region REGION --image-url https://HOST/${object}`,
    ],
  },
  oracle: {
    replace: ['BUCKET', 'COMPARTMENT', 'NAMESPACE'],
    commands: ({ path, object, format }) => [
      `oci os object put --bucket-name BUCKET --name ${object} --file ${path}`,
      [
        'oci compute image import from-object --compartment-id COMPARTMENT --namespace NAMESPACE --bucket-name BUCKET',
        `--name ${object} --source-image-type ${FORMATS[format]}`,
      ].join(' '),
    ],
  },
  linode: {
    replace: ['REGION'],
    commands: ({ path, name }) => [`linode-cli image-upload --label ${name} --region REGION ${path}`],
  },
  vultr: {
    replace: ['HOST'],
    commands: ({ object }) => [`vultr-cli snapshot create-url --url https://HOST/${object}`],
  },
};

/**
 * Returns the commands that bring the converted disk `made` to `place`, the name of a place, in order. The file's name is quoted
 * for the shell, whatever it contains. Returns `undefined` for a place without commands, and for an unknown one. Throws `usage` if
 * an argument has the wrong type.
 */
export function nextStep(place: string, made: MadeDisk): NextStep | undefined {
  if (typeof place !== 'string') throw new DecantError('usage', 'The place must be a string');
  checkMade(made);
  if (!Object.hasOwn(STEPS, place)) return undefined;
  const { shell = 'sh', replace = [], commands } = STEPS[place]!;
  const quoted = shell === 'sh' ? quotedForSh : quotedForPowerShell;
  // No program takes it for an option.
  const path = made.file.startsWith('-') ? `./${made.file}` : made.file;
  const name = machineName(made.file);
  const object = `${name}.${EXTENSIONS[made.format] ?? made.format}`;
  const words = { ...made, path: quoted(path), listed: quoted(path.replaceAll(',', ',,')), name, object };
  return { shell, commands: commands(words), replace };
}

function checkMade(made: unknown): void {
  orUsageError('the converted disk', () => {
    const { file, format, size, virtualSize } = isObject(made) ? (made as Record<string, unknown>) : {};
    const [texts, sizes] = [
      [file, format],
      [size, virtualSize],
    ];
    if (texts.every((text) => typeof text === 'string') && sizes.every((size) => Number.isSafeInteger(size))) return;
    throw new DecantError(
      'usage',
      'nextStep takes a place, and { file, format, size, virtualSize } of the converted disk',
    );
  });
}

/** Returns a name that all places accept: at most 60 lower-case letters, digits and dashes, beginning with a letter. */
function machineName(file: string): string {
  const stem = file.slice(Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\')) + 1).replace(EXTENSION, '');
  const plain = stem
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^[^a-z]+|-+$/g, '');
  return plain.slice(0, 60).replace(/-+$/, '') || 'disk';
}
