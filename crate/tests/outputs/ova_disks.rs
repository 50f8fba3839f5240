//! OVAs of machines with several disks: from any kinds of images, in one pass or two.

use super::ova_rules::{check, files};
use super::{MIB, OUTPUTS, entry};
use crate::common::small::{small, small_disk};
use crate::common::*;
use crate::gzip::{disk, member};
use decant::convert::{Cancel, ConvertedDisks, DiskSource, InOrder, Output, Progress, ResumePoint, convert_disks};
use decant::crypt::Keys;
use decant::io::target::{Abilities, Holes};
use decant::native::Inline;
use decant::open::disk_choice::DiskChoice;
use decant::output::{Layout, Options};
use decant::{Error, ErrorKind, Input, OpenOptions};
use std::cell::RefCell;
use std::rc::Rc;

const ANY_ORDER: Abilities = Abilities { ascending: false, holes: Holes::Skip, short_hole: 0, late_start: u64::MAX };
const ANY_ORDER_REPORTED: Abilities = Abilities { holes: Holes::Report, ..ANY_ORDER };
const ASCENDING: Abilities = Abilities { ascending: true, holes: Holes::WriteZeros, short_hole: 0, late_start: 0 };
/// The header of the second disk comes after its start.
const LATE_START: Abilities = Abilities { late_start: MIB, ..ASCENDING };

const UUID: (&str, &str) = ("uuid", "01234567-89ab-4def-8123-456789abcdef");

/// An image: its file, the format if it is stated, and the size if its disk is streamed.
#[derive(Clone)]
struct Given(Vec<u8>, Option<&'static str>, Option<u64>);

fn raw(disk: &[u8]) -> Given {
    Given(disk.to_vec(), Some("raw"), None)
}

fn options_of(given: &[(&str, &str)]) -> Options {
    let given: Vec<_> = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Options::new(entry("ova").format(), &given).unwrap()
}

struct Made {
    result: Result<ConvertedDisks, Error>,
    archive: Vec<u8>,
    progress: Vec<Progress>,
}

/// The OVA of the disks of `given`.
fn made(given: &[Given], options: &[(&str, &str)], abilities: Abilities, may_read_twice: bool) -> Made {
    let first = HeldSource::new(Vec::new());
    let sources: Vec<_> = given.iter().map(|Given(file, ..)| first.companion(file.clone())).collect();
    let target = MemoryTarget::new(abilities);
    let (writing, given, options) = (target.clone(), given.to_vec(), options_of(options));
    let progress = Rc::<RefCell<Vec<Progress>>>::default();
    let listening = progress.clone();
    let work = async move {
        let mut opened = Vec::new();
        for (source, Given(_, format, _)) in sources.iter().zip(&given) {
            let options = OpenOptions { format: format.map(str::to_owned), ..OpenOptions::default() };
            opened.push(open(Input::File(source.clone()), &options).await?);
        }
        let (mut sizes, mut streamed, mut executors) = (Vec::new(), Vec::new(), Vec::new());
        for (image, Given(.., size)) in opened.iter().zip(&given) {
            let (size, disk, files, keys) = match image {
                Opened::Image(image) => (image.virtual_size(), None, image.files().clone(), image.keys()),
                Opened::Streamed(image) => {
                    let disk = InOrder::new(image, None).of_size(*size);
                    let files = disk.files();
                    (size.unwrap(), Some(disk), files, Keys::default())
                }
                Opened::Machine(_) => panic!("it is a disk"),
            };
            sizes.push(size);
            streamed.push(disk);
            executors.push(Inline::new(files, keys, 4, MIB));
        }
        let mut disks = Vec::new();
        for ((image, streamed), executor) in opened.iter().zip(&streamed).zip(&executors) {
            disks.push(match (image, streamed) {
                (_, Some(disk)) => DiskSource::in_order(disk, executor),
                (Opened::Image(image), _) => DiskSource::image(image, executor),
                _ => panic!("it is a disk"),
            });
        }
        let layout = (entry("ova").format().layout)(sizes[0], &options)?.with_disks(&sizes[1..])?.unwrap();
        writing.expect(&*layout);
        let output = Output { may_read_twice, ..Output::new(&*layout, STAMP, &*writing) };
        let listen = |done| listening.borrow_mut().push(done);
        convert_disks(&disks, &output, ResumePoint::default(), &listen, &Cancel::default()).await
    };
    let result = drive(&first, Answers::OneAtATime, work).expect("it waits for nothing");
    Made { result, archive: target.bytes.take(), progress: progress.take() }
}

/// Images of several kinds, and their disks.
fn machine() -> (Vec<Given>, Vec<Vec<u8>>) {
    let large = disk(3 * MIB as usize + 512);
    let streamed = disk(MIB as usize);
    let given = vec![
        raw(&large),
        Given(small(), None, None),
        Given(member(0, &[], &streamed), None, Some(MIB)),
        raw(&[]),
        raw(&vec![0; 5 * MIB as usize]),
        raw(&[7; 513]),
    ];
    let mut odd = vec![7; 513];
    odd.resize(1024, 0);
    (given, vec![large, small_disk(), streamed, vec![0; 512], vec![0; 5 * MIB as usize], odd])
}

/// The second reader accepts the archive, and Decant finds each disk in it.
fn requires(archive: &[u8], disks: &[Vec<u8>], what: &str) {
    let found = check(archive).unwrap_or_else(|rule| panic!("{what}: {rule}"));
    assert_eq!(found.len(), disks.len(), "{what}");
    for (at, expected) in (1..).zip(disks) {
        let disk = Some(DiskChoice::Number(at));
        assert!(Case { disk, ..Case::new(archive.to_vec()) }.bytes().unwrap() == *expected, "{what}: disk {at}");
    }
}

#[test]
fn disks_of_all_kinds() {
    let (given, disks) = machine();
    let in_one_pass = made(&given, &[UUID], ANY_ORDER, false);
    let done = in_one_pass.result.unwrap();
    requires(&in_one_pass.archive, &disks, "one pass");
    assert_eq!(done.output_size, in_one_pass.archive.len() as u64);
    let sizes: Vec<_> = done.disks.iter().map(|disk| disk.virtual_size).collect();
    assert_eq!(sizes, [3 * MIB + 512, 4096, MIB, 0, 5 * MIB, 1024]);
    let grown: Vec<_> = done.disks.iter().map(|disk| disk.notices.iter().any(|it| it.code == "disk-grows")).collect();
    assert_eq!(grown, [false, false, false, true, false, false]);
    // Progress is that of all disks.
    let total = sizes.iter().sum::<u64>();
    assert!(in_one_pass.progress.iter().all(|progress| progress.guest_total == Some(total)));
    assert!(in_one_pass.progress.is_sorted_by_key(|progress| progress.guest_done));
    assert_eq!(done.progress.guest_done, total);
    assert_eq!(done.progress.written, in_one_pass.archive.len() as u64);

    let names: Vec<_> = files(&in_one_pass.archive).unwrap().into_iter().map(|file| file.name).collect();
    assert_eq!(names[..3], ["disk.ovf", "disk-disk1.vmdk", "disk-disk2.vmdk"]);
    for (what, abilities) in
        [("ascending", ASCENDING), ("a late start", LATE_START), ("reported holes", ANY_ORDER_REPORTED)]
    {
        let other = made(&given, &[UUID], abilities, true);
        assert_eq!(other.result.unwrap().output_size, done.output_size, "{what}");
        assert!(other.archive == in_one_pass.archive, "{what}: other bytes");
    }
}

#[test]
fn identifiers_of_disks_differ() {
    let given = vec![raw(&[1; 4096]); 3];
    let Made { archive, result, .. } = made(&given, &[UUID], ANY_ORDER, false);
    result.unwrap();
    let disks = check(&archive).unwrap();
    assert!(disks[0] != disks[1] && disks[1] != disks[2] && disks[0] != disks[2]);
    let one = made(&given[..1], &[UUID], ANY_ORDER, false);
    assert!(check(&one.archive).unwrap()[0] == disks[0], "the first one is as that of a machine with one disk");
}

/// Without two passes, a target that takes bytes in ascending order is refused before anything is read.
#[test]
fn targets_that_need_two_passes() {
    let given = [raw(&[1; 4096]), raw(&[2; 4096])];
    for (what, abilities) in [("ascending", ASCENDING), ("a late start", LATE_START)] {
        let Made { result, progress, .. } = made(&given, &[], abilities, false);
        let error = result.unwrap_err();
        assert_eq!((error.kind, &*error.code), (ErrorKind::Unsupported, "ascending-only"), "{what}");
        assert!(!format!("{:?}", error.fields).contains("size") && progress.is_empty(), "{what}");
    }
}

#[test]
fn nvme_needs_later_virtual_hardware() {
    for (version, is_made) in [("11", false), ("12", false), ("13", true), ("15", true)] {
        let options = options_of(&[("controller", "nvme"), ("hwversion", version)]);
        let made = (entry("ova").format().layout)(512, &options).map(drop);
        assert_eq!(made.map_err(|error| error.kind), if is_made { Ok(()) } else { Err(ErrorKind::Usage) }, "{version}");
    }
}

#[test]
fn controllers_have_room_for_a_number_of_disks() {
    for (controller, most) in
        [("auto", 15), ("lsilogicsas", 15), ("pvscsi", 15), ("buslogic", 15), ("sata", 15), ("nvme", 15), ("ide", 4)]
    {
        let layout = |count: usize| -> Result<Box<dyn Layout>, Error> {
            let first = (entry("ova").format().layout)(512, &options_of(&[("controller", controller)]))?;
            Ok(first.with_disks(&vec![512; count - 1])?.unwrap())
        };
        assert_eq!(layout(most).unwrap().disk(most - 1).unwrap().disk_size(), 512);
        let error = layout(most + 1).err().unwrap();
        assert_eq!((error.kind, &*error.code), (ErrorKind::Limit, "controller-full"), "{controller}");
    }
    for (controller, counts) in [("lsilogic", [1, 15]), ("sata", [2, 15]), ("ide", [2, 3]), ("ide", [1, 4])] {
        for count in counts {
            let given = vec![raw(&[1; 512]); count];
            let Made { archive, result, .. } = made(&given, &[("controller", controller)], ANY_ORDER, false);
            result.unwrap();
            let disks = check(&archive).unwrap_or_else(|rule| panic!("{controller}, {count}: {rule}"));
            assert_eq!(disks.len(), count);
            let texts = String::from_utf8_lossy(&archive[..8192]).matches("controller ").count();
            assert_eq!(texts, if controller == "ide" { count.div_ceil(2) } else { 1 }, "{controller}, {count}");
        }
    }
    let layout = (entry("ova").format().layout)(512, &options_of(&[])).unwrap();
    let error = layout.with_disks(&[512, (62 << 40) + 1]).err().unwrap();
    assert_eq!(error.code, "vmdk-too-large");
}

#[test]
fn other_outputs_have_one_disk() {
    for output in OUTPUTS.iter().filter(|output| output.name != "ova") {
        let layout = layout(output.format(), 1 << 20).unwrap();
        assert!(layout.with_disks(&[512]).unwrap().is_none(), "{}", output.name);
    }
}

/// A failure at the second disk leaves nothing.
#[test]
fn a_later_disk_is_damaged() {
    let cut = small()[..crate::common::small::MORE].to_vec();
    let given = [raw(&[1; 4096]), Given(cut, None, None)];
    let Made { result, .. } = made(&given, &[], ANY_ORDER, false);
    let error = result.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Corrupt);
    assert!(format!("{:?}", error.fields).contains("diskNumber"), "{error}");
}
