//! The manifest of an OVA, or beside a loose OVF: a list of file digests (DSP0243, section 5.1), one per line:
//! `SHA256(disk.vmdk)= 01ab...`.

use crate::container::Member;
use crate::disk::info::Notice;
use crate::disk::name_index::{NameIndex, SimilarNames};
use crate::disk::reference::hexadecimal;
use crate::error::shown::shown;
use crate::error::{COPY_AGAIN, Error, ErrorKind, Result};
use crate::io::source::{Source, zeroed};
use crate::modules::prepare;
use crate::open::chain::open_options::OpenOptions;
use crate::open::machine::text_of;
use crate::open::members::Found;
use crate::open::split::pieces;
use decant_crypt::{Hash, Hasher, MODULE};
use std::rc::Rc;

/// Size of the read buffer for hashing, in bytes.
const READ: usize = 512 << 10;

/// Files with a manifest.
pub(crate) struct Manifest {
    /// The files of the archive; without an archive, those of the image.
    members: Rc<[Member]>,
    is_checked: bool,
    /// The names of the members that the image uses; a split file has the name of the whole.
    used: Vec<String>,
}

impl Manifest {
    /// Finds the manifest of the archive in which an image was `found`. `is_decoded` states whether the archive is the content of a compressed
    /// file that was decoded as a whole: checking it decodes nothing again.
    pub(super) fn of_archive(found: &Found, is_decoded: bool, options: &OpenOptions) -> Option<Self> {
        let image = found.image.name.clone();
        let check = options.check_manifest.or((is_decoded && !options.salvage).then_some(true));
        Self::of(found.members.clone(), vec![image], check, options.salvage)
    }

    /// Finds the manifest among `members`; the image uses those with the names `used`. `check` states whether files are
    /// compared with it; the default is true for a manifest in a local file that workers can open, except in a salvage.
    fn of(members: Rc<[Member]>, used: Vec<String>, check: Option<bool>, salvage: bool) -> Option<Self> {
        let manifest = members.iter().find(|member| is_manifest(&member.name))?;
        let is_local = manifest.stored_bytes().profile().opened_by_workers;
        Some(Self { members, is_checked: check.unwrap_or(is_local && !salvage), used })
    }

    /// Finds the manifest among the companions of an image in no archive: of the file `source`, which `options` describe, and of the
    /// companions that `is_used` accepts by their index. It is not checked if the image is put together from files that the manifest lists:
    /// from the parts of a split file, or from a compressed one.
    pub(crate) fn beside(
        source: &Rc<dyn Source>,
        options: &OpenOptions,
        is_used: &dyn Fn(usize) -> bool,
    ) -> Option<Self> {
        let mut members = vec![Member::loose(options.name.as_deref()?, source.clone())];
        for (at, companion) in options.companions.iter().enumerate() {
            if is_manifest(&companion.name) || is_used(at) {
                members.push(Member::loose(&companion.name, companion.source.clone()));
            }
        }
        let check = if source.profile().made_here { Some(false) } else { options.check_manifest };
        let names = members.iter().map(|member| member.name.clone());
        let used = names.filter(|name| !is_manifest(name)).collect();
        Self::of(members.into(), used, check, options.salvage)
    }

    /// Adds the `companions` that the image uses.
    pub(crate) fn with(self, companions: impl Iterator<Item = String>) -> Self {
        let used = self.used.into_iter().chain(companions).collect();
        Self { used, ..self }
    }

    /// Compares all listed files with their digests. Returns notices if comparisons were skipped, or files of the image
    /// are not listed. Fails with `corrupt` if a digest differs or a piece is missing, and
    /// with `source` or `internal`.
    pub(crate) async fn check(&self) -> Result<Vec<Notice>> {
        if !self.is_checked {
            return Ok(vec![unchecked("There is a manifest, which was not checked")]);
        }
        let names = MemberNames::of(&self.members);
        let (mut skipped, mut settled) = (Skipped::default(), vec![false; self.members.len()]);
        let mut unlisted = "no line of it is clearly that of this file";
        for manifest in self.members.iter().filter(|member| is_manifest(&member.name)) {
            let Some(text) = text_of(manifest).await? else {
                unlisted = "it is too long";
                continue;
            };
            let listed = listed(&manifest.name, &text, &names, self.members.len())?;
            for (at, digests) in listed.into_iter().enumerate().filter(|(_, digests)| !digests.is_empty()) {
                let member = &self.members[at];
                settled[at] = true;
                if member.source.stored_from(0).len < member.source.size() {
                    skipped.add("it is stored with holes", &member.name);
                } else if digests.iter().any(|(hash, _)| hash.is_none()) {
                    skipped.add("it has a digest of an unknown kind", &member.name);
                } else {
                    for (hash, digest) in digests {
                        compare(member, hash.unwrap_or(Hash::Sha1), &digest).await?;
                    }
                }
            }
        }
        let is_used = |name: &str| self.used.iter().any(|used| used == name || pieces::is_piece_of(name, used));
        for member in self.members.iter().filter(|member| is_used(&member.name)) {
            // Another name of the same file may be listed.
            let is_settled = |(other, &settled): (&Member, &bool)| settled && Rc::ptr_eq(&other.source, &member.source);
            if !self.members.iter().zip(&settled).any(is_settled) {
                skipped.add(unlisted, &member.name);
            }
        }
        Ok(skipped.notices())
    }
}

/// The files that were not compared, by the reason.
#[derive(Default)]
struct Skipped<'a>(Vec<(&'static str, Vec<&'a str>)>);

impl<'a> Skipped<'a> {
    fn add(&mut self, why: &'static str, name: &'a str) {
        match self.0.binary_search_by_key(&why, |&(known, _)| known) {
            Ok(at) => self.0[at].1.push(name),
            Err(at) => self.0.insert(at, (why, vec![name])),
        }
    }

    fn notices(self) -> Vec<Notice> {
        let notice = |(why, names): (&str, Vec<&str>)| {
            let others = match names.len() - 1 {
                0 => String::new(),
                others => format!(" (and {others} more)"),
            };
            let first = names[0];
            let message = format!("'{}'{others} was not compared with the manifest: {why}", shown(first));
            unchecked(&message).field("file", first)
        };
        self.0.into_iter().map(notice).collect()
    }
}

/// The notice about an archive that was read in order, so that its manifest was not checked.
pub(crate) fn unchecked_in_order() -> Notice {
    unchecked("There is a manifest, which was not checked, since the archive was read in order")
}

fn unchecked(message: &str) -> Notice {
    Notice::new("manifest-unchecked", message)
}

pub(crate) fn is_manifest(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with(".mf")
}

/// Returns the name of a member in the form that manifests use: without a leading `./`.
fn plain(name: &str) -> &str {
    name.strip_prefix("./").unwrap_or(name)
}

/// The indices of members by name.
struct MemberNames {
    exact: NameIndex,
    similar: SimilarNames,
}

impl MemberNames {
    fn of(members: &[Member]) -> Self {
        let names = || members.iter().map(|member| plain(&member.name));
        Self { exact: NameIndex::new(names().map(str::to_owned)), similar: SimilarNames::new(names()) }
    }

    /// The members with the name `path`, or else with one that differs in case or encoding only.
    fn find(&self, path: &str) -> Vec<usize> {
        let found = self.exact.find(path);
        if found.is_empty() { self.similar.find(path) } else { found }
    }
}

/// The distinct digests of a file; the hash is `None` if the algorithm is unknown.
type Digests = Vec<(Option<Hash>, String)>;

/// Returns the digests that the manifest `name` lists for each of `count` files. Fails with `corrupt` if it lists a
/// piece of a split file that is missing; other missing files, and names of several files, are ignored.
fn listed(name: &str, text: &str, names: &MemberNames, count: usize) -> Result<Vec<Digests>> {
    let folder = plain(name).rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    let mut listed = vec![Digests::new(); count];
    for (hash, file, digest) in text.lines().filter_map(parse) {
        let path = format!("{folder}{file}");
        match names.find(&path)[..] {
            [at] => {
                let known = &mut listed[at];
                let one = (hash, digest.to_ascii_lowercase());
                if !known.contains(&one) && known.len() < 4 {
                    known.push(one);
                }
            }
            [] if pieces::is_missing(&path, |name| !names.find(name).is_empty()) => {
                let message = format!("The image is corrupt: '{}', which the manifest lists, is missing", shown(&path));
                return Err(Error::new(ErrorKind::Corrupt, message).coded("piece-missing").field("file", &*path));
            }
            _ => {}
        }
    }
    Ok(listed)
}

/// Parses a line into hash, file and digest. Returns `None` for any other line, also if the digest cannot be one of that
/// hash: the line is damaged.
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
    let digest = digest.trim();
    let is_digest = |hash: Hash| digest.len() == 2 * hash.output_len() && digest.bytes().all(|b| b.is_ascii_hexdigit());
    hash.is_none_or(is_digest).then_some((hash, plain(file.trim()), digest))
}

/// Fails with `corrupt` unless `member` has `digest`.
async fn compare(member: &Member, hash: Hash, digest: &str) -> Result<()> {
    prepare(&MODULE).await?;
    let mut stream = member.stream()?;
    let mut hasher = Hasher::new(hash)?;
    let mut buf = zeroed(READ)?;
    loop {
        let found = stream.read(&mut buf).await?;
        hasher.add(&buf[..found])?;
        if found < buf.len() {
            break;
        }
    }
    let mut found = vec![0; hash.output_len()];
    hasher.hash(&mut found)?;
    if hexadecimal(&found) == digest {
        return Ok(());
    }
    let message =
        format!("The image is corrupt: '{}' does not have the digest that the manifest lists", shown(&member.name));
    let error = Error::new(ErrorKind::Corrupt, message).coded("manifest-mismatch").advised(COPY_AGAIN);
    Err(error.field("file", &*member.name))
}
