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
    for number in 0..fuzz::bases::BASES {
        let seen = fuzz::changed_image(&[number]);
        assert!(seen.opened && seen.read && seen.converted, "{number}: {seen:?}");
    }
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
