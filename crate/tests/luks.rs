//! LUKS volumes by themselves: those of qemu-img, which reads only version 1, and of cryptsetup.

use crate::common::luks::{json_with, luks2_of};
use crate::common::*;
use decant::ErrorKind;
use decant::convert::Cancel;
use decant::disk::info::Info;
use futures_util::FutureExt;
use futures_util::future::ready;
use std::cell::RefCell;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;

const MIB: usize = 1 << 20;

/// A disk of 1 MiB with data at both ends.
fn disk() -> Vec<u8> {
    let mut disk: Vec<u8> = (0..MIB).map(|at| (at / 5) as u8 | 1).collect();
    disk[100_000..900_000].fill(0);
    disk
}

fn with_password(path: &Path, password: &str) -> Case {
    Case { password: Some(password.as_bytes().to_vec()), ..Case::new(std::fs::read(path).unwrap()) }
}

fn info(path: &Path) -> Info {
    let case = Case::new(std::fs::read(path).unwrap());
    case.with(Answers::InOrder, |image| async move { Ok(image.info()) }).unwrap()
}

/// Makes a volume of `raw` by qemu-img.
fn make(path: &Path, raw: &Path, options: &str) {
    let options = format!("key-secret=s,iter-time=10{options}");
    let (secret, size) = (["--object", "secret,id=s,data=secret"], MIB.to_string());
    qemu_img_for_luks(&[&["create", "-q", "-f", "luks"], &secret[..], &["-o", &options, text(path), &size]].concat());
    let volume = format!("driver=luks,file.filename={},key-secret=s", text(path));
    let args = [&["convert", "-n"], &secret[..], &["-f", "raw", text(raw), "--target-image-opts", &volume]].concat();
    qemu("qemu-img", &args);
}

#[test]
fn volumes_of_qemu_img() {
    let folder = tempfile::tempdir().unwrap();
    let (path, raw, back) = (folder.path().join("a.luks"), folder.path().join("a.raw"), folder.path().join("b.raw"));
    std::fs::write(&raw, disk()).unwrap();
    for options in [
        "",
        ",cipher-alg=aes-128,cipher-mode=cbc,ivgen-alg=essiv,ivgen-hash-alg=sha256,hash-alg=sha1",
        ",cipher-alg=serpent-256,hash-alg=sha512",
        ",cipher-alg=twofish-256,cipher-mode=ctr,ivgen-alg=plain,hash-alg=ripemd160",
    ] {
        make(&path, &raw, options);
        assert!(with_password(&path, "secret").bytes().unwrap() == disk(), "{options}");
        let volume = format!("driver=luks,file.filename={},key-secret=s", text(&path));
        let secret = ["--object", "secret,id=s,data=secret", "--image-opts"];
        qemu("qemu-img", &[&["convert", "-O", "raw"], &secret[..], &[&volume, text(&back)]].concat());
        assert!(std::fs::read(&back).unwrap() == disk(), "{options}: other bytes by qemu-img");
        let wrong = with_password(&path, "Secret").bytes().unwrap_err();
        assert_eq!((wrong.kind, &*wrong.code), (ErrorKind::Password, "password-wrong"), "{options}");
        let needed = Case::new(std::fs::read(&path).unwrap()).bytes().unwrap_err();
        assert_eq!(needed.code, "password-needed", "{options}");
        let said = qemu("qemu-img", &["info", "--output=json", text(&path)]);
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        let info = info(&path);
        assert_eq!(said["format-specific"]["data"], serde_json::to_value(&info.specific).unwrap(), "{options}");
        assert_eq!((info.format, info.version, info.virtual_size), ("luks", Some(1), Some(MIB as u64)));
    }
}

/// Argon2 in 128 MiB and two passes: it is 8 steps.
#[test]
fn argon2_reports_progress_and_can_be_cancelled() {
    const KDF: &str = r#""kdf":{"type":"argon2id","time":2,"memory":131072,"cpus":2,"salt""#;
    let volume =
        luks2_of(&json_with(&[(r#""kdf":{"type":"pbkdf2","hash":"sha256","iterations":10,"salt""#, KDF)]), 512, 0);
    let unlocked = Case::new(volume).with(Answers::InOrder, |image| async move {
        let (shares, cancel) = (Rc::new(RefCell::new(Vec::new())), Cancel::default());
        let seen: Rc<RefCell<Vec<f64>>> = shares.clone();
        let pause = move |share: f64| {
            seen.borrow_mut().push(share);
            if share >= 0.3 {
                cancel.cancel();
            }
            ready(cancel.check()).boxed_local()
        };
        let unlocked = image.unlock_next(b"secret", false, &pause).await;
        let shares = shares.borrow().clone();
        Ok((unlocked.unwrap_err().kind, shares))
    });
    let (kind, shares) = unlocked.unwrap();
    assert_eq!(kind, ErrorKind::Cancelled);
    assert!(shares.is_sorted(), "{shares:?}");
    let within = |share: &&f64| (0.1..0.5).contains(*share);
    assert!(shares.iter().filter(within).count() == 3 && shares.iter().all(|&share| share < 0.5), "{shares:?}");
}

/// Overlays: QEMU reads a stated format, and recognises an unstated one.
#[test]
fn a_volume_as_a_backing_file() {
    let folder = tempfile::tempdir().unwrap();
    let (path, raw, top) = (folder.path().join("a.luks"), folder.path().join("a.raw"), folder.path().join("top.qcow2"));
    std::fs::write(&raw, disk()).unwrap();
    make(&path, &raw, "");
    qemu("qemu-img", &["create", "-q", "-f", "qcow2", "-o", "cluster_size=512", text(&top), &MIB.to_string()]);
    qemu("qemu-io", &["-c", "write -q -P 9 512 512", "-c", "write -q -P 9 900k 1k", text(&top)]);
    let mut expected = disk();
    expected[512..1024].fill(9);
    expected[900 << 10..901 << 10].fill(9);
    for options in [&["-F", "luks"][..], &[]] {
        let rebase = [&["rebase", "-u", "-b", "a.luks"], options, &[text(&top)]].concat();
        let output = Command::new("qemu-img").args(&rebase).output().unwrap();
        // qemu-img 7.2 wants the format to be stated.
        if !output.status.success() {
            continue;
        }
        let companions = vec![("a.luks".to_owned(), std::fs::read(&path).unwrap())];
        let case = Case { companions, ..with_password(&top, "secret") };
        assert!(case.bytes().unwrap() == expected, "{options:?}");
    }
}

/// Runs cryptsetup with `password` as standard input; it must succeed.
fn cryptsetup(args: &[&str], password: &str) {
    const COMMON: [&str; 3] = ["--batch-mode", "--disable-locks", "--key-file=-"];
    let folder = std::env::var("PATH").unwrap() + ":/usr/sbin:/sbin";
    let script = format!("printf %s '{password}' | exec cryptsetup \"$@\"");
    let all = [&["-c", &script, "sh"], args, &COMMON[..]].concat();
    let output = Command::new("sh").args(all).env("PATH", folder).output().unwrap();
    let told = [&output.stdout[..], &output.stderr].concat();
    assert!(output.status.success(), "cryptsetup {args:?}: {}", String::from_utf8_lossy(&told));
}

const FAST: [&str; 2] = ["--pbkdf=pbkdf2", "--pbkdf-force-iterations=1000"];
const ARGON2: [&str; 3] = ["--pbkdf-force-iterations=4", "--pbkdf-memory=1024", "--pbkdf-parallel=3"];
/// The room that cryptsetup needs after the disk to encrypt it in place.
const ROOM: usize = 32 * MIB;

/// Lets cryptsetup encrypt `disk` at `path`, in place.
fn encrypt(path: &Path, options: &[&str]) {
    let mut file = disk();
    file.resize(MIB + ROOM, 0);
    std::fs::write(path, file).unwrap();
    let how = ["reencrypt", "--encrypt", "--type=luks2", "--reduce-device-size=32M", "--use-urandom"];
    cryptsetup(&[&how, options, &[text(path)]].concat(), "secret");
}

/// Asserts that `case` reads as `disk`, which cryptsetup moved by half of the room. The other half is not defined.
fn assert_reads(case: &Case, what: &str) {
    let found = case.bytes().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(found.len(), MIB + ROOM / 2, "{what}");
    assert!(found[..MIB] == disk(), "{what}: other bytes");
}

fn check_cryptsetup(rows: &[(&str, &[&str])]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.luks");
    for (what, options) in rows {
        encrypt(&path, options);
        assert_reads(&with_password(&path, "secret"), what);
        let wrong = with_password(&path, "Secret").bytes().unwrap_err();
        assert_eq!(wrong.kind, ErrorKind::Password, "{what}");
    }
}

#[test]
fn volumes_of_cryptsetup() {
    check_cryptsetup(&[("argon2id and sectors of 4 KiB", &[&ARGON2[..], &["--sector-size=4096"]].concat())]);
}

mod full {
    use super::*;

    #[test]
    fn volumes_of_cryptsetup_of_each_kind() {
        let with = |options: &[&'static str], more: &[&'static str]| [options, more].concat();
        let rows = [
            ("argon2id", with(&ARGON2, &["--pbkdf=argon2id"])),
            ("argon2i", with(&ARGON2, &["--pbkdf=argon2i"])),
            ("PBKDF2", with(&FAST, &[])),
            ("SHA-512", with(&FAST, &["--hash=sha512"])),
            ("SHA-1", with(&FAST, &["--hash=sha1"])),
            ("AES-128", with(&FAST, &["--key-size=256"])),
            ("CBC with ESSIV", with(&FAST, &["--cipher=aes-cbc-essiv:sha256", "--key-size=256"])),
            (
                "CBC in large sectors",
                with(&FAST, &["--cipher=aes-cbc-plain64", "--key-size=128", "--sector-size=2048"]),
            ),
            ("sectors of 1 KiB", with(&FAST, &["--sector-size=1024"])),
            ("a large header", with(&FAST, &["--luks2-metadata-size=128k"])),
        ];
        let rows: Vec<_> = rows.iter().map(|(what, options)| (*what, &options[..])).collect();
        check_cryptsetup(&rows);
    }

    #[test]
    fn any_key_slot_opens() {
        let folder = tempfile::tempdir().unwrap();
        let (path, second) = (folder.path().join("a.luks"), folder.path().join("second"));
        encrypt(&path, &FAST);
        std::fs::write(&second, "second").unwrap();
        cryptsetup(&[&["luksAddKey"], &ARGON2[..], &[text(&path), text(&second)]].concat(), "secret");
        for password in ["secret", "second"] {
            assert_reads(&with_password(&path, password), password);
        }
        // An unbound key slot, and one that is ignored.
        std::fs::write(&second, "third").unwrap();
        let unbound = ["luksAddKey", "--unbound", "--key-size=512"];
        cryptsetup(&[&unbound, &FAST[..], &[text(&path), text(&second)]].concat(), "secret");
        assert_eq!(with_password(&path, "third").bytes().unwrap_err().code, "password-wrong");
        cryptsetup(&["config", "--key-slot=1", "--priority=ignore", text(&path)], "");
        assert_reads(&with_password(&path, "secret"), "beside an ignored slot");
        assert_eq!(with_password(&path, "second").bytes().unwrap_err().code, "password-wrong");
        cryptsetup(&["luksKillSlot", text(&path), "0"], "");
        assert_reads(&with_password(&path, "second"), "an ignored slot alone");
    }

    #[test]
    fn version_1_of_cryptsetup() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.luks");
        encrypt(&path, &FAST);
        cryptsetup(&["convert", "--type=luks1", text(&path)], "");
        assert_reads(&with_password(&path, "secret"), "converted");
    }
}
