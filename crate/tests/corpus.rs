//! Runs the inputs of the fuzzing corpus, and checks that the images that the fuzzer changes are valid.

use crate::fuzz;
use crate::random::Random;
use crate::scope::by_scope;
use std::path::Path;

fn inputs(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let files = std::fs::read_dir(folder).expect("the corpus is part of the repository");
    let read = |file: std::io::Result<std::fs::DirEntry>| {
        let file = file.unwrap();
        (file.file_name().into_string().unwrap(), std::fs::read(file.path()).unwrap())
    };
    files.map(read).collect()
}

/// Runs all inputs of `target`. Returns the number of opened inputs, and of those with clusters that were read.
fn replay(target: &str, run: fn(&[u8]) -> fuzz::examine::Seen) -> (usize, usize) {
    let (mut opened, mut read) = (0, 0);
    for (name, input) in inputs(target) {
        println!("{target}/{name}");
        let seen = run(&input);
        opened += usize::from(seen.opened);
        read += usize::from(seen.read);
    }
    (opened, read)
}

#[test]
fn the_valid_images_are_valid() {
    let mut compared = Vec::new();
    for number in 0..fuzz::bases::BASES {
        let seen = fuzz::changed_image(&[number]);
        assert!(seen.opened && seen.read && seen.converted, "{number}: {seen:?}");
        compared.extend(seen.compared.then_some(number));
    }
    // The formats that the second readers know.
    assert_eq!(compared, [0, 1, 2, 6, 10, 12, 13, 15, 16, 17, 19, 22, 23]);
}

#[test]
fn the_valid_vmdks_are_valid() {
    for number in 0..fuzz::vmdk_bases::BASES {
        let seen = fuzz::changed_vmdk(&[number]);
        assert!(seen.opened && seen.read && seen.converted, "{number}: {seen:?}");
        // The second reader knows no parents.
        assert!(seen.compared || number == 8, "{number}: {seen:?}");
    }
}

#[test]
fn the_valid_containers_are_valid() {
    for number in 0..fuzz::containers::BASES {
        let seen = fuzz::containers::container(&[number, 0]);
        // The second reader knows raw disks, and no headers that describe others.
        assert!(seen.converted && seen.compared != [1, 7, 9, 10, 11, 12, 13].contains(&number), "{number}: {seen:?}");
    }
}

/// Random changes to containers: the second reader must return the same bytes.
#[test]
fn changed_containers() {
    random_inputs(fuzz::containers::container);
}

#[test]
fn kept_containers() {
    let (opened, read) = replay("containers", fuzz::containers::container);
    assert!(read > 0 && opened < inputs("containers").len());
}

/// Random changes to VMDKs: the second reader must return the same bytes.
#[test]
fn changed_vmdks() {
    random_inputs(fuzz::changed_vmdk);
}

/// Zip archives, LUKS volumes and VHDX images: the second readers know all of them.
#[test]
fn the_other_valid_files_are_valid() {
    for number in 0..fuzz::zips::BASES {
        let seen = fuzz::zips::zip(&[number, 0]);
        // One has a qcow2 image.
        assert!(seen.converted && seen.compared == (number != 7), "zip {number}: {seen:?}");
    }
    for number in 0..fuzz::luks::BASES {
        let seen = fuzz::luks::luks(&[number, 0]);
        assert!(seen.converted && seen.compared, "LUKS {number}: {seen:?}");
    }
    for number in 0..fuzz::vhdx_images::BASES {
        let seen = fuzz::vhdx_images::vhdx(&[number, 0]);
        assert!(seen.converted && seen.compared, "VHDX {number}: {seen:?}");
    }
}

#[test]
fn changed_zips() {
    random_inputs(fuzz::zips::zip);
}

/// Zip archives that are cut off anywhere are refused.
#[test]
fn cut_zips() {
    for number in 0..fuzz::zips::BASES {
        let file = fuzz::zips::base(number);
        for len in 0..file.len() {
            let seen = fuzz::containers::examine(file[..len].to_vec());
            assert!(!seen.converted, "{number}, {len} bytes");
        }
    }
}

#[test]
fn changed_luks_volumes() {
    random_inputs(fuzz::luks::luks);
}

#[test]
fn changed_vhdx_images() {
    random_inputs(fuzz::vhdx_images::vhdx);
}

/// Runs random inputs with one to three changes; see `random_inputs_of`. Some must be refused, and a tenth compared.
fn random_inputs(run: fn(&[u8]) -> fuzz::examine::Seen) {
    // Words of 32 bits are slower: the million runs natively.
    let rounds = by_scope(1_000, 3_000, if cfg!(target_pointer_width = "32") { 200_000 } else { 1_000_000 });
    let (opened, compared, rounds) = random_inputs_of(2, 8, 3, rounds, run);
    assert!(opened < rounds && compared > rounds / 10, "{opened} of {rounds} were opened, {compared} compared");
}

/// Runs `rounds` random inputs, each with a head of `head` bytes and up to `most` parts of `part` bytes. Returns the
/// numbers of opened and of compared inputs, and `rounds`.
fn random_inputs_of(
    head: usize,
    part: usize,
    most: usize,
    rounds: u64,
    run: fn(&[u8]) -> fuzz::examine::Seen,
) -> (u64, u64, u64) {
    let (mut opened, mut compared) = (0, 0);
    for seed in 0..rounds {
        let mut random = Random::new(seed);
        let count = head + part * (1 + random.below(most));
        let input: Vec<u8> = (0..count).map(|_| random.byte()).collect();
        let seen = run(&input);
        opened += u64::from(seen.opened);
        compared += u64::from(seen.compared);
    }
    println!("{opened} of {rounds} were opened, {compared} compared");
    (opened, compared, rounds)
}

/// Random disks through every output and back.
#[test]
fn random_outputs() {
    let rounds = by_scope(300, 3_000, if cfg!(target_pointer_width = "32") { 100_000 } else { 1_000_000 });
    let (head, extent, most) = (fuzz::outputs::HEAD, fuzz::outputs::EXTENT, fuzz::outputs::MOST_EXTENTS);
    let (_, compared, _) = random_inputs_of(head, extent, most, rounds, fuzz::outputs::output);
    assert_eq!(compared, rounds);
}

#[test]
fn kept_outputs() {
    let (_, read) = replay("outputs", fuzz::outputs::output);
    assert!(read > 0);
}

#[test]
fn arbitrary_files() {
    let (opened, _) = replay("files", fuzz::file);
    assert!(opened > 0);
}

#[test]
fn changed_images() {
    let (opened, read) = replay("changes", fuzz::changed_image);
    assert!(read > 0 && read < opened);
}
