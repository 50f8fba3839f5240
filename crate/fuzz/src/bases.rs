//! Small valid images of every kind, for changes.

use super::files::Files;
use super::parallels::{self, Block as ParallelsBlock, Parallels};
use super::qed;
use super::small::*;
use super::vdi::{self, Vdi};
use super::vhd::{Block as VhdBlock, DIFFERENCING, FIXED, Vhd};
use super::vhdx::{Block as VhdxBlock, Vhdx};
use decant::crypt::{BlockCipher, CipherKey, CipherSpec, Ciphers, IvGenerator, Keys, Mode};

pub const PASSWORD: &[u8] = b"password";

/// The number of images.
pub const BASES: u8 = 25;

fn alone(image: Vec<u8>) -> Files {
    Files { image: image.into(), companions: Vec::new(), password: None }
}

fn with(image: Vec<u8>, name: &str, companion: Vec<u8>) -> Files {
    Files { companions: vec![(name.to_owned(), companion)], ..alone(image) }
}

/// The image number `number`, modulo their number.
pub fn base(number: u8) -> Files {
    match number % BASES {
        0 => alone(small()),
        1 => alone(extended()),
        2 => alone(with_snapshot()),
        3 => with(overlay("base.raw", Some("raw")), "base.raw", vec![0x11; 8 * CLUSTER]),
        4 => with(overlay("base.qcow2", None), "base.qcow2", small()),
        5 => with(with_data_file("data.bin"), "data.bin", vec![0x22; 8 * CLUSTER]),
        6 => alone(deflated()),
        7 => alone(zstandard()),
        8 => Files { password: Some(PASSWORD.to_vec()), ..alone(changed(small(), &[(35, &[1])])) },
        9 => Files { password: Some(PASSWORD.to_vec()), ..alone(luks()) },
        10 => alone(version_2()),
        11 => with(over_compressed(), "base.qcow2", deflated()),
        12 => alone(Vdi { block_extra: 512, ..vdi_base() }.file()),
        13 => alone(Vdi { version: vdi::VERSION_0, ..vdi_base() }.file()),
        14 => with(over_vdi().file(), "base.vdi", vdi_base().file()),
        15 => alone(qed::small()),
        16 => alone(vhd_base().file()),
        17 => alone(Vhd { kind: FIXED, ..vhd_base() }.file()),
        18 => {
            let child = Vhd { kind: DIFFERENCING, id: 2, parent: 0xa1, parent_name: "base.vhd", ..vhd_base() };
            with(child.file(), "base.vhd", vhd_base().file())
        }
        19 => alone(vhdx_base().file()),
        20 => {
            let child = Vhdx { size: 16_384, ..Vhdx::over(0xa1, &[VhdxBlock::Part(4, 0x1e)]) };
            with(child.file(), "base.vhdx", vhdx_base().file())
        }
        21 => with(over_qed(), "base", qed::small()),
        22 => alone(parallels_base().file()),
        24 => with(parallels_bundle(), "base.hds", parallels_base().file()),
        _ => alone(Parallels { is_ext: false, states_start: false, ..parallels_base() }.file()),
    }
}

/// The description of a bundle of `parallels_base`.
fn parallels_bundle() -> Vec<u8> {
    let images = &[(parallels::TOP, "Compressed", "base.hds")];
    let bundle = parallels::Bundle { sectors: 17, storages: &[(0, 17, images)], top: None, shots: &[] };
    bundle.xml().into_bytes()
}

/// A disk that ends inside a block.
fn parallels_base() -> Parallels<'static> {
    use ParallelsBlock::{Absent, Data};
    const BLOCKS: &[ParallelsBlock] = &[Data(1), Absent, Data(2), Data(3), Absent, Data(4)];
    Parallels { sectors: 17, ..Parallels::new(3, BLOCKS) }
}

fn vhd_base() -> Vhd<'static> {
    const BLOCKS: &[VhdBlock] =
        &[VhdBlock::Data(1, 0xff), VhdBlock::Absent, VhdBlock::Data(2, 0xa5), VhdBlock::Data(3, 0)];
    Vhd::new(4096, BLOCKS)
}

/// A disk of a part of one block.
fn vhdx_base() -> Vhdx<'static> {
    Vhdx { size: 12_288, ..Vhdx::new(&[VhdxBlock::Data(3)]) }
}

/// `small` with its first two clusters compressed, one after the other in the same sector.
fn deflated() -> Vec<u8> {
    let text: Vec<u8> = (0..CLUSTER).map(|at| (at * at / 7) as u8 & 0x3f).collect();
    let first = miniz_oxide::deflate::compress_to_vec(&text, 9);
    let second = miniz_oxide::deflate::compress_to_vec(&[0xdd; CLUSTER], 9);
    let at = END + first.len();
    let sectors = |start: usize, len: usize| ((start % 512 + len).div_ceil(512) as u64 - 1) << 61;
    let mut image = changed(
        small(),
        &[
            (L2, &(COMPRESSED | END as u64 | sectors(END, first.len())).to_be_bytes()),
            (L2 + 8, &(COMPRESSED | at as u64 | sectors(at, second.len())).to_be_bytes()),
            (END, &first),
            (at, &second),
        ],
    );
    image.resize(image.len().next_multiple_of(512), 0);
    image
}

/// `small` with its first cluster compressed by zstd: one block of one byte, repeated.
fn zstandard() -> Vec<u8> {
    let block = (1 | 1 << 1 | (CLUSTER as u32) << 3).to_le_bytes();
    let frame = [&0xfd2f_b528u32.to_le_bytes()[..], &[0, 0], &block[..3], &[0x5a]].concat();
    let mut image = changed(
        small(),
        &[
            (79, &[8]),
            (100, &112u32.to_be_bytes()),
            (104, &[1]),
            (L2, &(COMPRESSED | END as u64).to_be_bytes()),
            (END, &frame),
        ],
    );
    image.resize(END + 512, 0);
    image
}

/// `small` encrypted with LUKS by AES with 128 bits, in one key slot of one stripe.
fn luks() -> Vec<u8> {
    const TYPE: u32 = 0x0537_be77;
    const KEY: usize = 16;
    let place = END.next_multiple_of(CLUSTER);
    let material = place + 1024;
    let derive = |password: &[u8], salt: [u8; 32], iterations: u32, key: &mut [u8]| {
        pbkdf2::pbkdf2_hmac::<sha2::Sha256>(password, &salt, iterations, key);
    };
    let mut derived = vec![0; KEY];
    derive(PASSWORD, [1; 32], 2, &mut derived);
    let (cipher, mode, iv) = (BlockCipher::Aes, Mode::Cbc, IvGenerator::Plain64);
    let spec = CipherSpec { cipher, mode, iv, sector: 512, iv_offset: 0 };
    let keys = Keys(vec![CipherKey(spec.with_key(&derived))]);
    // The content of the key slot is arbitrary: it decrypts to the master key.
    let mut master = [0; 512];
    Ciphers::default().decrypt(&keys, 0, 0, &[3; 512], &mut master).expect("the key fits the cipher");
    let mut digest = [0; 20];
    derive(&master[..KEY], [2; 32], 3, &mut digest);
    let slots: Vec<u8> = (0..8u32)
        .flat_map(|number| {
            let state: u32 = if number == 0 { 0x00ac_71f3 } else { 0x0000_dead };
            [&state.to_be_bytes()[..], &2u32.to_be_bytes(), &[1; 32], &2u32.to_be_bytes(), &1u32.to_be_bytes()].concat()
        })
        .collect();
    let len = 1536u64;
    changed(
        small(),
        &[
            (35, &[2]),
            (104, &extension(TYPE, &[(place as u64).to_be_bytes(), len.to_be_bytes()].concat())),
            (place, b"LUKS\xba\xbe\0\x01aes"),
            (place + 40, b"cbc-plain64"),
            (place + 72, b"sha256"),
            (place + 104, &4u32.to_be_bytes()),
            (place + 108, &(KEY as u32).to_be_bytes()),
            (place + 112, &digest),
            (place + 132, &[2; 32]),
            (place + 164, &3u32.to_be_bytes()),
            (place + 208, &slots),
            (material, &[3; 512]),
        ],
    )
}

/// `small` as version 2, whose header is shorter and has no features.
fn version_2() -> Vec<u8> {
    changed(small(), &[(4, &2u32.to_be_bytes()), (72, &[0; 32])])
}

/// An overlay with clusters half as large as those of its compressed backing file would be, so that
/// parts of clusters are read.
fn over_compressed() -> Vec<u8> {
    changed(overlay("base.qcow2", Some("qcow2")), &[(L2, &[0; 8])])
}

/// A disk that ends inside a block, with blocks of every kind.
fn vdi_base() -> Vdi<'static> {
    use vdi::Block::{Data, Free, Zero};
    let image = Vdi::new(4096, &[Data(1), Free, Zero, Data(2), Data(3), Free]);
    Vdi { size: image.size - 512, ..image }
}

/// The differences from `vdi_base`.
fn over_vdi() -> Vdi<'static> {
    use vdi::Block::{Data, Free, Zero};
    let base = vdi_base();
    let image = Vdi::new(2048, &[Data(4), Free, Free, Zero, Free, Free, Free, Free]);
    Vdi { kind: vdi::DIFFERENCING, id: 2, parent: base.id, parent_state: base.state, ..image }
}

/// `qed::small` over a backing file with the same content.
fn over_qed() -> Vec<u8> {
    let name = [100u32.to_le_bytes(), 4u32.to_le_bytes()].concat();
    changed(qed::small(), &[(16, &[1]), (56, &name), (100, b"base"), (qed::L2 + 8, &[0; 8])])
}
