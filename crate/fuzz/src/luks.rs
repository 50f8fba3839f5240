//! LUKS volumes: valid ones, as small and fast as possible, for changes.

use super::examine::{Seen, compare_once, examine};
use super::files::Files;
use super::luks_writer::*;
use super::reference::luks::BY_ARGON2;
use super::{changes, spans};
use std::ops::Range;

/// The number of volumes.
pub const BASES: u8 = 5;

const ARGON2: &str = r#""type":"argon2id","time":1,"memory":8,"cpus":1"#;
const PBKDF2: &str = r#""kdf":{"type":"pbkdf2","hash":"sha256","iterations":10"#;

/// Characters that replace characters of the JSON.
const SIGNS: &[u8] = b"00123456789\"\"{}[]::,,.-+eE\\u' at";

thread_local! {
    static VOLUMES: Vec<Vec<u8>> = (0..BASES).map(base).collect();
}

/// The volume number `number`, modulo their number.
pub fn base(number: u8) -> Vec<u8> {
    match number % BASES {
        0 => luks1(),
        1 => luks2(),
        2 => luks2_of(&json_with(&[(r#""size":"dynamic""#, r#""size":"3584""#)]), 512, 0),
        3 => {
            let other = [(r#""sector_size":512"#, r#""sector_size":4096"#), (r#""iv_tweak":"0""#, r#""iv_tweak":"8""#)];
            luks2_of(&json_with(&other), 4096, 8)
        }
        _ => {
            let mut file = luks2_of(&json_with(&[(PBKDF2, &format!("\"kdf\":{{{ARGON2}"))]), 512, 0);
            let material = [&key()[..], &[0; 480]].concat();
            file[MATERIAL..PAYLOAD].copy_from_slice(&encrypted(&BY_ARGON2, 512, 0, material));
            file
        }
    }
}

/// The parts of a volume that are not padding.
fn parts(file: &[u8]) -> Vec<Range<usize>> {
    if file[7] == 1 {
        return vec![0..168, 208..304, 1024..1056, PAYLOAD_1..file.len()];
    }
    let end = BINARY + json_len(file);
    vec![
        0..512,
        BINARY..end + 8,
        COPY..COPY + 512,
        COPY + BINARY..COPY + end + 8,
        MATERIAL..MATERIAL + 32,
        PAYLOAD..file.len(),
    ]
}

fn json_len(file: &[u8]) -> usize {
    file[BINARY..COPY].iter().position(|&byte| byte == 0).expect("JSON ends with a zero")
}

/// Changes of JSON, four bytes each: what to do, where (16 bits), and a sign or a length.
fn edited(mut json: Vec<u8>, changes: &[u8]) -> Vec<u8> {
    for change in changes.chunks_exact(4).take(4) {
        let at = usize::from(u16::from_le_bytes([change[1], change[2]])) % json.len().max(1);
        let digit = json[at..].iter().position(u8::is_ascii_digit).map_or(at, |next| at + next);
        let (sign, number) = (SIGNS[usize::from(change[3]) % SIGNS.len()], b'0' + change[3] % 10);
        let end = |most: u8| (at + 1 + usize::from(change[3] % most)).min(json.len());
        match change[0] % 8 {
            0 => json[at] = sign,
            1 => json.insert(at, sign),
            2 => drop(json.drain(at..end(8))),
            3 => {
                let part = json[at..end(64)].to_vec();
                json.splice(at..at, part);
            }
            4 => json.insert(digit, number),
            _ => json[digit] = number,
        }
        if json.is_empty() {
            break;
        }
    }
    json.truncate(COPY - BINARY - 1);
    json
}

/// Interprets `input` as changes to one of the volumes. Bits of the second byte state how, and whether the checksums of
/// headers are corrected.
pub fn luks(input: &[u8]) -> Seen {
    let [number, how, rest @ ..] = input else { return Seen::default() };
    let mut file = VOLUMES.with(|volumes| volumes[usize::from(number % BASES)].clone());
    let is_first = file[7] == 1;
    if how & 4 != 0 && !is_first {
        let len = json_len(&file);
        let mut json = edited(file[BINARY..BINARY + len].to_vec(), rest);
        json.resize(COPY - BINARY, 0);
        let copies: &[usize] = if how & 8 == 0 { &[0] } else { &[0, COPY] };
        copies.iter().for_each(|copy| file[copy + BINARY..copy + COPY].copy_from_slice(&json));
    } else {
        let parts = parts(&file);
        let change = if how & 1 == 0 { changes::apply } else { changes::anywhere };
        let changed = change(spans::gathered(&file, &parts), rest);
        spans::scatter(&mut file, &parts, &changed);
    }
    check(if how & 6 != 0 && !is_first { summed(file) } else { file }, how & 0x70 == 0)
}

/// Opens and converts a volume with its password, in several ways if it should be `examined`.
pub fn check(file: Vec<u8>, examined: bool) -> Seen {
    let files = Files { image: file.into(), companions: Vec::new(), password: Some(PASSWORD.to_vec()) };
    if examined { examine(&files) } else { compare_once(&files) }
}
