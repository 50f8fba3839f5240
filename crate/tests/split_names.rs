//! Names of the parts of split files.

use decant::open::split::{FirstPart, PartOfFile, part_among, split_files, wrong_size};

#[test]
fn parts_by_their_names() {
    // (what, names, the parts of each file)
    type Row<'a> = (&'a str, &'a [&'a str], &'a [&'a [&'a str]]);
    let rows: &[Row] = &[
        (
            "HJSplit",
            &["disk.raw.002", "disk.raw.001", "disk.raw.003"],
            &[&["disk.raw.001", "disk.raw.002", "disk.raw.003"]],
        ),
        ("OVF", &["d.vmdk.000000001", "d.vmdk.000000000"], &[&["d.vmdk.000000000", "d.vmdk.000000001"]]),
        ("more digits", &["d.1000", "d.001", "d.999"], &[&["d.001", "d.999", "d.1000"]]),
        (".part", &["d.img.part10", "d.img.part2", "d.img.part1"], &[&["d.img.part1", "d.img.part2", "d.img.part10"]]),
        (".Part", &["d.Part02", "d.Part01"], &[&["d.Part01", "d.Part02"]]),
        ("split", &["xab", "xaa", "xba", "xaz"], &[&["xaa", "xab", "xaz", "xba"]]),
        ("split -d", &["x01", "x00"], &[&["x00", "x01"]]),
        (
            "split with a prefix",
            &["d.img-ab", "d.img-aa", "d.imgaa", "d.imgab"],
            &[&["d.img-aa", "d.img-ab"], &["d.imgaa", "d.imgab"]],
        ),
        ("many", &["xzaab", "xzaaa", "xyz", "xaa"], &[&["xaa", "xyz", "xzaaa", "xzaab"]]),
        ("a prefix with z", &["d.xzaa", "d.xzab"], &[&["d.xzaa", "d.xzab"]]),
        ("paths", &["a/d.002", "a/d.001"], &[&["a/d.001", "a/d.002"]]),
        (
            "folders",
            &["x/a.001", "x/a.002", "y\\a.001", "y\\a.002"],
            &[&["x/a.001", "x/a.002"], &["y\\a.001", "y\\a.002"]],
        ),
        ("one part in each folder", &["a/d.002", "b/d.001"], &[]),
        ("split -a 3", &["xaab", "xaaa", "xaba", "xbaa"], &[&["xaaa", "xaab", "xaba", "xbaa"]]),
        (
            "prefixes that end in a and b",
            &["sdaaa", "sdbaa", "sdaab", "sdbab"],
            &[&["sdaaa", "sdaab"], &["sdbaa", "sdbab"]],
        ),
        ("one file or two, without the first", &["sdbab", "sdbaa", "sdaab"], &[&["sdaab", "sdbaa", "sdbab"]]),
        ("one file or two", &["sdaaa", "sdbaa", "sdaac", "sdbab"], &[&["sdaaa", "sdaac", "sdbaa", "sdbab"]]),
        (
            "one file or two, the second without the first",
            &["sdaaa", "sdaab", "sdbab"],
            &[&["sdaaa", "sdaab", "sdbab"]],
        ),
        ("similar names", &["sdbaa", "sdbab", "sdxyz", "sdb"], &[&["sdbaa", "sdbab"]]),
        ("a prefix that ends in a", &["dataaa", "dataab", "databa"], &[&["dataaa", "dataab", "databa"]]),
        ("split -x", &["x00", "x0a", "x09", "x10"], &[&["x00", "x09", "x0a", "x10"]]),
        ("names that are hexadecimal", &["d.00", "d.01", "d.db", "d.ba"], &[&["d.00", "d.01"]]),
        ("--additional-suffix", &["xab.img", "xaa.img", "xaa.raw", "xab"], &[&["xaa.img", "xab.img"]]),
        ("-d --additional-suffix", &["x01.img", "x00.img", "d.00.img", "d.01.img"], &[&["x00.img", "x01.img"]]),
        ("more digits and fewer", &["d.001", "d.01", "d.002", "d.02"], &[&["d.001", "d.002"], &["d.01", "d.02"]]),
        ("two files", &["a.001", "b.001", "a.002", "b.002"], &[&["a.001", "a.002"], &["b.001", "b.002"]]),
        ("one part", &["disk.raw.001", "disk.raw", "xaa"], &[]),
        ("without the first", &["d.002", "d.003", "xab", "xac"], &[]),
        (
            "extents of VMDK",
            &["d-s001.vmdk", "d-s002.vmdk", "d-f001.vmdk", "d-f002.vmdk", "d-000001.vmdk", "d-000002.vmdk"],
            &[],
        ),
        ("disks with numbers", &["vm1", "vm2", "disk01", "disk02", "d.1", "d.2", "disk-1.raw", "disk-2.raw"], &[]),
        (
            "letters of other scripts",
            &["dé.001", "dé.002", "éaa", "éab", "aaa", "aab", "aa", ""],
            &[&["aaa", "aab"], &["dé.001", "dé.002"], &["éaa", "éab"]],
        ),
        (
            "a name of one letter, repeated",
            &["aaaaaaaaaaaaaa", "aaaaaaaaaaaaab"],
            &[&["aaaaaaaaaaaaaa", "aaaaaaaaaaaaab"]],
        ),
        ("long numbers", &["d.0000000001", "d.0000000002", "d.part18446744073709551615"], &[]),
        ("no names", &[], &[]),
    ];
    for (what, names, parts) in rows {
        let found: Vec<Vec<_>> =
            split_files(names).iter().map(|file| file.iter().map(|&at| names[at]).collect()).collect();
        assert_eq!(found, *parts, "{what}");
    }
}

fn next(parts: &[usize]) -> Option<PartOfFile> {
    Some(PartOfFile { next: parts.to_vec(), ..PartOfFile::default() })
}

fn missing(parts: &[usize], name: &str) -> Option<PartOfFile> {
    Some(PartOfFile { next: parts.to_vec(), missing: Some(name.to_owned()), ..PartOfFile::default() })
}

fn later(first: &str, is_there: bool) -> Option<PartOfFile> {
    Some(PartOfFile { first: Some(FirstPart { name: first.to_owned(), is_there }), ..PartOfFile::default() })
}

fn unclear(other: usize) -> Option<PartOfFile> {
    Some(PartOfFile { other: Some(other), ..PartOfFile::default() })
}

fn among(names: &[impl AsRef<str>]) -> Option<PartOfFile> {
    let names: Vec<_> = names.iter().map(AsRef::as_ref).collect();
    part_among(&names).unwrap()
}

#[test]
fn the_image_among_its_parts() {
    let rows: &[(&[&str], Option<PartOfFile>)] = &[
        (&["d.001", "base", "d.003", "d.002"], next(&[3, 2])),
        (&["x/d.001", "y/d.002"], next(&[1])),
        (&["d.001"], next(&[])),
        (&["d.001", "d.004", "d.003"], missing(&[2, 1], "d.002")),
        (&["d.009", "d.001", "d.010"], later("d.001", true)),
        (&["d.002", "d.003"], later("d.001", false)),
        (&["d.000000003"], later("d.000000000", false)),
        (&["d.part3"], later("d.part1", false)),
        (&["xaa", "xac"], missing(&[1], "xab")),
        (&["xyz", "xaa"], later("xaa", true)),
        (&["d.part9", "d.part1", "d.part10"], later("d.part1", true)),
        (&["sdaaa", "sdaac", "sdbaa", "sdbab"], missing(&[1, 2, 3], "sdaab")),
        (&["sdbaa", "sdaac", "sdaaa", "sdbab"], unclear(2)),
        (&["sdaac", "sdbaa", "sdaaa", "sdbab"], unclear(1)),
        (&["sdbaa", "sdaab"], unclear(1)),
        (&["sdaab", "sdbaa"], unclear(1)),
        (&["sdaaa", "sdbab", "sdaab"], unclear(1)),
        (&["sdbaa", "sdaaa", "sdaab", "sdbab"], next(&[3])),
        (&["xab", "xac"], None),
        (&["disk.raw", "disk.rax"], None),
        (&["disk.qcow2"], None),
        (&[""], None),
        // Companions that are the image have no name.
        (&["d.001", "", "", "d.002"], next(&[3])),
    ];
    for (names, part) in rows {
        assert_eq!(&among(names), part, "{names:?}");
    }
    let letters = ('b'..='z').map(|letter| format!("xa{letter}"));
    let names: Vec<_> = ["xaa", "xba"].map(String::from).into_iter().chain(letters).chain(["xbc".to_owned()]).collect();
    let parts: Vec<_> = (2..27).chain([1, 27]).collect();
    assert_eq!(among(&names), missing(&parts, "xbb"));
    let names: Vec<_> = (1..10).chain([11]).map(|number| format!("d.{number:03}")).collect();
    assert_eq!(among(&names), missing(&[1, 2, 3, 4, 5, 6, 7, 8, 9], "d.010"));
}

const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";
const DIGITS: &str = "0123456789";
const HEX: &str = "0123456789abcdef";

/// All texts of `width` letters of `alphabet`, in order.
fn texts(alphabet: &str, width: usize) -> Vec<String> {
    let longer = |texts: Vec<String>, _| {
        texts.iter().flat_map(|text| alphabet.chars().map(move |letter| format!("{text}{letter}"))).collect()
    };
    (0..width).fold(vec![String::new()], longer)
}

#[test]
fn gaps() {
    let first = |texts: Vec<String>, count: usize, more: &[&str]| -> Vec<String> {
        texts.into_iter().take(count).chain(more.iter().map(|&text| text.to_owned())).collect()
    };
    let three = || first(texts(LETTERS, 3), 1000, &[]);
    let last_group: Vec<_> = texts(LETTERS, 1).iter().map(|letter| format!("az{letter}")).collect();
    let last_group: Vec<_> = last_group.iter().map(String::as_str).collect();
    // (what, texts of the numbers, those that are not there, the first of these if it is noticed)
    type Row<'a> = (&'a str, Vec<String>, &'a [&'a str], Option<&'a str>);
    let rows: &[Row] = &[
        ("letters", texts(LETTERS, 2), &[], None),
        ("letters with a gap", texts(LETTERS, 2), &["zb"], Some("zb")),
        ("letters with a gap where they may widen", texts(LETTERS, 2), &["za"], Some("za")),
        ("three letters", three(), &[], None),
        ("three letters with a gap", three(), &["bac"], Some("bac")),
        ("three letters with a gap at b", three(), &["baa"], Some("baa")),
        ("three letters with a gap of 26", three(), &last_group, Some("aza")),
        ("three letters with an early gap", three(), &["aac"], Some("aac")),
        ("digits", texts(DIGITS, 2), &[], None),
        ("digits with a gap where they may widen", texts(DIGITS, 2), &["90"], Some("90")),
        ("wider digits with a gap", first(texts(DIGITS, 2), 90, &["9000", "9001", "9002"]), &["9001"], Some("9001")),
        ("wider digits with a gap before", first(texts(DIGITS, 2), 90, &["9000", "9001"]), &["9000"], Some("9000")),
        ("hexadecimal", texts(HEX, 2), &[], None),
        ("hexadecimal with a gap", first(texts(HEX, 2), 40, &[]), &["0a"], Some("0a")),
        (
            "hexadecimal with a gap of letters",
            first(texts(HEX, 2), 30, &[]),
            &["0a", "0b", "0c", "0d", "0e", "0f"],
            Some("0a"),
        ),
        ("wider hexadecimal with a gap", first(texts(HEX, 2), 240, &["f000", "f001", "f002"]), &["f001"], Some("f001")),
    ];
    for (what, all, not_there, expected) in rows {
        let there = all.iter().filter(|text| !not_there.contains(&text.as_str()));
        let names: Vec<_> = there.map(|text| format!("x{text}")).collect();
        let part = among(&names).unwrap();
        assert_eq!(part.missing, expected.map(|text| format!("x{text}")), "{what}");
        if expected.is_none() {
            assert_eq!(part.next, (1..names.len()).collect::<Vec<_>>(), "{what}");
        }
    }
}

#[test]
fn the_same_part_twice_is_refused() {
    let error = part_among(&["d.001", "a/d.002", "b/d.002"]).unwrap_err();
    let expected = "'b/d.002' matches more than one file, and is a part of the image";
    assert_eq!((error.kind.name(), error.message()), ("usage", expected.to_owned()));
}

#[test]
fn sizes_of_parts() {
    // (what, sizes, the first wrong one)
    let rows: &[(&str, &[u64], Option<usize>)] = &[
        ("equal parts", &[9, 9, 9], None),
        ("a smaller last part", &[9, 9, 1], None),
        ("an empty last part", &[9, 9, 0], None),
        ("the rest in the last part, as from split -n", &[9, 9, 9, 11], None),
        ("the rest in the first parts, as from split -n", &[10, 10, 9, 9], None),
        ("more than the rest in the last part", &[9, 9, 9, 13], Some(3)),
        ("a smaller part", &[9, 8, 9], Some(1)),
        ("a smaller part before a smaller last part", &[9, 9, 8, 2], Some(2)),
        ("an empty part", &[9, 0, 9], Some(1)),
        ("a larger part", &[9, 9, 10, 9], Some(2)),
    ];
    for (what, sizes, wrong) in rows {
        assert_eq!(wrong_size(sizes), *wrong, "{what}");
    }
}
