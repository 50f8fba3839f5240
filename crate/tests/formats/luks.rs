//! LUKS for the suite.

use super::{Extreme, Format, Listing, Sample};
use crate::common::luks::*;
use crate::common::salvage::check_damage;
use crate::common::small::changed;
use crate::common::table::Reads::{self, *};
use crate::common::table::{Row, check_changed_files, check_changes};
use crate::common::{Answers, Case};
use decant::ErrorKind::*;
use decant::disk::losses::Lost;
use decant::format::luks::*;
use decant::offsets::GuestOffset;

pub const FORMAT: Format = Format { name: "luks", samples, fields, damage, listings, extremes };

/// Every whole sector after `payload` is the end of a complete volume, whose size is not recorded. A header alone is a backup.
fn sectors(payload: usize, file: &[u8]) -> Vec<usize> {
    (payload + 512..file.len()).step_by(512).collect()
}

/// A case of `image` with its password.
fn unlocked(image: Vec<u8>) -> Case {
    Case { password: Some(PASSWORD.to_vec()), ..Case::new(image) }
}

fn fixed() -> String {
    json_with(&[(r#""size":"dynamic""#, r#""size":"4096""#)])
}

fn samples() -> Vec<Sample> {
    let end = BINARY + json().len();
    let of_copies = vec![0..512, BINARY..end, COPY..COPY + 512, COPY + BINARY..COPY + end];
    let sample = |what: &str, file: Vec<u8>| Sample {
        case: unlocked,
        signature: (6, NotRecognised),
        ..Sample::new(what, file, disk())
    };
    vec![
        Sample {
            also_whole: sectors(PAYLOAD_1, &luks1()),
            salvaged: PAYLOAD_1 + 4096..usize::MAX,
            // The numbers of iterations stay: large ones take long.
            tables: vec![0..164, 168..212, 216..592, 1024..1536],
            ..sample("version 1", luks1())
        },
        Sample {
            also_whole: sectors(PAYLOAD, &luks2()),
            salvaged: PAYLOAD + 4096..usize::MAX,
            tables: of_copies.clone(),
            step: 61,
            ..sample("version 2", luks2())
        },
        Sample {
            // The second copy of the header is in the file, or its end is noticed.
            salvaged: 2 * COPY + 512..usize::MAX,
            tables: of_copies,
            step: 61,
            case: |file| unlocked(summed(file)),
            ..sample("version 2 of known size, with right checksums", luks2_of(&fixed(), 512, 0))
        },
    ]
}

fn fields() {
    fields_of_version_1();
    copies_of_version_2();
    json_of_version_2();
}

fn fields_of_version_1() {
    let be32 = |value: u32| value.to_be_bytes();
    let slot = 208;
    let rows: &[Row] = &[
        ("nothing", &[], Same),
        ("magic", &[(3, b"!")], Fails(NotRecognised, "not in a known disk image format")),
        ("version 0", &[(6, &[0, 0])], Fails(Unsupported, "version 0 of LUKS")),
        ("version 3", &[(6, &[0, 3])], Fails(Unsupported, "version 3 of LUKS")),
        ("cipher", &[(8, b"des")], Fails(Unsupported, "'des-xts-plain64'")),
        ("mode", &[(40, b"lrw")], Fails(Unsupported, "'aes-lrw-plain64'")),
        ("hash", &[(72, b"md4\0\0\0")], Fails(Unsupported, "md4")),
        ("no payload", &[(104, &be32(0))], Fails(Unsupported, "detached header")),
        ("a payload past the end", &[(104, &be32(12))], Fails(Corrupt, "truncated")),
        ("a payload far past the end", &[(104, &be32(u32::MAX))], Fails(Corrupt, "impossible position")),
        ("a payload at the end", &[(104, &be32(11))], Fails(Corrupt, "truncated")),
        ("no key", &[(108, &be32(0))], Fails(Corrupt, "key has 0 bytes")),
        ("a long key", &[(108, &be32(65))], Fails(Corrupt, "key has 65 bytes")),
        ("another digest", &[(112, &[0; 20])], Fails(Password, "wrong")),
        ("no iterations of the digest", &[(164, &be32(0))], Fails(Corrupt, "no iterations")),
        ("absurd iterations", &[(slot + 4, &be32(u32::MAX))], Fails(Limit, "iterations")),
        ("no active slot", &[(slot, &be32(0x0000_dead))], Fails(Password, "wrong")),
        ("key material past the end", &[(slot + 40, &be32(100))], Fails(Corrupt, "truncated")),
        ("stripes past the end", &[(slot + 44, &be32(4000))], Fails(Corrupt, "truncated")),
        ("absurd stripes", &[(slot + 44, &be32(u32::MAX))], Fails(Limit, "stripes")),
    ];
    check_changes(&unlocked(luks1()), &disk(), rows);
    let wrong = Case { password: Some(b"Secret".to_vec()), ..unlocked(luks1()) };
    assert_eq!(wrong.bytes().unwrap_err().code, "password-wrong");
    let raw = Case { format: Some("raw".to_owned()), ..Case::new(luks1()) };
    assert!(raw.bytes().unwrap() == luks1(), "a volume that is stated as raw is kept");
    for (volume, payload) in [(luks1(), PAYLOAD_1), (luks2(), PAYLOAD)] {
        for salvage in [false, true] {
            let error = Case { salvage, ..Case::new(volume[..payload].to_vec()) }.bytes().unwrap_err();
            assert_eq!(error.code, "luks-header-only", "{error}");
        }
    }
}

/// Which copy of the header counts.
fn copies_of_version_2() {
    let other = json_with(&[("aes-xts-plain64\",\"sector", "des-xts-plain64\",\"sector")]);
    let with = |first: &str, second: &str, sequence: [u64; 2]| {
        let (first, second) = (copies(first, sequence), copies(second, sequence));
        [&first[..COPY], &second[COPY..], &luks2()[2 * COPY..]].concat()
    };
    let damaged = |number: usize| -> (usize, &[u8]) { (number * COPY + BINARY, b"!") };
    let is_other = || Fails(Unsupported, "'des-xts-plain64'");
    let is_corrupt = || Fails(Corrupt, "neither copy of the LUKS header is valid");
    // (contents and sequence numbers of the copies, the change, the copy that is read)
    type Copies<'a> = (&'a str, Vec<u8>, Vec<(usize, &'a [u8])>, Reads<'a>);
    let rows: Vec<Copies> = vec![
        ("equal ones", with(&json(), &other, [5, 5]), vec![], Same),
        ("a newer second one", with(&json(), &other, [5, 6]), vec![], is_other()),
        ("an older second one", with(&json(), &other, [6, 5]), vec![], Same),
        ("a damaged first one", with(&json(), &other, [6, 5]), vec![damaged(0)], is_other()),
        ("a damaged second one", with(&json(), &other, [5, 6]), vec![damaged(1)], Same),
        ("two damaged ones", luks2(), vec![damaged(0), damaged(1)], is_corrupt()),
        ("a first one of unknown length", with(&other, &json(), [5, 5]), vec![(8, &[0xff; 8])], Same),
        ("a first one of another length", with(&other, &json(), [5, 5]), vec![(13, &[1])], Same),
        ("a first one in another place", with(&other, &json(), [5, 5]), vec![(263, &[1])], Same),
        ("no second one", with(&json(), &other, [5, 6]), vec![(COPY, b"X")], Same),
        ("an unknown checksum", with(&json(), &other, [5, 6]), vec![(72, b"crc32\0")], is_other()),
    ];
    for (what, image, changes, reads) in rows {
        let base = unlocked(image.clone());
        check_changed_files(&image, &|image| Case { image, ..base.clone() }, &disk(), &[(what, &changes, reads)]);
        let is_damaged = !changes.is_empty();
        if let Ok(info) =
            Case::new(changed(image, &changes)).with(Answers::InOrder, |image| async move { Ok(image.info()) })
        {
            let codes: Vec<_> = info.safety.iter().map(|notice| notice.code).collect();
            let specific = serde_json::to_value(&info.specific).unwrap();
            assert_eq!((&specific["version"], info.version), (&2.into(), Some(2)), "{what}");
            assert_eq!(codes, if is_damaged { &["luks-header-damaged"][..] } else { &[] }, "{what}");
        }
    }
}

fn json_of_version_2() {
    let slot = |changes: &[(&str, &str)]| json_with(changes);
    let kdf = |kdf: &str| {
        let all = json();
        let (start, end) = (all.find(r#""kdf":{"#).unwrap() + 7, all.find(r#","salt""#).unwrap());
        format!("{}{kdf}{}", &all[..start], &all[end..])
    };
    let one = |before: &str, after: &str| slot(&[(before, after)]);
    let huge = "4294967295";
    let requirement = |name: &str| format!(r#""config":{{"requirements":{{"mandatory":["{name}"]}},"#);
    let ignored = r#""0":{"priority":0,"type":"luks2""#;
    let second = r#""segments":{"1":{"type":"linear","offset":"0","size":"512"},"0":"#;
    let integrity = r#""integrity":{"type":"hmac(sha256)"},"sector_size""#;
    let large = |sector: &str| one(r#""sector_size":512"#, &format!(r#""sector_size":{sector}"#));
    let rows: Vec<(&str, String, Reads)> = vec![
        ("nothing", json(), Same),
        ("spaces", json().replace(',', " ,\n\t"), Same),
        ("not JSON", "{".to_owned(), Fails(Corrupt, "not valid JSON")),
        ("nothing at all", "{}".to_owned(), Fails(Unsupported, "another number of segments than one: '0'")),
        (
            "a reencryption",
            one(r#""config":{"#, &requirement("online-reencrypt-v2")),
            Fails(Unsupported, "--resume-only"),
        ),
        ("a requirement", one(r#""config":{"#, &requirement("opal")), Fails(Unsupported, "requirement 'opal'")),
        ("two segments", one(r#""segments":{"0":"#, second), Fails(Unsupported, "than one: '2'")),
        ("a linear segment", one(r#""type":"crypt""#, r#""type":"linear""#), Fails(Unsupported, "'linear'")),
        ("data integrity", one(r#""sector_size""#, integrity), Fails(Unsupported, "integrity by 'hmac(sha256)'")),
        ("no offset", one(&format!(r#""offset":"{PAYLOAD}","#), ""), Fails(Corrupt, "lacks segments.0.offset")),
        ("a detached header", one(&PAYLOAD.to_string(), "0"), Fails(Unsupported, "detached header")),
        ("an odd offset", one(&PAYLOAD.to_string(), "33281"), Fails(Corrupt, "whole sectors")),
        ("an absurd offset", one(&PAYLOAD.to_string(), "9223372036854775296"), Fails(Corrupt, "impossible position")),
        ("a negative offset", one(&PAYLOAD.to_string(), "-1"), Fails(Corrupt, "invalid segments.0.offset")),
        ("a known size", fixed(), Same),
        ("a small size", one("dynamic", "512"), Bytes(disk()[..512].to_vec())),
        ("a large size", one("dynamic", "8192"), Fails(Corrupt, "truncated")),
        ("an odd size", one("dynamic", "513"), Fails(Corrupt, "whole sectors")),
        ("a size that is not a number", one("dynamic", "static"), Fails(Corrupt, "invalid segments.0.size")),
        ("sectors of 256 bytes", large("256"), Fails(Corrupt, "sector of the LUKS2 volume has 256 bytes")),
        ("sectors of 8192 bytes", large("8192"), Fails(Corrupt, "sector of the LUKS2 volume has 8192 bytes")),
        ("no digest", one(r#""segments":["0"]"#, r#""segments":["1"]"#), Fails(Corrupt, "no digest")),
        (
            "a digest of another type",
            one(r#""0":{"type":"pbkdf2","keyslots""#, r#""0":{"type":"scrypt","keyslots""#),
            Fails(Unsupported, "'scrypt'"),
        ),
        (
            "an unbound key slot",
            one(r#""keyslots":["0"]"#, r#""keyslots":[]"#),
            Fails(Unsupported, "without a key slot"),
        ),
        (
            "a reencryption slot",
            one(r#""type":"luks2""#, r#""type":"reencrypt""#),
            Fails(Unsupported, "without a key slot"),
        ),
        ("an ignored key slot", one(r#""0":{"type":"luks2""#, ignored), Same),
        ("a key of 31 bytes", one(r#""key_size":32,"af""#, r#""key_size":31,"af""#), Fails(Password, "wrong")),
        ("a short key", one(r#""key_size":32,"af""#, r#""key_size":8,"af""#), Fails(Corrupt, "has 8 as")),
        ("a long key", one(r#""key_size":32,"af""#, r#""key_size":65,"af""#), Fails(Corrupt, "has 65 as")),
        (
            "another splitting",
            one(r#""luks1""#, r#""luks2-af""#),
            Fails(Unsupported, "splitting of the type 'luks2-af'"),
        ),
        ("no stripes", one(r#""stripes":1"#, r#""stripes":0"#), Fails(Corrupt, "has 0 as")),
        ("absurd stripes", one(r#""stripes":1"#, r#""stripes":4001"#), Fails(Corrupt, "has 4001 as")),
        ("the hash of stripes", one(r#"1,"hash":"sha256""#, r#"1,"hash":"md4""#), Fails(Unsupported, "md4")),
        ("the place of the key", one(&MATERIAL.to_string(), "99999"), Fails(Corrupt, "truncated")),
        (
            "the far place of the key",
            one(&MATERIAL.to_string(), "18446744073709551615"),
            Fails(Corrupt, "impossible position"),
        ),
        ("the salt", one("AwMD", "AwM="), Fails(Corrupt, "invalid digests.0.salt")),
        ("iterations", kdf(r#""type":"pbkdf2","hash":"sha256","iterations":0"#), Fails(Corrupt, "has 0 as")),
        (
            "absurd iterations",
            kdf(&format!(r#""type":"pbkdf2","hash":"sha256","iterations":{huge}"#)),
            Fails(Limit, "iterations"),
        ),
        ("a derivation", kdf(r#""type":"scrypt""#), Fails(Unsupported, "key derivation 'scrypt'")),
        (
            "Argon2 of another password",
            kdf(r#""type":"argon2i","time":1,"memory":8,"cpus":1"#),
            Fails(Password, "wrong"),
        ),
        (
            "Argon2 without memory",
            kdf(r#""type":"argon2id","time":1,"memory":31,"cpus":4"#),
            Fails(Corrupt, "has 31 as keyslots.0.kdf.memory"),
        ),
        (
            "more memory than 1 GiB",
            kdf(r#""type":"argon2id","time":1,"memory":1048577,"cpus":4"#),
            Fails(Limit, "1073742848 bytes of memory"),
        ),
        (
            "Argon2 for hours",
            kdf(&format!(r#""type":"argon2id","time":{huge},"memory":1048576,"cpus":4"#)),
            Fails(Limit, "iterations"),
        ),
        (
            "absurdly many lanes",
            kdf(&format!(r#""type":"argon2id","time":1,"memory":1048576,"cpus":{huge}"#)),
            Fails(Corrupt, "keyslots.0.kdf.cpus"),
        ),
        (
            "a long name",
            one("aes-xts-plain64\",\"sector", &format!("{}\",\"sector", "a".repeat(65))),
            Fails(Corrupt, "too long"),
        ),
        ("a hostile name", one(r#""crypt""#, r#""a\u001b[31m""#), Fails(Unsupported, r"a\u001b[31m")),
    ];
    for (what, json, reads) in rows {
        check_changes(&unlocked(luks2()), &disk(), &[(what, &[(0, &copies(&json, [5, 5]))], reads)]);
    }
    for sector in [512, 1024, 2048, 4096] {
        for iv_tweak in [0, 7, u64::MAX - 3] {
            let json = json_with(&[
                (r#""sector_size":512"#, &format!(r#""sector_size":{sector}"#)),
                (r#""iv_tweak":"0""#, &format!(r#""iv_tweak":"{iv_tweak}""#)),
            ]);
            let found = unlocked(luks2_of(&json, sector, iv_tweak)).bytes().unwrap();
            assert!(found == disk(), "sectors of {sector} bytes from {iv_tweak}");
        }
    }
}

fn damage() {
    let lost = |start, len| Lost { start: GuestOffset(start), len, damage: PAYLOAD_TRUNCATED };
    let json = |sector: &str| {
        json_with(&[(r#""sector_size":512"#, &format!(r#""sector_size":{sector}"#)), ("dynamic", "4096")])
    };
    let cut = |file: Vec<u8>, len: usize| file[..len].to_vec();
    let rows = [
        ("nothing", luks1(), vec![]),
        ("a part of the last sector", cut(luks1(), PAYLOAD_1 + 4095), vec![lost(3584, 512)]),
        ("a part of a known size", cut(luks2_of(&fixed(), 512, 0), PAYLOAD + 1000), vec![lost(512, 3584)]),
        ("half of a large sector", cut(luks2_of(&json("2048"), 2048, 0), PAYLOAD + 3072), vec![lost(2048, 2048)]),
        ("all of a known size", cut(luks2_of(&fixed(), 512, 0), PAYLOAD), vec![lost(0, 4096)]),
    ];
    for (what, image, lost) in rows {
        check_damage(what, &unlocked(image), &disk(), &lost);
    }
}

/// There are no tables.
fn listings() -> Vec<Listing> {
    Vec::new()
}

fn extremes() -> Vec<Extreme> {
    let sized = |size: &str| luks2_of(&json_with(&[("dynamic", size)]), 512, 0);
    vec![
        Extreme { what: "a disk of 2^53 bytes", file: sized("9007199254740992"), size: Err(Limit) },
        Extreme { what: "a disk of 2^64-512 bytes", file: sized("18446744073709551104"), size: Err(Limit) },
    ]
}
