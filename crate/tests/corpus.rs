//! The inputs that fuzzing has found to reach something of their own, once more; and that the valid images
//! which it changes are valid.

#[path = "../fuzz/src/lib.rs"]
#[allow(dead_code)]
mod fuzz;

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

/// Runs all inputs of `target`; how many were opened, and of how many clusters were read.
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
    // Those that the second readers know.
    assert_eq!(compared, [0, 1, 2, 6, 10, 12, 13, 15]);
}

#[test]
fn the_valid_vmdks_are_valid() {
    for number in 0..fuzz::vmdk::BASES {
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
        assert!(seen.converted && seen.compared != [1, 7, 9].contains(&number), "{number}: {seen:?}");
    }
}

/// Random changes to containers: whatever comes of it, the second reader has the same bytes.
#[test]
fn changed_containers() {
    let (opened, compared, rounds) = random_inputs(fuzz::containers::container);
    assert!(opened < rounds && compared > rounds / 10, "{opened} of {rounds} were opened, {compared} compared");
}

#[test]
fn kept_containers() {
    let (opened, read) = replay("containers", fuzz::containers::container);
    assert!(read > 0 && opened < inputs("containers").len());
}

/// Random changes to VMDKs: whatever comes of it, the second reader has the same bytes.
#[test]
fn changed_vmdks() {
    let (opened, compared, rounds) = random_inputs(fuzz::changed_vmdk);
    assert!(opened < rounds && compared > rounds / 10, "{opened} of {rounds} were opened, {compared} compared");
}

/// How many of how many random inputs were opened, and compared with what a second reader has.
fn random_inputs(run: fn(&[u8]) -> fuzz::examine::Seen) -> (usize, usize, usize) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let (mut opened, mut compared) = (0, 0);
    let rounds = match std::env::var("DECANT_TESTS").as_deref() {
        // Words of 32 bits are slower: the million runs natively.
        Ok("long") if cfg!(target_pointer_width = "32") => 200_000,
        Ok("long") => 1_000_000,
        _ => 3_000,
    };
    for _ in 0..rounds {
        let count = 2 + 8 * (1 + random() as usize % 3);
        let input: Vec<u8> = (0..count).map(|_| (random() >> 24) as u8).collect();
        let seen = run(&input);
        opened += usize::from(seen.opened);
        compared += usize::from(seen.compared);
    }
    println!("{opened} of {rounds} were opened, {compared} compared");
    (opened, compared, rounds)
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
