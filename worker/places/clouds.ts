// Clouds: what each accepts, its documented limits, and the commands that bring the disks there.

import {
  busOf,
  DYNAMIC_VHD,
  FIXED_VHD,
  GIB,
  type KnownPlace,
  type Machine,
  nameInCloud,
  numbered,
  OVA,
  QCOW2,
  RAW,
  RAW_GZ,
  TAR_GZ,
  VDI,
  VHDX,
  VMDK,
} from './place.js';
import { comment, json, printing, sh, Word, word } from './words.js';

// A limit in "GB" is read as GiB, so that nothing is refused that may be accepted.

export const azure: KnownPlace = {
  name: 'azure',
  label: 'Azure',
  formats: [FIXED_VHD],
  verify: true,
  limits: [
    {
      of: 'file',
      min: 20_972_032,
      max: 35_183_298_347_520,
      source:
        'https://learn.microsoft.com/dotnet/api/azure.resourcemanager.compute.models.diskcreationdata.uploadsizebytes',
    },
  ],
  drivers: { name: 'Hyper-V', linux: 'https://learn.microsoft.com/azure/virtual-machines/linux/create-upload-generic' },
  next: {
    commands({ name, cpus, memory, firmware, system, disks }, own) {
      const group = own('GROUP');
      const generation = firmware ? ['--hyper-v-generation', firmware === 'efi' ? 'V2' : 'V1'] : [];
      const type = system ?? own('OS_TYPE');
      const [first, ...others] = disks.map(({ name: disk }) => disk);
      const data = others.length > 0 ? ['--attach-data-disks', ...others] : [];
      return [
        ...disks.flatMap(({ path, name: disk, outputSize }, at) => {
          const url = own(numbered('SAS_URL', at));
          const boots = at === 0 ? ['--os-type', type, ...generation] : [];
          return [
            sh`az disk create --resource-group ${group} --name ${disk} --upload-type Upload --upload-size-bytes ${outputSize} ${boots}`,
            printing(
              sh`az disk grant-access --resource-group ${group} --name ${disk} --access-level Write --duration-in-seconds 86400`,
              url,
            ),
            // A SAS URL has characters that mean something to a shell.
            sh`azcopy copy ${path} ${new Word(url.text, url.placeholders, true)} --blob-type PageBlob`,
            sh`az disk revoke-access --resource-group ${group} --name ${disk}`,
          ];
        }),
        ...(cpus || memory ? [comment(`${hardwareOf(cpus, memory)}: choose a SIZE that has as much`)] : []),
        sh`az vm create --resource-group ${group} --name ${name} --size ${own('SIZE')} --os-type ${type} --attach-os-disk ${first!} ${data}`,
      ];
    },
  },
};

/** The hardware, for a comment. */
const hardwareOf = (cpus: number | undefined, memory: number | undefined): string =>
  `The machine had ${[cpus && `${cpus} CPU${cpus === 1 ? '' : 's'}`, memory && `${memory} MiB of memory`].filter(Boolean).join(' and ')}`;

export const aws: KnownPlace = {
  name: 'aws',
  label: 'AWS',
  formats: [VMDK, OVA, VHDX, DYNAMIC_VHD, FIXED_VHD, RAW],
  verify: true,
  limits: [],
  next: {
    commands({ firmware, system, disks }, own) {
      const bucket = own('BUCKET');
      const containers = disks.map(({ format, object }) => ({
        Format: nameInCloud(format),
        UserBucket: { S3Bucket: bucket, S3Key: object },
      }));
      // An OVA is a machine.
      const imports = disks[0].format === OVA.name ? containers.map((container) => [container]) : [containers];
      const options = [
        ...(firmware ? ['--boot-mode', firmware === 'efi' ? 'uefi' : 'legacy-bios'] : []),
        ...(system ? ['--platform', system === 'windows' ? 'Windows' : 'Linux'] : []),
      ];
      return [
        ...disks.map(({ path, object }) => sh`aws s3 cp ${path} ${word`s3://${bucket}/${object}`}`),
        ...imports.map((containers) => sh`aws ec2 import-image ${options} --disk-containers ${json(containers)}`),
      ];
    },
  },
};

/** Options for a machine of at least as many CPUs and as much memory, if Google makes such machines. */
function customOnGoogle({ cpus, memory }: Machine): string[] {
  if (!cpus || !memory) return [];
  // Google takes one CPU, or an even number.
  const count = cpus === 1 ? 1 : cpus + (cpus % 2);
  const most = Math.floor(count * 6.5) * 1024;
  const least = count * 1024;
  const custom = Math.max(Math.ceil(memory / 256) * 256, least);
  return count > 96 || custom > most ? [] : ['--custom-cpu', String(count), '--custom-memory', `${custom}MB`];
}

export const google: KnownPlace = {
  name: 'google',
  label: 'Google Cloud',
  formats: [TAR_GZ],
  verify: true,
  limits: [],
  drivers: {
    name: 'virtio',
    windows: 'https://cloud.google.com/compute/docs/import/import-existing-image',
    linux: 'https://cloud.google.com/compute/docs/import/import-existing-image',
  },
  next: {
    commands(machine, own) {
      const { name, cpus, memory, firmware, system, disks } = machine;
      const [bucket, zone] = [own('BUCKET'), own('ZONE')];
      const features = [firmware === 'efi' ? 'UEFI_COMPATIBLE' : '', system === 'windows' ? 'WINDOWS' : ''];
      const needed = features.filter(Boolean);
      const [first, ...others] = disks;
      const data = others.map(({ name: disk }) => `--create-disk=image=${disk}`);
      const custom = customOnGoogle(machine);
      const isOwn = custom.length === 0 && (cpus || memory);
      const size = isOwn ? ['--machine-type', own('MACHINE_TYPE')] : custom;
      return [
        ...disks.flatMap((disk) => {
          const isFirst = disk === first && needed.length > 0;
          return [
            sh`gcloud storage cp ${disk.path} ${word`gs://${bucket}/${disk.object}`}`,
            sh`gcloud compute images create ${disk.name} --source-uri ${word`gs://${bucket}/${disk.object}`} ${isFirst ? [`--guest-os-features=${needed.join(',')}`] : []}`,
          ];
        }),
        ...(isOwn ? [comment(`${hardwareOf(cpus, memory)}: choose a MACHINE_TYPE that has as much`)] : []),
        sh`gcloud compute instances create ${name} --zone ${zone} --image ${first.name} ${[...size, ...data]}`,
      ];
    },
  },
};

export const openstack: KnownPlace = {
  name: 'openstack',
  label: 'OpenStack',
  formats: [QCOW2, RAW, VMDK],
  limits: [],
  drivers: {
    name: 'virtio',
    windows: 'https://docs.openstack.org/image-guide/create-images-manually.html',
    linux: 'https://libguestfs.org/virt-v2v.1.html',
  },
  next: {
    commands(machine, own) {
      const { name, cpus, memory, firmware, system, disks } = machine;
      const [first, ...others] = disks;
      const bus = busOf(machine, first);
      const properties = [
        ...(firmware === 'efi' ? ['hw_firmware_type=uefi', 'hw_machine_type=q35'] : []),
        ...(firmware === 'bios' ? ['hw_firmware_type=bios'] : []),
        ...(bus ? [`hw_disk_bus=${bus}`] : []),
        ...(system === 'windows' ? ['hw_vif_model=e1000'] : []),
        ...(system ? [`os_type=${system}`] : []),
      ];
      const propertiesOf = (at: number, format: string) =>
        [...(at === 0 ? properties : []), ...(format === VMDK.name ? ['vmware_disktype=streamOptimized'] : [])].flatMap(
          (property) => ['--property', property],
        );
      return [
        ...disks.map(
          ({ name: disk, format, path }, at) =>
            sh`openstack image create ${disk} --disk-format ${format} --container-format bare --file ${path} ${propertiesOf(at, format)}`,
        ),
        ...others.map(
          ({ name: disk, virtualSize }) =>
            sh`openstack volume create ${disk} --image ${disk} --size ${Math.ceil(virtualSize / GIB)}`,
        ),
        ...(cpus || memory ? [comment(`${hardwareOf(cpus, memory)}: choose a FLAVOR that has as much`)] : []),
        sh`openstack server create ${name} --image ${first.name} --flavor ${own('FLAVOR')} --network ${own('NETWORK')} --wait`,
        ...others.map(({ name: disk }) => sh`openstack server add volume ${name} ${disk}`),
      ];
    },
  },
};

export const digitalocean: KnownPlace = {
  name: 'digitalocean',
  label: 'DigitalOcean',
  formats: [QCOW2, VMDK, VHDX, VDI, RAW_GZ, RAW],
  limits: [
    {
      of: 'disk',
      max: 100 * GIB,
      source: 'https://docs.digitalocean.com/products/custom-images/details/limits/',
    },
  ],
  next: {
    commands: ({ disks }, own) =>
      disks.map(
        ({ name, object }) =>
          sh`doctl compute image create ${name} --region ${own('REGION')} --image-url ${word`https://${own('HOST')}/${object}`}`,
      ),
  },
};

export const oracle: KnownPlace = {
  name: 'oracle',
  label: 'Oracle Cloud',
  formats: [QCOW2, VMDK],
  limits: [
    {
      of: 'file',
      max: 400 * GIB,
      source: 'https://docs.oracle.com/iaas/Content/Compute/References/bringyourownimage.htm',
    },
  ],
  drivers: {
    name: 'virtio',
    windows: 'https://docs.oracle.com/iaas/Content/Compute/References/bringyourownimage.htm',
    linux: 'https://docs.oracle.com/iaas/Content/Compute/Tasks/importingcustomimagelinux.htm',
  },
  next: {
    commands: ({ disks }, own) =>
      disks.flatMap(({ path, object, format }) => {
        const bucket = own('BUCKET');
        return [
          sh`oci os object put --bucket-name ${bucket} --name ${object} --file ${path}`,
          sh`oci compute image import from-object --compartment-id ${own('COMPARTMENT')} --namespace ${own('NAMESPACE')} --bucket-name ${bucket} --name ${object} --source-image-type ${nameInCloud(format)}`,
        ];
      }),
  },
};

export const linode: KnownPlace = {
  name: 'linode',
  label: 'Linode (Akamai)',
  formats: [RAW_GZ],
  limits: [{ of: 'file', max: 5 * GIB, source: 'https://techdocs.akamai.com/linode-api/reference/post-upload-image' }],
  next: {
    commands: ({ disks }, own) =>
      disks.map(({ path, name }) => sh`linode-cli image-upload --label ${name} --region ${own('REGION')} ${path}`),
  },
};

export const vultr: KnownPlace = {
  name: 'vultr',
  label: 'Vultr',
  formats: [RAW],
  limits: [],
  next: {
    commands: ({ firmware, disks }, own) =>
      disks.map(
        ({ object }, at) =>
          sh`vultr-cli snapshot create-url --url ${word`https://${own('HOST')}/${object}`} ${firmware === 'efi' && at === 0 ? ['--uefi'] : []}`,
      ),
  },
};
