// The formats of the core's registries, in their order. `crate/tests/registries.rs` compares them.

export const INPUTS = ['qcow2', 'VDI', 'VMDK', 'QED', 'VHD', 'VHDX', 'LUKS', 'raw'];
export const OUTPUTS = ['raw', 'qcow2', 'VMDK', 'VHD', 'raw.gz', 'tar.gz'];
