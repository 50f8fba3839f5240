//! The option `uuid`: the identifiers of an output are derived from it, and from nothing else.

use super::{vdi, vhdx};
use crate::common::*;
use decant::convert::{Cancel, Change, Output, reshaped};
use decant::io::target::Abilities;
use decant::native::Inline;
use decant::output::{Options, Stamp, by_name};
use decant::{Image, OpenOptions};

const UUID: &str = "00010203-0405-0607-0809-0a0b0c0d0e0f";
/// As files have it.
const GUID: [u8; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];

/// Reads the identifier of the disk.
type ReadId = fn(&[u8]) -> Vec<u8>;

/// Converts a disk at a time with these random bytes, perhaps with the UUID.
fn made(format: &str, uuid: Option<&str>, random: u8) -> Vec<u8> {
    let format = by_name(format).unwrap();
    let given: Vec<_> = uuid.map(|uuid| ("uuid".to_owned(), uuid.to_owned())).into_iter().collect();
    let (source, target) = (HeldSource::new(vec![1; 4096]), MemoryTarget::new(Abilities::default()));
    let (reading, writing) = (source.clone(), target.clone());
    let work = async move {
        let opening = OpenOptions { format: Some("raw".to_owned()), ..OpenOptions::default() };
        let image = Image::open(reading, &opening).await?;
        let executor = Inline::new(image.files().clone(), image.keys(), 1, 1 << 20);
        let (layout, _) = reshaped(&image, format, Options::new(format, &given)?, Change::default()).await?;
        writing.expect(&*layout);
        let stamp = Stamp { seconds: random.into(), random: [random; 16] };
        let output = Output::new(&*layout, stamp, &*writing);
        convert(&image, &executor, &output, &|_| {}, &Cancel::default()).await
    };
    drive(&source, Answers::InOrder, work).expect("it waits for nothing").unwrap();
    target.bytes.take()
}

#[test]
fn all_identifiers_are_derived_from_it() {
    let ids: [(&str, ReadId); 2] =
        [("vhdx", |file| vhdx::read(file).unwrap().id), ("vdi", |file| vdi::read(file).unwrap().ids[0].clone())];
    for (format, id) in ids {
        let [one, two] = [1, 2].map(|random| made(format, Some(UUID), random));
        assert!(one == two, "{format}: something else is random");
        assert_eq!(id(&one), GUID, "{format}");
        let [one, two] = [1, 2].map(|random| id(&made(format, None, random)));
        assert!(one != two && one != GUID, "{format}: not random");
        assert_eq!(id(&made(format, Some("{00010203-0405-0607-0809-0A0B0C0D0E0F}"), 1)), GUID, "{format}");
    }
}
