//! Random disks through every output and back: its reader finds the same disk, and QEMU finds no fault.

use super::readers::is_qcow2;
use super::{OUTPUTS, Output};
use crate::common::random::Random;
use crate::common::*;
use decant::io::target::{Abilities, Holes};
use decant::output::{FormatOption, Options};

/// A disk of any number of sectors: stretches of zeros, of text and of noise, long and short.
fn disk(random: &mut Random) -> Vec<u8> {
    let most = random.below(6000) + 1;
    let mut disk = vec![0; (random.below(most) + 1) * 512];
    let mut at = 0;
    while at < disk.len() {
        let scale = random.below(18);
        let end = disk.len().min(at + 1 + random.below(1 << scale));
        match random.below(3) {
            0 => {}
            1 => disk[at..end].iter_mut().enumerate().for_each(|(at, byte)| *byte = (at / 7) as u8),
            _ => disk[at..end].fill_with(|| random.byte()),
        }
        at = end;
    }
    disk
}

/// Any values of the format's options; those of the entry keep theirs.
fn options(output: &Output, random: &mut Random) -> Vec<(String, String)> {
    let any = |option: &FormatOption| {
        let own = output.options.iter().find(|(name, _)| *name == option.name);
        let value = own.map_or_else(|| random.pick(option.values), |&(_, value)| value);
        (option.name.to_owned(), value.to_owned())
    };
    output.format().options.iter().map(any).collect()
}

fn target(random: &mut Random) -> Abilities {
    let holes = random.pick(&[Holes::Skip, Holes::Report, Holes::WriteZeros]);
    let late_start = random.pick(&[0, u64::MAX]);
    Abilities { ascending: random.below(2) == 0, holes, short_hole: 0, late_start }
}

#[test]
fn random_disks_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    let mut checked = 0;
    for seed in 0..by_scope(24, 400, 20_000) {
        let random = &mut Random::new(seed);
        let disk = disk(random);
        for (output, reader) in OUTPUTS.iter().filter_map(|output| Some((output, output.reader.as_ref()?))) {
            let given = options(output, random);
            let has = |name: &str, value: &str| given.contains(&(name.to_owned(), value.to_owned()));
            let is_old_qcow2 = has("compat", "0.10") && has("compression_type", "zstd");
            let is_old_machine = has("controller", "nvme") && (has("hwversion", "11") || has("hwversion", "12"));
            if is_old_qcow2 || is_old_machine {
                continue;
            }
            let (abilities, job) = (target(random), 1 << (12 + random.below(12)));
            let name = format!("seed {seed}, {} bytes, {} {given:?} {abilities:?} {job}", disk.len(), output.name);
            let case = Case { format: Some("raw".to_owned()), ..Case::new(disk.clone()) };
            let options = Options::new(output.format(), &given).unwrap();
            let converted = case.convert_with(output.format(), options, Answers::InOrder, abilities, job);
            converted.result.unwrap_or_else(|error| panic!("{name}: {error}"));
            let file = converted.target.bytes.take();
            if output.name == "qcow2" && seed % 8 == 0 {
                std::fs::write(&path, &file).unwrap();
                is_qcow2(&path, &disk);
                checked += 1;
            }
            let found = (reader.disk)(file);
            // Some outputs make the disk larger.
            let is_disk = found.starts_with(&disk) && found[disk.len()..].iter().all(|&byte| byte == 0);
            assert!(is_disk, "{name}: other bytes");
        }
    }
    assert!(checked > 10);
}
