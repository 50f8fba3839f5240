//! Archives of whole machines: disks in pieces.

use crate::common::small::{small, small_disk};
use crate::common::*;
use crate::tar::{archive, content, member};
use decant::target::Abilities;
use decant::{ErrorKind, OpenOptions};

fn file(name: &str, data: &[u8]) -> Vec<u8> {
    member(name, b'0', data)
}

/// The pieces of `data`, of `len` bytes each.
fn pieces(name: &str, data: &[u8], len: usize) -> Vec<Vec<u8>> {
    data.chunks(len).enumerate().map(|(number, part)| file(&format!("{name}.{number:09}"), part)).collect()
}

fn with_ovf(members: &[Vec<u8>]) -> Vec<u8> {
    archive(&[&[file("a.ovf", b"<xml/>")], members].concat())
}

#[test]
fn disks_in_pieces() {
    let (image, raw) = (small(), content());
    for len in [1000, image.len() - 1, image.len(), image.len() / 4 + 1] {
        let parts = pieces("disk.qcow2", &image, len);
        let reversed: Vec<_> = parts.iter().rev().cloned().collect();
        for members in [&parts, &reversed] {
            let file = with_ovf(members);
            let opened = open_bytes(file.clone(), OpenOptions::default()).unwrap();
            assert_eq!(opened.info().containers[0].member.as_deref(), Some("disk.qcow2"), "{len}");
            assert_eq!(opened.info().file_size, Some(image.len() as u64), "{len}");
            for answers in ANSWERS {
                let converted = Case::new(file.clone()).convert(answers, Abilities::default(), 4096);
                converted.result.unwrap();
                assert!(converted.target.bytes.take() == small_disk(), "{len}: other bytes");
            }
            assert!(Case { salvage: true, ..Case::new(file) }.bytes() == Ok(small_disk()), "{len}: salvage");
        }
    }
    let disk = [&raw[..], &[0; 352]].concat();
    let parts = pieces("disk.raw", &raw, 30_001);
    assert!(Case::new(with_ovf(&parts)).bytes() == Ok(disk.clone()), "a raw disk");
    // A number that is no piece's: the name of the only file.
    assert!(Case::new(archive(&[file("disk.000000007", &raw)])).bytes() == Ok(disk), "a number");
}

#[test]
fn wrong_pieces() {
    let image = small();
    let parts = || pieces("d", &image, 1000);
    let without = |number: usize| {
        let mut parts = parts();
        parts.remove(number);
        parts
    };
    let with = |number: usize, data: &[u8]| {
        let mut parts = parts();
        parts[number] = file(&format!("d.{number:09}"), data);
        parts
    };
    let last = parts().len() - 1;
    let twice = [parts(), vec![parts()[1].clone()]].concat();
    let cases: &[(&str, Vec<Vec<u8>>, &str)] = &[
        ("the first is missing", without(0), "piece 000000000 of 'd' is missing"),
        ("one is missing", without(1), "piece 000000001 of 'd' is missing"),
        ("one is there twice", twice, "piece 000000001 of 'd' is there twice"),
        ("one is shorter", with(1, &image[1000..1999]), "piece 000000001 of 'd' has another size"),
        ("the last is longer", with(last, &[0; 1001]), "of 'd' has another size"),
        ("the last is missing", without(last), "truncated"),
    ];
    for (what, members, part) in cases {
        let error = Case::new(with_ovf(members)).bytes().unwrap_err();
        assert!(error.kind == ErrorKind::Corrupt && error.message.contains(part), "{what}: {error}");
    }
    // A salvage has what there is of the last piece, and no others.
    let whole = with_ovf(&parts());
    let cut = whole[..whole.len() - 1024 - 512].to_vec();
    assert_eq!(Case::new(cut.clone()).bytes().unwrap_err().kind, ErrorKind::Corrupt);
    assert!(Case { salvage: true, ..Case::new(cut) }.bytes().is_ok());
    let reversed: Vec<_> = parts().into_iter().rev().collect();
    let whole = with_ovf(&reversed);
    let error = Case { salvage: true, ..Case::new(whole[..whole.len() - 1024 - 512].to_vec()) }.bytes().unwrap_err();
    assert!(error.kind == ErrorKind::Corrupt && error.message.contains("is cut off"), "{error}");
}
