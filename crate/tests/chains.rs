//! Chains: the companion for a name, the reads of each layer, and invalid chains.

use crate::common::small::*;
use crate::common::*;
use decant::convert::Output;
use decant::disk::info::Need;
use decant::error::fields::Field;
use decant::io::target::Abilities;
use decant::open::chain::{Companion, MAX_LAYERS};
use decant::output::OUTPUT_FORMATS;
use decant::{ErrorKind, Image, OpenOptions};

/// A raw disk of 8 clusters, each with its number.
fn numbered() -> Vec<u8> {
    (0..8 * CLUSTER).map(|at| (at / CLUSTER) as u8 + 1).collect()
}

/// The disk of `overlay` over `below`.
fn over(below: &[u8]) -> Vec<u8> {
    let mut disk = below.to_vec();
    disk.resize(8 * CLUSTER, 0);
    disk[..CLUSTER].fill(0xaa);
    disk
}

#[test]
fn which_file_a_name_means() {
    use ErrorKind::{Corrupt, MissingFile, Usage};
    let one = numbered();
    let other = vec![9; 8 * CLUSTER];
    // (image's name, recorded name, companions: their names and whether they are the right one; the kind of error, or
    // None)
    type Given<'a> = &'a [(&'a str, bool)];
    let cases: &[(&str, &str, Given, Option<ErrorKind>)] = &[
        ("a.qcow2", "base.raw", &[("base.raw", true)], None),
        ("a.qcow2", "base.raw", &[("/some/where/base.raw", true)], None),
        ("a.qcow2", "/vm/base.raw", &[("base.raw", true)], None),
        ("a.qcow2", "C:\\vm\\base.raw", &[("base.raw", true)], None),
        ("a.qcow2", "../base.raw", &[("x/base.raw", true)], None),
        ("a.qcow2", "file:base.raw", &[("base.raw", true)], None),
        ("a.qcow2", "file:///vm/base.raw", &[("base.raw", true)], None),
        ("a.qcow2", "nbd://host/base.raw", &[("base.raw", true)], None),
        // The whole name takes precedence over the base name.
        ("a.qcow2", "/vm/base.raw", &[("/old/base.raw", false), ("/vm/base.raw", true)], None),
        ("a.qcow2", "base.raw", &[("x/base.raw", false), ("base.raw", true)], None),
        // A companion is not chosen merely because it is the only one.
        ("a.qcow2", "base.raw", &[("disk.raw", true)], Some(MissingFile)),
        // In another case, or another Unicode form, if only one file matches.
        ("a.qcow2", "base.raw", &[("Base.RAW", true)], None),
        ("a.qcow2", "/vm/Gr\u{f6}\u{df}e.raw", &[("x/Gro\u{308}\u{df}E.raw", true)], None),
        ("a.qcow2", "base.raw", &[("BASE.raw", false), ("base.raw", true)], None),
        ("a.qcow2", "base.raw", &[("BASE.raw", true), ("Base.raw", false)], Some(Usage)),
        ("A.qcow2", "a.qcow2", &[("x/A.qcow2", true)], Some(Usage)),
        // A URL with a query, and JSON.
        ("a.qcow2", "https://h/x/base.raw?versionId=3", &[("base.raw", true)], None),
        ("a.qcow2", "https://h/x/my%20base.raw?a#b", &[("my base.raw", true)], None),
        ("a.qcow2", "https://h/x/base.raw?a", &[("base.raw?a", true), ("base.raw", false)], None),
        (
            "a.qcow2",
            r#"json:{"driver":"raw","file":{"driver":"file","filename":"/vm/base.raw"}}"#,
            &[("base.raw", true)],
            None,
        ),
        ("a.qcow2", r#"json:{"driver":"raw","file.filename":"base.raw"}"#, &[("base.raw", true)], None),
        ("a.qcow2", r#"json:{"file.driver":"nbd","file.export":"base.raw"}"#, &[("base.raw", true)], None),
        ("a.qcow2", r#"json:{"driver":"raw","file.filename":"base.raw"}"#, &[("disk.raw", true)], Some(MissingFile)),
        ("a.qcow2", "base.raw", &[], Some(MissingFile)),
        ("a.qcow2", "/vm/base.raw", &[("/x/base.raw", true), ("/y/base.raw", false)], Some(Usage)),
        ("a.qcow2", "base.raw", &[("base.raw", true), ("base.raw", false)], Some(Usage)),
        // The same name in another folder is common, and must be stated.
        ("/vm/disk.qcow2", "/base/disk.qcow2", &[], Some(MissingFile)),
        ("disk.qcow2", "/base/disk.qcow2", &[], Some(MissingFile)),
        ("disk.qcow2", "/base/disk.qcow2", &[("disk.qcow2", true)], None),
        ("/vm/disk.qcow2", "../base/disk.qcow2", &[("/base/disk.qcow2", true)], None),
        ("vm/disk.qcow2", "../base/./disk.qcow2", &[("base/disk.qcow2", true), ("old/disk.qcow2", false)], None),
        ("vm/disk.qcow2", "../base/disk.qcow2", &[("old/disk.qcow2", false)], Some(Usage)),
        // A name that can only be the image itself.
        ("a.qcow2", "a.qcow2", &[], Some(Corrupt)),
        ("/vm/a.qcow2", "/vm/a.qcow2", &[], Some(Corrupt)),
    ];
    for (name, recorded, given, kind) in cases {
        let content = |right: bool| if right { one.clone() } else { other.clone() };
        let case = Case {
            name: Some((*name).to_owned()),
            companions: given.iter().map(|(name, right)| ((*name).to_owned(), content(*right))).collect(),
            ..Case::new(overlay(recorded, Some("raw")))
        };
        match (case.bytes(), kind) {
            (Ok(bytes), None) => assert!(bytes == over(&one), "{name} {recorded} {given:?}: other bytes"),
            (Err(error), Some(kind)) => assert_eq!(error.kind, *kind, "{name} {recorded} {given:?}: {error}"),
            (result, _) => panic!("{name} {recorded} {given:?}: {:?}", result.map(|bytes| bytes.len())),
        }
    }
}

/// Opens `overlay("base.raw")` with one companion that is described by `change`.
fn with_companion(change: impl Fn(&mut Companion)) -> decant::Result<Vec<u8>> {
    let source = HeldSource::new(overlay("base.raw", Some("raw")));
    let mut companion = Companion {
        source: source.companion(numbered()),
        name: "elsewhere.img".to_owned(),
        stands_for: None,
        is_image: false,
    };
    change(&mut companion);
    let options = OpenOptions { name: Some("a.qcow2".to_owned()), companions: vec![companion], ..Default::default() };
    let (reading, target) = (source.clone(), MemoryTarget::new(Abilities::default()));
    let writing = target.clone();
    drive(&source, Answers::InOrder, async move {
        let image = Image::open(reading, &options).await?;
        let executor = decant::native::Inline::new(image.files().clone(), image.keys(), 4, 4096);
        let layout = layout(&OUTPUT_FORMATS[0], image.virtual_size())?;
        let output = Output::new(&*layout, STAMP, &*writing);
        convert(&image, &executor, &output, &|_| {}, &Default::default()).await
    })
    .unwrap()?;
    Ok(target.bytes.take())
}

#[test]
fn a_name_that_the_caller_states() {
    let stated = |name: &'static str| move |companion: &mut Companion| companion.stands_for = Some(name.to_owned());
    assert!(with_companion(stated("base.raw")).unwrap() == over(&numbered()));
    assert!(with_companion(stated("x/base.raw")).unwrap() == over(&numbered()));
    assert_eq!(with_companion(stated("other.raw")).unwrap_err().kind, ErrorKind::MissingFile);
    let image_itself = |companion: &mut Companion| {
        companion.name = "base.raw".to_owned();
        companion.is_image = true;
    };
    let error = with_companion(image_itself).unwrap_err();
    assert!(error.kind == ErrorKind::Usage && error.code == "ambiguous-file", "{error}");
}

#[test]
fn formats_of_backing_files() {
    use ErrorKind::{Corrupt, NotRecognised, Unsupported};
    let mut iso = vec![3; 40 << 10];
    iso[32_769..32_774].copy_from_slice(b"CD001");
    let vmdk = [&b"KDMV"[..], &[0; 4092]].concat();
    // (stated format, content, the disk or the kind of error)
    type Reads<'a> = Result<&'a [u8], ErrorKind>;
    let numbers = numbered();
    let cases: &[(Option<&str>, &[u8], Reads)] = &[
        (Some("raw"), &numbers, Ok(&numbers)),
        (Some("qcow2"), &small(), Ok(&small_disk())),
        // A stated format is never probed.
        (Some("raw"), &small(), Ok(&small())),
        (Some("raw"), &vmdk, Ok(&vmdk)),
        (Some("qcow2"), &numbers, Err(NotRecognised)),
        (Some("vmdk"), &vmdk, Err(Unsupported)),
        (Some("luks"), &numbers, Err(NotRecognised)),
        // QEMU reads a stated format up to a zero byte.
        (Some("raw\0"), &numbers, Ok(&numbers)),
        // QEMU reads a protocol as raw.
        (Some("file"), &small(), Ok(&small())),
        (Some("host_device"), &vmdk, Ok(&vmdk)),
        // As in QEMU, content in an unknown format is raw.
        (None, &small(), Ok(&small_disk())),
        (None, &numbers, Ok(&numbers)),
        (None, &iso, Ok(&iso)),
        (None, &vmdk, Err(Unsupported)),
        (None, &[&b"LUKS\xba\xbe\0\x01"[..], &[0; 4088]].concat(), Err(Corrupt)),
        (None, &changed(small(), &[(20, &[0; 4])]), Err(Corrupt)),
    ];
    for (stated, content, reads) in cases {
        let case =
            Case { companions: vec![("base".to_owned(), content.to_vec())], ..Case::new(overlay("base", *stated)) };
        let mut expected = reads.map(|bytes| bytes[..bytes.len().min(8 * CLUSTER)].to_vec());
        expected = expected.map(|bytes| over(&bytes));
        match (case.bytes(), expected) {
            (Ok(bytes), Ok(expected)) => assert!(bytes == expected, "{stated:?}: other bytes"),
            (Err(error), Err(kind)) => {
                assert_eq!(error.kind, kind, "{stated:?}: {error}");
                assert!(error.message().contains("'base'"), "{error}");
            }
            (result, expected) => panic!("{stated:?}: {:?}, not {expected:?}", result.map(|bytes| bytes.len())),
        }
    }
    let guessed = Case { companions: vec![("base".to_owned(), numbered())], ..Case::new(overlay("base", None)) };
    let info = guessed.with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap();
    assert!(info.layers[1].guessed && info.safety.iter().any(|notice| notice.code == "guessed-raw"));
}

/// A raw layer may be shorter than the disk above, which may have grown, but it has whole sectors unless it was cut off.
#[test]
fn raw_layers_that_are_cut_off() {
    // (the size of the layer below a disk of 8 sectors, whether there is a notice)
    for (size, is_cut) in [(4096, false), (3584, false), (3585, false), (3583, true), (100, true), (0, false)] {
        let base = numbered()[..size].to_vec();
        let case =
            Case { companions: vec![("base".to_owned(), base.clone())], ..Case::new(overlay("base", Some("raw"))) };
        let info = case.with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap();
        let found: Vec<_> = info.safety.into_iter().filter(|notice| notice.code == "raw-layer-cut").collect();
        let fields = found.iter().map(|notice| ["file", "size"].map(|name| notice.fields.get(name).cloned()));
        let expected = [Some(Field::from("base")), Some(Field::from(size as u64))];
        assert_eq!(fields.collect::<Vec<_>>(), Vec::from_iter(is_cut.then_some(expected)), "{size}");
        assert!(case.bytes().unwrap() == over(&base), "{size}");
    }
}

#[test]
fn layers_that_are_marked_as_corrupt() {
    const INCOMPATIBLE_FEATURES: usize = 72;
    let marked = |image: Vec<u8>| changed(image, &[(INCOMPATIBLE_FEATURES, &2u64.to_be_bytes())]);
    let top = || overlay("base", Some("qcow2"));
    let message = "The image is marked as corrupt; it is read as it is";
    // (the image, its backing file, the message and the file of the notice)
    let cases = [
        (top(), small(), None),
        (marked(top()), small(), Some((message.to_owned(), None))),
        (top(), marked(small()), Some((format!("'base': {message}"), Some("base".into())))),
    ];
    for (image, base, expected) in cases {
        let case = Case { companions: vec![("base".to_owned(), base)], ..Case::new(image) };
        let info = case.with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap();
        let found: Vec<_> = info.safety.into_iter().filter(|notice| notice.code == "marked-corrupt").collect();
        let found = found.into_iter().map(|notice| (notice.message, notice.fields.get("file").cloned()));
        assert_eq!(found.collect::<Vec<_>>(), Vec::from_iter(expected));
    }
}

/// JSON descriptions of a backing file: they state its format if the image does not, and must not change its bytes.
#[test]
fn backing_files_described_in_json() {
    let with = |text: &str, stated| Case {
        companions: vec![("base".to_owned(), small())],
        ..Case::new(overlay(&format!("json:{text}"), stated))
    };
    let raw = r#"{"driver":"raw","file":{"driver":"file","filename":"/vm/base"}}"#;
    let qcow2 = r#"{"driver":"qcow2","file":{"driver":"file","filename":"/vm/base"}}"#;
    assert!(with(raw, None).bytes().unwrap() == over(&small()));
    assert!(with(qcow2, None).bytes().unwrap() == over(&small_disk()));
    assert!(with(qcow2, Some("qcow2")).bytes().unwrap() == over(&small_disk()));
    let offset = r#"{"driver":"raw","offset":512,"file":{"driver":"file","filename":"base"}}"#;
    let error = with(offset, Some("raw")).bytes().unwrap_err();
    assert!(error.kind == ErrorKind::Unsupported && error.message().contains("offset"), "{error}");
    let need = Case { companions: Vec::new(), ..with(qcow2, None) };
    let info = need.with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap();
    assert_eq!((&info.references[0].file_name[..], info.references[0].format.as_deref()), ("base", Some("qcow2")));
    assert!(matches!(&info.needs[..], [Need::MissingFile { file_name, .. }] if file_name == "base"));
}

/// The error names the file that must be copied again.
#[test]
fn damage_names_its_file() {
    // The first cluster is marked as compressed, but is not.
    let broken = changed(small(), &[(L2, &(COMPRESSED | DATA as u64).to_be_bytes())]);
    let over = changed(overlay("base.qcow2", Some("qcow2")), &[(L2, &[0; 8])]);
    let data = with_data_file("data.bin");
    // (image, companion, its content)
    let cases = [(over, "base.qcow2", broken), (data, "data.bin", vec![1; 700])];
    for (image, name, content) in cases {
        let error = Case { companions: vec![(name.to_owned(), content)], ..Case::new(image) }.bytes().unwrap_err();
        assert_eq!(error.kind, ErrorKind::Corrupt);
        assert!(error.message().starts_with(&format!("In '{name}': ")), "{error}");
    }
}

#[test]
fn circles_and_depth() {
    let companion = |name: &str, below: &str| (name.to_owned(), overlay(below, Some("qcow2")));
    // (image's name, its reference, companions)
    type Given<'a> = &'a [(&'a str, &'a str)];
    let circles: &[(&str, &str, Given)] =
        &[("a", "b", &[("b", "a")]), ("a", "b", &[("b", "b")]), ("a", "b", &[("b", "c"), ("c", "b")])];
    for (name, below, given) in circles {
        let case = Case {
            name: Some((*name).to_owned()),
            companions: given.iter().map(|(name, below)| companion(name, below)).collect(),
            ..Case::new(overlay(below, Some("qcow2")))
        };
        assert_eq!(case.bytes().unwrap_err().kind, ErrorKind::Corrupt, "{name} {below} {given:?}");
    }
    // The same name in another folder may be another file, which was not passed.
    let companions = vec![companion("b", "/x/c"), companion("c", "/y/b")];
    let case = Case { companions, ..Case::new(overlay("/x/b", Some("qcow2"))) };
    assert_eq!(case.bytes().unwrap_err().kind, ErrorKind::MissingFile);
    let chain = |layers: usize| {
        let mut companions: Vec<_> =
            (1..layers - 1).map(|at| companion(&format!("{at}"), &format!("{}", at + 1))).collect();
        companions.push((format!("{}", layers - 1), small()));
        Case { companions, ..Case::new(overlay("1", Some("qcow2"))) }
    };
    assert!(chain(MAX_LAYERS).bytes().unwrap() == over(&small_disk()));
    assert_eq!(chain(MAX_LAYERS + 1).bytes().unwrap_err().kind, ErrorKind::Limit);
}

#[test]
fn missing_files_are_reported_in_advance() {
    let case = Case {
        companions: vec![("middle".to_owned(), overlay("/x/base", None)), ("stray".to_owned(), vec![1; 10])],
        ..Case::new(overlay("middle", Some("qcow2")))
    };
    let info = case.with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap();
    assert_eq!(info.unused_companions, ["stray"]);
    assert!(matches!(&info.needs[..], [Need::MissingFile { name, of, .. }] if name == "/x/base" && of == "middle"));
    let error = case.bytes().unwrap_err();
    assert_eq!(error.kind, ErrorKind::MissingFile);
    assert!(error.message().contains("'/x/base', the backing file of 'middle'"), "{error}");
}

#[test]
fn a_missing_file_that_is_there_packed() {
    // (companion, the advice)
    for (given, advice) in [
        ("base.vmdk.gz", "is missing; unpack 'base.vmdk.gz' first, and pass its content"),
        ("Base.VMDK.zip", "is missing; unpack 'Base.VMDK.zip' first, and pass its content"),
        ("base.gz", "is missing; pass it"),
        ("base.vmdk.old", "is missing; pass it"),
    ] {
        let companions = vec![(given.to_owned(), vec![1; 10])];
        let error = Case { companions, ..Case::new(overlay("/x/base.vmdk", Some("vmdk"))) }.bytes().unwrap_err();
        assert_eq!(error.kind, ErrorKind::MissingFile, "{given}");
        assert!(error.message().contains(advice), "{given}: {error}");
    }
}

#[test]
fn ranges_covered_by_an_upper_layer_cost_nothing_below() {
    let folder = tempfile::tempdir().unwrap();
    let (base, top) = (folder.path().join("base.qcow2"), folder.path().join("top.qcow2"));
    // 4 KiB clusters: an L2 table describes 2 MiB.
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", "-o", "cluster_size=4k", text(&base), "16M"]);
    qemu("qemu-io", &["-c", "write -q -P 1 0 16M", text(&base)]);
    let over = ["create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", text(&base)];
    qemu("qemu-img", &[&over[..], &[text(&top), "16M"]].concat());
    // Of the tables below, the second to the seventh are not needed.
    qemu("qemu-io", &["-c", "write -q -P 2 2M 12M", "-c", "write -q -P 2 64k 64k", text(&top)]);
    let read = |path: &std::path::Path| std::fs::read(path).unwrap();
    let case = Case { companions: vec![(text(&base).to_owned(), read(&base))], ..Case::new(read(&top)) };
    for answers in ANSWERS {
        let converted = case.convert(answers, Abilities::default(), 1 << 20);
        converted.result.unwrap();
        let disk = converted.target.bytes.borrow();
        let expected =
            |at: usize| if (2 << 20..14 << 20).contains(&at) || (64 << 10..128 << 10).contains(&at) { 2 } else { 1 };
        assert!(disk.iter().enumerate().all(|(at, &byte)| byte == expected(at)));
        // The header, its cluster, the L1 table, two L2 tables, and 4 MiB less 64 KiB of data.
        let reads = converted.companions[0].reads.borrow();
        let bytes: u64 = reads.iter().map(|(_, len)| len).sum();
        assert!(
            bytes < (4 << 20) - (64 << 10) + (200 << 10),
            "{answers:?}: {bytes} bytes of the lower layer were read"
        );
        let tables = reads.iter().filter(|(_, len)| *len == 4096).count();
        assert!(tables <= 4, "{answers:?}: {reads:?}");
    }
}

#[test]
fn parts_of_a_compressed_cluster_below() {
    // Every second 4 KiB above, compressed clusters of 2 MiB below: each is decompressed once for a job, not for each
    // part.
    let folder = tempfile::tempdir().unwrap();
    let (base, top, raw) = (folder.path().join("b.qcow2"), folder.path().join("t.qcow2"), folder.path().join("raw"));
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", "-o", "cluster_size=2M", text(&base), "4M"]);
    qemu("qemu-io", &["-c", "write -q -c -P 7 0 2M", "-c", "write -q -c -P 8 2M 2M", text(&base)]);
    let over = ["create", "-q", "-f", "qcow2", "-F", "qcow2", "-o", "cluster_size=4k", "-b", text(&base)];
    qemu("qemu-img", &[&over[..], &[text(&top), "4M"]].concat());
    let writes: Vec<String> = (0..512).map(|at| format!("write -q -P 9 {}k 4k", at * 8)).collect();
    let args: Vec<&str> = writes.iter().flat_map(|write| ["-c", write]).chain([text(&top)]).collect();
    qemu("qemu-io", &args);
    let expected = qemu_reads(&top, &raw);
    let read = |path: &std::path::Path| std::fs::read(path).unwrap();
    let case = Case { companions: vec![(text(&base).to_owned(), read(&base))], ..Case::new(read(&top)) };
    for job in [8 << 10, 4 << 20] {
        let converted = case.convert(Answers::InOrder, Abilities::default(), job);
        converted.result.unwrap();
        assert!(*converted.target.bytes.borrow() == expected);
    }
}
