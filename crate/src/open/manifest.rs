//! The manifest of an OVA: a list of file digests (DSP0243, section 5.1), one per line: `SHA256(disk.vmdk)= 01ab...`.

use crate::container::Member;
use crate::disk::info::Notice;
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{read_exact, zeroed};
use crate::io::stream::{ByteStream, FileStream};
use crate::offsets::{ByteRange, HostOffset};
use crate::open::split;
use decant_codec::Hash;
use decant_codec::hash::hasher;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// Maximum size of a manifest, in bytes; longer ones are not checked.
const LONGEST: u64 = 1 << 20;
/// Size of the read buffer for hashing, in bytes.
const READ: usize = 512 << 10;

/// An archive with a manifest.
pub struct Manifest {
    members: Rc<[Member]>,
    is_checked: bool,
}

impl Manifest {
    /// Finds the manifest of the archive with `members`. `check` states whether files are compared with it; by default
    /// they are if the archive is a local file that workers can open, and not salvaged.
    pub fn of(members: Rc<[Member]>, check: Option<bool>, salvage: bool) -> Option<Self> {
        let manifest = members.iter().find(|member| is_manifest(member))?;
        let is_local = manifest.source.profile().opened_by_workers;
        let is_checked = check.unwrap_or(is_local && !salvage);
        Some(Self { members, is_checked })
    }

    /// Compares all listed files with their digests. Returns a notice if any comparison was skipped. Fails with
    /// `corrupt` if a digest differs or a piece is missing, and with `source` or `internal`.
    pub async fn check(&self) -> Result<Option<Notice>> {
        if !self.is_checked {
            return Ok(Some(unchecked("The archive has a manifest, which was not checked")));
        }
        let files: HashMap<&str, &Member> = self.members.iter().map(|member| (plain(&member.name), member)).collect();
        let mut notice = None;
        for manifest in self.members.iter().filter(|member| is_manifest(member)) {
            let range = ByteRange { start: HostOffset(0), len: manifest.source.size() };
            if range.len > LONGEST {
                notice = Some(unchecked("The manifest of the archive is too long, and was not checked"));
                continue;
            }
            let text = read_exact(&*manifest.source, range, "manifest").await?;
            let listed = listed(&manifest.name, &String::from_utf8_lossy(&text), &files)?;
            for (name, digests) in listed {
                let member = files[&*name];
                let has_holes = member.source.stored_from(0).len < member.source.size();
                if has_holes || digests.iter().any(|(hash, _)| hash.is_none()) {
                    let message = format!("'{}' was not compared with the manifest of the archive", shown(&name));
                    notice = Some(unchecked(&message).field("file", &*name));
                    continue;
                }
                for (hash, digest) in digests {
                    compare(member, hash.unwrap_or(Hash::Sha1), &digest).await?;
                }
            }
        }
        Ok(notice)
    }
}

fn unchecked(message: &str) -> Notice {
    Notice::new("manifest-unchecked", message)
}

fn is_manifest(member: &Member) -> bool {
    member.name.to_ascii_lowercase().ends_with(".mf")
}

/// Returns the name of a member in the form that manifests use: without a leading `./`.
fn plain(name: &str) -> &str {
    name.strip_prefix("./").unwrap_or(name)
}

/// The distinct digests of a file; the hash is `None` if the algorithm is unknown.
type Digests = Vec<(Option<Hash>, String)>;

/// Returns the digests that the manifest `name` lists for `files`. Fails with `corrupt` if it lists a piece of a split
/// file that is missing; other missing files are ignored.
fn listed(name: &str, text: &str, files: &HashMap<&str, &Member>) -> Result<BTreeMap<String, Digests>> {
    let folder = plain(name).rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let mut listed: BTreeMap<String, Digests> = BTreeMap::new();
    for (hash, file, digest) in text.lines().filter_map(parse) {
        let path = format!("{folder}{file}");
        if files.contains_key(&*path) {
            let known = listed.entry(path).or_default();
            let one = (hash, digest.to_ascii_lowercase());
            if !known.contains(&one) && known.len() < 4 {
                known.push(one);
            }
        } else if split::is_missing(&path, |name| files.contains_key(name)) {
            let message = format!("The image is corrupt: '{}', which the manifest lists, is missing", shown(&path));
            return Err(Error::new(ErrorKind::Corrupt, message).coded("piece-missing").field("file", &*path));
        }
    }
    Ok(listed)
}

/// Parses a line into hash, file and digest. Returns `None` for any other line.
fn parse(line: &str) -> Option<(Option<Hash>, &str, &str)> {
    let (algorithm, rest) = line.split_once('(')?;
    let (before, digest) = rest.rsplit_once('=')?;
    let file = before.trim_end().strip_suffix(')')?;
    let hash = match &*algorithm.trim().to_ascii_uppercase().replace('-', "") {
        "SHA1" => Some(Hash::Sha1),
        "SHA256" => Some(Hash::Sha256),
        "SHA512" => Some(Hash::Sha512),
        _ => None,
    };
    Some((hash, plain(file.trim()), digest.trim()))
}

/// Fails with `corrupt` unless `member` has `digest`.
async fn compare(member: &Member, hash: Hash, digest: &str) -> Result<()> {
    let (mut stream, mut hasher) = (FileStream::new(member.source.clone()), hasher(hash));
    let mut buf = zeroed(READ)?;
    loop {
        let found = stream.read(&mut buf).await?;
        hasher.add(&buf[..found]);
        if found < buf.len() {
            break;
        }
    }
    let found: String = hasher.finish().iter().map(|byte| format!("{byte:02x}")).collect();
    if found == digest {
        return Ok(());
    }
    let message = format!(
        "The image is corrupt: '{}' does not have the digest that the manifest of the archive lists; download or copy it again",
        shown(&member.name)
    );
    Err(Error::new(ErrorKind::Corrupt, message).coded("manifest-mismatch").field("file", &*member.name))
}
