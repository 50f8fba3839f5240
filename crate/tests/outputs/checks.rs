//! The checks of the suite for every output.

use super::{MIB, OUTPUTS, Output};
use crate::common::random::Random;
use crate::common::*;
use decant::ErrorKind;
use decant::compress::{CompressedEncoding, Encoding};
use decant::convert::{Cancel, Change, Measured, Output as Conversion, Progress, measure};
use decant::error::fields::Field;
use decant::io::target::{Abilities, Holes};
use decant::native::Inline;
use decant::output::{self, Layout, Options};
use decant::{Image, OpenOptions};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Abilities of targets: of files that workers may open, and of streams.
const TARGETS: [Abilities; 5] = [
    Abilities { ascending: false, holes: Holes::Skip, short_hole: 0, late_start: u64::MAX },
    Abilities { ascending: true, holes: Holes::Skip, short_hole: 64 << 10, late_start: u64::MAX },
    Abilities { ascending: true, holes: Holes::Report, short_hole: 0, late_start: u64::MAX },
    Abilities { ascending: true, holes: Holes::WriteZeros, short_hole: 0, late_start: u64::MAX },
    Abilities { ascending: true, holes: Holes::Report, short_hole: 0, late_start: 0 },
];

/// A disk with data at its start and at its end, and a hole of more than half between them.
fn disk(size: usize) -> Vec<u8> {
    let mut disk: Vec<u8> = (0..size).map(|at| (at / 3) as u8 | 1).collect();
    disk[size / 8..size - size / 4].fill(0);
    disk
}

fn made_from(options: &[&str], disk: &[u8]) -> Case {
    let folder = tempfile::tempdir().unwrap();
    let (raw, image) = (folder.path().join("disk.raw"), folder.path().join("disk.qcow2"));
    std::fs::write(&raw, disk).unwrap();
    let args = [&["convert", "-f", "raw", "-O", "qcow2"], options, &[text(&raw), text(&image)]].concat();
    qemu("qemu-img", &args);
    Case::new(std::fs::read(&image).unwrap())
}

fn raw(disk: &[u8]) -> Case {
    Case { format: Some("raw".to_owned()), ..Case::new(disk.to_vec()) }
}

fn layout_of(output: &Output, virtual_size: u64) -> decant::Result<Box<dyn Layout>> {
    (output.format().layout)(virtual_size, &output.options())
}

/// Converts disks of all sizes to every kind of target. The outputs do not depend on the target, the order and size of
/// jobs, or the image, except that holes of the image show in compressed outputs. The output's reader accepts them.
fn converts(output: &Output, sizes: &[u64]) {
    let folder = tempfile::tempdir().unwrap();
    let encoding = layout_of(output, 0).unwrap().encoding();
    let is_compressed = encoding.is_compressed();
    for &size in sizes {
        let disk = disk(size as usize);
        let layout = layout_of(output, size).unwrap();
        let mut files = BTreeMap::new();
        for options in [&["-c"][..], &[]] {
            let case = made_from(options, &disk);
            for (abilities, answers, job) in TARGETS.into_iter().flat_map(with_every_order_and_job) {
                let name = format!("{output}, {size} {options:?} {abilities:?} {answers:?} {job}");
                let converted = case.convert_with(output.format(), output.options(), answers, abilities, job);
                let written = converted.result.unwrap_or_else(|error| panic!("{name}: {error}")).written;
                let file = converted.target.bytes.take();
                assert_eq!(converted.output_size, file.len() as u64, "{name}");
                assert!(layout.output_size().is_none_or(|size| size == file.len() as u64), "{name}");
                checks_measured(output, &case, file.len() as u64);
                if matches!(encoding, Encoding::Stored | Encoding::Compressed(CompressedEncoding::Units(_))) {
                    assert!(written <= file.len() as u64, "{name}: {written}");
                    // Hyper-V refuses files with holes.
                    let may_have_holes = ["qcow2", "vdi"].contains(&output.name) || layout.output_size().is_some();
                    assert!(may_have_holes || written == file.len() as u64, "{name}: {written} of {}", file.len());
                } else if is_compressed {
                    assert_eq!(written, file.len() as u64, "{name}");
                    assert_eq!(converted.target.holes.take(), [], "{name}: it has no holes");
                } else if abilities.holes == Holes::WriteZeros {
                    assert_eq!(written, file.len() as u64, "{name}");
                } else {
                    assert!(file.ends_with(&layout.footer(&STAMP)), "{name}: another footer");
                    assert!(size < MIB || written < size * 5 / 8, "{name}: {written}");
                }
                let kind = is_compressed.then_some(options);
                assert!(*files.entry(kind).or_insert_with(|| file.clone()) == file, "{name}: another file");
            }
        }
        let files: Vec<_> = files.into_values().collect();
        let path = folder.path().join(size.to_string());
        std::fs::write(&path, &files[0]).unwrap();
        (output.validate)(&path, &disk);
        if let Some(reader) = &output.reader {
            let bytes = (reader.disk)(files[0].clone());
            assert!(bytes.starts_with(&disk) && bytes[disk.len()..].iter().all(|&byte| byte == 0), "{output}, {size}");
        }
        // The output's reader may be slow, as for an archive of a GiB.
        for file in &files[1..] {
            let read = (output.read)(file, disk.len() + 4096);
            let is_disk = read.starts_with(&disk) && read[disk.len()..].iter().all(|&byte| byte == 0);
            assert!(is_disk, "{}, {size}: other bytes", output.name);
        }
    }
}

/// The output, a file of `len` bytes, has the measured size, or less if its data is compressed. A qcow2 counts the tables of a full disk.
fn checks_measured(output: &Output, case: &Case, len: u64) {
    let measured = measured(output, case);
    let name = format!("{output}: {len} of {measured:?}");
    assert!(measured.required <= measured.fully_allocated, "{name}");
    let is_exact = !layout_of(output, 0).unwrap().encoding().is_compressed() && output.name != "qcow2";
    assert!(if is_exact { len == measured.required } else { len <= measured.required }, "{name}");
}

fn measured(output: &Output, case: &Case) -> Measured {
    let (format, options) = (output.format(), output.options());
    let work = async move |image: Image| measure(&image, format, options, Change::default()).await;
    case.with(Answers::InOrder, work).unwrap()
}

/// Noise cannot be compressed: the bounds hold, and are close to the size of the output.
#[test]
fn outputs_of_noise_have_their_measured_size() {
    let random = &mut Random::new(58);
    // Whole units of all outputs: of the last one, only a part would be noise.
    let noise: Vec<u8> = std::iter::repeat_with(|| random.byte()).take(4 * MIB as usize).collect();
    for output in OUTPUTS {
        let case = raw(&noise);
        let converted = case.convert_with(output.format(), output.options(), Answers::InOrder, TARGETS[0], MIB);
        converted.result.unwrap();
        let (len, measured) = (converted.target.bytes.take().len() as u64, measured(output, &case));
        // An archive for Google has a GiB, of which most is zeros.
        assert!(output.name == "tar.gz" || measured.required == measured.fully_allocated, "{output}");
        let is_close = |bound: u64| len <= bound && bound <= len + len / 50 + (8 << 10);
        assert!(is_close(measured.required), "{output}: {len} of {measured:?}");
    }
}

fn with_every_order_and_job(abilities: Abilities) -> impl Iterator<Item = (Abilities, Answers, u64)> {
    const JOBS: [u64; 3] = [4096, 1 << 20, 32 << 20];
    let answers = [Answers::InOrder, Answers::Reverse];
    answers.into_iter().flat_map(move |answers| JOBS.map(|job| (abilities, answers, job)))
}

fn has_every_size(output: &Output) {
    let name = output.name;
    for &(virtual_size, disk_size, output_size) in output.sizes {
        let layout = layout_of(output, virtual_size).unwrap();
        assert_eq!(layout.disk_size(), disk_size, "{name} {virtual_size}");
        assert_eq!(layout.output_size(), output_size, "{name} {virtual_size}");
        let notice = layout.notice();
        assert_eq!(notice.is_some(), disk_size != virtual_size, "{name} {virtual_size}");
        if let Some(notice) = notice {
            assert!(notice.message.contains(output.notice), "{name}: {notice:?}");
            assert_eq!(
                notice.fields.get("added"),
                Some(&Field::Number(disk_size - virtual_size)),
                "{name}: {notice:?}"
            );
        }
    }
    let (sizes, code) = output.too_large;
    for &size in sizes {
        let error = layout_of(output, size).err().unwrap_or_else(|| panic!("{name} takes {size} bytes"));
        assert_eq!((error.kind, &*error.code), (ErrorKind::Limit, code), "{name} {size}");
        assert_eq!(error.fields.get("size"), Some(&Field::Number(size)), "{name} {size}");
        assert!(!error.message().ends_with('.'), "{name}: {error}");
    }
}

/// A disk of zeros costs nothing but its compressed form.
fn costs_nothing_for_zeros(output: &Output) {
    const SIZE: u64 = 16 * MIB;
    for (what, case) in [("holes", made_from(&[], &vec![0; SIZE as usize])), ("data", raw(&vec![0; SIZE as usize]))] {
        let converted = case.convert_with(output.format(), output.options(), Answers::InOrder, TARGETS[1], MIB);
        let written = converted.result.unwrap().written;
        let (part, most) = output.zeros;
        let disk_size = layout_of(output, SIZE).unwrap().disk_size();
        let most = (disk_size as f64 * part) as u64 + most;
        assert!(written <= most, "{}, zeros as {what}: {written} bytes", output.name);
    }
}

/// The output of a streamed disk equals that of the same disk in a file, or it is refused.
fn comes_in_order(output: &Output) {
    let disk = disk(3 * MIB as usize + 512);
    let stream = Case::new(filter("gzip", &["-c"], &disk));
    let expected = raw(&disk)
        .convert_with(output.format(), output.options(), Answers::InOrder, TARGETS[0], MIB)
        .target
        .bytes
        .take();
    for abilities in TARGETS {
        let converted = stream.convert_with(output.format(), output.options(), Answers::InOrder, abilities, MIB);
        let name = format!("{}, {abilities:?}", output.name);
        match (converted.result, output.in_order) {
            (Ok(_), Ok(())) => {
                let file = converted.target.bytes.take();
                assert_eq!(converted.output_size, file.len() as u64, "{name}");
                assert!(file == expected, "{name}: another file");
            }
            (Err(error), Err(code)) => {
                assert_eq!((error.kind, &*error.code), (ErrorKind::Unsupported, code), "{name}: {error}");
                assert!(!converted.target.finished.get(), "{name}");
            }
            (result, _) => panic!("{name}: {result:?}"),
        }
    }
}

/// An ascending target receives an output whose header is written last in two passes, if these are allowed or need no
/// compression. One pass is enough if the header does not depend on the data.
#[test]
fn two_passes_are_asked_for() {
    let ascending = Abilities { ascending: true, holes: Holes::Report, short_hole: 0, late_start: 0 };
    let enough = Abilities { late_start: 2 << 16, ..ascending };
    let too_few = Abilities { late_start: (2 << 16) - 1, ..ascending };
    let disk = disk(MIB as usize);
    let (plain, compressed) = (("qcow2", "compress", "off"), ("qcow2", "compress", "on"));
    // (output, target, whether two passes are allowed, number of passes over the image)
    let cases = [
        (plain, enough, false, Ok(1)),
        (plain, too_few, false, Ok(2)),
        (compressed, enough, false, Ok(1)),
        (compressed, enough, true, Ok(1)),
        (compressed, too_few, true, Ok(2)),
        (compressed, too_few, false, Err("ascending-only")),
        (("vhdx", "subformat", "dynamic"), ascending, false, Ok(2)),
        (("vdi", "static", "off"), ascending, false, Ok(2)),
        // Everything before the blocks is known.
        (("vhdx", "subformat", "fixed"), ascending, false, Ok(1)),
        (("vdi", "static", "on"), ascending, false, Ok(1)),
    ];
    for ((name, option, value), abilities, may_read_twice, expected) in cases {
        let format = output::by_name(name).unwrap();
        let options = Options::new(format, &[(option.to_owned(), value.to_owned())]).unwrap();
        let target = MemoryTarget::new(abilities);
        let source = HeldSource::new(disk.clone());
        let (reading, writing, measured) = (source.clone(), target.clone(), Rc::new(Cell::new(0)));
        let seen = measured.clone();
        let work = async move {
            let opening = OpenOptions { format: Some("raw".to_owned()), ..OpenOptions::default() };
            let image = Image::open(reading, &opening).await?;
            let executor = Inline::new(image.files().clone(), image.keys(), 2, MIB);
            let layout = (format.layout)(image.virtual_size(), &options)?;
            writing.expect(&*layout);
            let output = Conversion { may_read_twice, ..Conversion::new(&*layout, STAMP, &*writing) };
            let progress = |done: Progress| {
                assert!(!done.measuring || done.written == 0 || done.guest_done > 0);
                seen.set(seen.get() + u64::from(done.guest_done == MIB && !done.finalizing));
            };
            convert(&image, &executor, &output, &progress, &Cancel::default()).await
        };
        let result = drive(&source, Answers::InOrder, work).expect("it waits for nothing");
        let name = format!("{name} {option}={value}, {abilities:?}, {may_read_twice}");
        match (result, expected) {
            (Ok(_), Ok(passes)) => {
                assert_eq!(measured.get(), passes, "{name}");
                assert!(Case::new(target.bytes.take()).bytes().unwrap() == disk, "{name}");
            }
            (Err(error), Err(code)) => {
                assert_eq!((error.kind, &*error.code), (ErrorKind::Unsupported, code), "{name}");
                assert!(target.bytes.take().is_empty(), "{name}");
            }
            (result, _) => panic!("{name}: {result:?}"),
        }
    }
}

/// `compat` is the version of a qcow2, for QEMU and in the header.
#[test]
fn qcow2_has_the_version_of_its_option() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image.qcow2");
    let format = output::by_name("qcow2").unwrap();
    let options = |given: &[(&str, &str)]| {
        let given: Vec<_> = given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Options::new(format, &given).unwrap()
    };
    for (compat, version) in [("1.1", 3), ("0.10", 2)] {
        let given = options(&[("compress", "on"), ("compat", compat)]);
        let converted = raw(&disk(MIB as usize)).convert_with(format, given, Answers::InOrder, TARGETS[0], MIB);
        converted.result.unwrap();
        let file = converted.target.bytes.take();
        assert_eq!(file[4..8], [0, 0, 0, version]);
        // A header of version 2 ends here, and no extension follows.
        assert!(version == 3 || file[72..1024].iter().all(|&byte| byte == 0));
        std::fs::write(&path, &file).unwrap();
        let info: serde_json::Value =
            serde_json::from_str(&qemu("qemu-img", &["info", "--output=json", text(&path)])).unwrap();
        assert_eq!(info["format-specific"]["data"]["compat"], compat);
    }
    let error = (format.layout)(MIB, &options(&[("compat", "0.10"), ("compression_type", "zstd")])).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Usage);
    assert!(error.message().starts_with("compression_type=zstd needs compat=1.1"), "{error}");
}

#[test]
fn every_size_is_known_or_refused() {
    OUTPUTS.iter().for_each(has_every_size);
}

#[test]
fn zeros_cost_nothing() {
    OUTPUTS.iter().for_each(costs_nothing_for_zeros);
}

#[test]
fn disks_come_in_order() {
    OUTPUTS.iter().for_each(comes_in_order);
}

#[test]
fn outputs_are_valid_and_deterministic() {
    OUTPUTS.iter().for_each(|output| converts(output, &[MIB + 512]));
}

mod full {
    use super::*;

    #[test]
    fn outputs_of_every_size_are_valid_and_deterministic() {
        // Whole MiB, and sizes that are rounded up to one.
        let sizes = [0, 512, 64 << 10, MIB, 5 * MIB - 4096, 10 * MIB, 40 * MIB + 1536];
        for output in OUTPUTS {
            // Each archive has a GiB to read.
            converts(output, if output.name == "tar.gz" { &sizes[5..6] } else { &sizes });
        }
    }
}
