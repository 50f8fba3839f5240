// Generated from the registries of the core by `npm run registries`: do not edit.

/** The value of an option that is on or off. */
export type SwitchValue = boolean | 'on' | 'off';

/** The value of an option that is a number. */
export type NumberValue = number | `${number}`;

/** The value of an option that is a size: a number, in bytes unless the option says otherwise, or with a unit: `64k`. */
export type SizeValue = NumberValue | `${number}${'k' | 'K' | 'M' | 'G' | 'T'}`;

/** The options of each output format. A call with another value fails with `usage`. */
export interface OptionsByFormat {
  /** The options of `raw`. */
  raw: {
    /** Only `off`. */
    preallocation?: SwitchValue | undefined;
    /** Only `off`. */
    nocow?: SwitchValue | undefined;
    /** Only `0`. */
    extent_size_hint?: NumberValue | undefined;
  };
  /** The options of `qcow2`. */
  qcow2: {
    /** By default `off`. */
    compress?: SwitchValue | undefined;
    /** By default `64k`; else `512`, `1k`, `2k`, `4k`, `8k`, `16k`, `32k`, `128k`, `256k`, `512k`, `1M`, `2M`. */
    cluster_size?: SizeValue | undefined;
    /** By default `zlib`. */
    compression_type?: 'zlib' | 'zstd' | undefined;
    /** By default `1.1`. */
    compat?: '1.1' | '0.10' | undefined;
    /** Only `off`. */
    preallocation?: SwitchValue | undefined;
    /** Only `off`. */
    nocow?: SwitchValue | undefined;
    /** Only `0`. */
    extent_size_hint?: NumberValue | undefined;
    /** Only `off`. */
    data_file_raw?: SwitchValue | undefined;
    /** Only `off`. */
    encryption?: SwitchValue | undefined;
    /** Only `off`. */
    extended_l2?: SwitchValue | undefined;
    /** Only `off`. */
    lazy_refcounts?: SwitchValue | undefined;
    /** Only `16`. */
    refcount_bits?: NumberValue | undefined;
  };
  /** The options of `vmdk`. */
  vmdk: {
    /** Only `streamOptimized`. */
    subformat?: 'streamOptimized' | undefined;
    /** By default `lsilogic`. */
    adapter_type?: 'lsilogic' | 'buslogic' | 'ide' | 'legacyESX' | undefined;
    /** By default `4`; else `6`, `7`, `8`, `9`, `10`, `11`, `12`, `13`, `14`, `15`, `16`, `17`, `18`, `19`, `20`, `21`. */
    hwversion?: NumberValue | undefined;
    /** Only `off`. */
    preallocation?: SwitchValue | undefined;
    /** Only `off`. */
    nocow?: SwitchValue | undefined;
    /** Only `0`. */
    extent_size_hint?: NumberValue | undefined;
    /** Only `off`. */
    compat6?: SwitchValue | undefined;
    /** Only `off`. */
    zeroed_grain?: SwitchValue | undefined;
    /** Only `2147483647`. */
    toolsversion?: NumberValue | undefined;
  };
  /** The options of `vpc`. */
  vpc: {
    /** By default `fixed`. */
    subformat?: 'fixed' | 'dynamic' | undefined;
    /** Only `on`. */
    force_size?: SwitchValue | undefined;
    /** Only `off`. */
    preallocation?: SwitchValue | undefined;
    /** Only `off`. */
    nocow?: SwitchValue | undefined;
    /** Only `0`. */
    extent_size_hint?: NumberValue | undefined;
  };
  /** The options of `vhdx`. */
  vhdx: {
    /** By default `dynamic`. */
    subformat?: 'dynamic' | 'fixed' | undefined;
    /** By default `0`; else `1M`, `2M`, `4M`, `8M`, `16M`, `32M`, `64M`, `128M`, `256M`. */
    block_size?: SizeValue | undefined;
    /** By default `random`; else a UUID, such as 8d5c4f0e-7a35-4b0c-9d2e-1f6a7b8c9d0e. */
    uuid?: 'random' | (string & {}) | undefined;
    /** Only `off`. */
    preallocation?: SwitchValue | undefined;
    /** Only `off`. */
    nocow?: SwitchValue | undefined;
    /** Only `0`. */
    extent_size_hint?: NumberValue | undefined;
    /** Only `off`. */
    block_state_zero?: SwitchValue | undefined;
    /** Only `1M` or `0`. */
    log_size?: SizeValue | undefined;
  };
  /** The options of `vdi`. */
  vdi: {
    /** By default `off`. */
    static?: SwitchValue | undefined;
    /** By default `random`; else a UUID, such as 8d5c4f0e-7a35-4b0c-9d2e-1f6a7b8c9d0e. */
    uuid?: 'random' | (string & {}) | undefined;
    /** Only `off`. */
    preallocation?: SwitchValue | undefined;
    /** Only `off`. */
    nocow?: SwitchValue | undefined;
    /** Only `0`. */
    extent_size_hint?: NumberValue | undefined;
  };
  /** The options of `raw.gz`. */
  'raw.gz': Record<string, never>;
  /** The options of `raw.zst`. */
  'raw.zst': Record<string, never>;
  /** The options of `raw.xz`. */
  'raw.xz': Record<string, never>;
  /** The options of `tar.gz`. */
  'tar.gz': Record<string, never>;
  /** The options of `ova`. */
  ova: {
    /** By default `2`; else a number from 1 to 65534. */
    cpus?: NumberValue | undefined;
    /** By default `2048M`; else a number of MiB, or with a unit: 4G. */
    memory?: SizeValue | undefined;
    /** By default `bios`. */
    firmware?: 'bios' | 'efi' | undefined;
    /** By default `linux`; else an ID of VMware, such as debian11_64Guest. */
    os?:
      | 'linux'
      | 'ubuntu'
      | 'debian'
      | 'centos'
      | 'rhel'
      | 'sles'
      | 'freebsd'
      | 'windows2022'
      | 'windows2019'
      | 'windows2016'
      | 'windows2012'
      | 'windows2008r2'
      | 'windows11'
      | 'windows10'
      | 'windows8'
      | 'windows7'
      | 'other'
      | (string & {})
      | undefined;
    /** By default `auto`. */
    controller?: 'auto' | 'lsilogic' | 'lsilogicsas' | 'pvscsi' | 'buslogic' | 'sata' | 'nvme' | 'ide' | undefined;
    /** By default `E1000`; else several adapters, joined by +. */
    network?: 'E1000' | 'E1000e' | 'VMXNET3' | 'PCNet32' | 'none' | (string & {}) | undefined;
    /** By default `13`; else `11`, `12`, `14`, `15`. */
    hwversion?: NumberValue | undefined;
    /** By default `disk`; else a name. */
    name?: 'disk' | (string & {}) | undefined;
    /** By default `random`; else a UUID, such as 8d5c4f0e-7a35-4b0c-9d2e-1f6a7b8c9d0e. */
    uuid?: 'random' | (string & {}) | undefined;
  };
}
