//! The files of a container that may be its disk, and how they refer to one another.

use crate::container::{Member, PackedMember};
use crate::disk::info::MemberInfo;
use crate::disk::name_index::{NameIndex, SimilarNames};
use crate::disk::reference::{base_name, folder_of, resolved};
use crate::error::place::Place;
use crate::error::{Error, ErrorKind, Result};
use crate::format::{Disk, Format, HEAD, LayerOptions, RAW, is_descriptor};
use crate::io::source::{Source, read_start};
use crate::io::table_cache::TableCache;
use crate::offsets::HostOffset;
use crate::open::chain::open_options::StatedParent;
use crate::open::guess;
use crate::open::identify::{FileType, identify, identify_start};
use decant_text::may_mean;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Returns the `images` that no other one refers to: the top of a chain, or the descriptor of extents. The second value states whether a
/// configuration describes the image. An image over it that no configuration describes is a left-over of a snapshot.
pub(super) async fn unreferred(images: Vec<(Candidate, bool)>, tables: &Rc<TableCache>) -> Result<Vec<Candidate>> {
    let all = |images: Vec<(Candidate, bool)>| images.into_iter().map(|(image, _)| image).collect();
    if images.len() == 1 {
        return Ok(all(images));
    }
    let name = |at: usize| &*images[at].0.member.name;
    let index = |key: &dyn Fn(&str) -> String| NameIndex::new((0..images.len()).map(|at| key(name(at))));
    let (by_path, by_base_name) = (index(&|name| resolved(name, "")), index(&|name| base_name(name).to_owned()));
    let by_similar_name = SimilarNames::new((0..images.len()).map(|at| base_name(name(at))));
    // Pairs of an image and one to which it refers; identities that no name led to; and the identities of each image.
    let (mut pairs, mut wanted, mut identities) = (Vec::new(), Vec::new(), Vec::new());
    for (from, (Candidate { member, file_type }, _)) in images.iter().enumerate() {
        let disk = match file_type {
            FileType::Image(format) => opened_by_start(format, member, tables).await?,
            _ => None,
        };
        let mut found = HashSet::new();
        for reference in disk.iter().flat_map(|disk| disk.references()) {
            let path = reference.name.strip_prefix("file:").unwrap_or(&reference.name);
            let others = |found: Vec<usize>| found.into_iter().filter(|&at| at != from).collect::<Vec<_>>();
            let mut named = others(by_path.find(&resolved(path, name(from))));
            if named.is_empty() {
                named = others(by_base_name.find(base_name(path)));
            }
            if named.is_empty() {
                named = others(by_similar_name.find(base_name(path)));
            }
            if named.is_empty() {
                wanted.extend(reference.identity.clone().map(|identity| (from, identity)));
            }
            found.extend(named);
        }
        pairs.extend(found.into_iter().map(|at| (from, at)));
        identities.push(disk.map_or_else(Vec::new, |disk| disk.identities()));
    }
    for (from, identity) in wanted {
        let found = (0..images.len()).filter(|&at| at != from && identity.is_of_disk(&identities[at]));
        pairs.extend(found.map(|at| (from, at)));
    }
    pairs.extend(in_bundles(&images));
    let is_described = |at: usize| images[at].1;
    let mut is_left_out = vec![false; images.len()];
    for (from, at) in pairs {
        is_left_out[if is_described(at) && !is_described(from) { from } else { at }] = true;
    }
    // Files that all refer to one another are not a chain.
    if is_left_out.iter().all(|&is_left_out| is_left_out) {
        return Ok(all(images));
    }
    let images = images.into_iter().zip(is_left_out);
    Ok(images.filter_map(|((image, _), is_left_out)| (!is_left_out).then_some(image)).collect())
}

/// Returns the pairs of the file that a folder of a disk is known by ([`Format::folder_file`]), and another image in that folder: the images
/// of all states, and a copy of the description.
fn in_bundles(images: &[(Candidate, bool)]) -> Vec<(usize, usize)> {
    let format_of = |at: usize| match images[at].0.file_type {
        FileType::Image(format) => Some(format),
        _ => None,
    };
    let name = |at: usize| &*images[at].0.member.name;
    let is_bundle = |&at: &usize| format_of(at).is_some_and(|format| format.folder_file == Some(base_name(name(at))));
    let bundles: HashMap<_, _> = (0..images.len()).filter(is_bundle).map(|at| (folder_of(name(at)), at)).collect();
    let bundle_of = |at: usize| {
        let bundle = *bundles.get(&folder_of(name(at)))?;
        let is_of_it = format_of(at).map(|format| format.name) == format_of(bundle).map(|format| format.name);
        (is_of_it && at != bundle).then_some((bundle, at))
    };
    (0..images.len()).filter_map(bundle_of).collect()
}

/// Whether `image` must be read together with other files, which its references or its `parents` name, and one of all these files is
/// compressed and too large to be inflated for each read.
pub(super) async fn needs_others(
    image: &Member,
    file_type: FileType,
    parents: &[StatedParent],
    files: &[Member],
    tables: &Rc<TableCache>,
) -> Result<bool> {
    let FileType::Image(format) = file_type else { return Ok(false) };
    if !files.iter().any(|file| file.is_read_in_order()) {
        return Ok(false);
    }
    let mut names: Vec<_> = parents.iter().map(|parent| parent.name.clone()).collect();
    if let Some(disk) = opened_by_start(format, image, tables).await? {
        names.extend(disk.references().iter().map(|reference| reference.name.clone()));
        let by_identity = disk.references().iter().any(|reference| reference.identity.is_some());
        let is_image = |file: &Member| Rc::ptr_eq(&file.source, &image.source);
        if by_identity && files.iter().any(|file| !is_image(file) && file.is_read_in_order()) {
            return Ok(true);
        }
    }
    let is_named = |file: &Member| names.iter().any(|name| may_mean(base_name(name), base_name(&file.name)));
    let others: Vec<_> =
        files.iter().filter(|file| !Rc::ptr_eq(&file.source, &image.source) && is_named(file)).collect();
    Ok(!others.is_empty() && (image.is_read_in_order() || others.iter().any(|file| file.is_read_in_order())))
}

/// Opens `image` in `format`, a compressed one by its start: its references may be read, but not its data. `None` if that fails because
/// of the content.
async fn opened_by_start(format: &Format, image: &Member, tables: &Rc<TableCache>) -> Result<Option<Rc<dyn Disk>>> {
    let Some(packed) = image.packed.clone() else { return opened(format, image, tables).await };
    let start = Start { packed, size: image.source.size(), bytes: RefCell::default() };
    opened(format, &Member::loose(&image.name, Rc::new(start)), tables).await
}

/// Maximum length of the start of a compressed file that is inflated for its references, in bytes. Those of a qcow2 are in its first
/// cluster, of at most 2 MiB; those of a VHDX are after its log, of usually 1 MiB.
const LONGEST_START: u64 = 4 << 20;

/// The start of a compressed file, which is decoded when it is read. Reads beyond [`LONGEST_START`] fail.
struct Start {
    packed: PackedMember,
    size: u64,
    bytes: RefCell<Vec<u8>>,
}

impl Start {
    async fn read(&self, offset: HostOffset, buf: &mut [u8]) -> Result<()> {
        let truncated = || Error::truncated("the start of the file", offset, self.size);
        let end = offset.0.checked_add(buf.len() as u64).filter(|end| *end <= LONGEST_START).ok_or_else(truncated)?;
        if (self.bytes.borrow().len() as u64) < end {
            // Reads at most twice: most references are in the head.
            let len = if end <= HEAD { HEAD } else { LONGEST_START.min(self.size.max(end)) };
            let longer = self.packed.head(len).await?;
            self.bytes.replace(longer);
        }
        let bytes = self.bytes.borrow();
        buf.copy_from_slice(bytes.get(offset.0 as usize..end as usize).ok_or_else(truncated)?);
        Ok(())
    }
}

impl Source for Start {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        self.read(offset, buf).boxed_local()
    }
}

/// A file that may be the disk.
#[derive(Clone)]
pub(super) struct Candidate {
    pub(super) member: Member,
    pub(super) file_type: FileType,
}

impl Candidate {
    /// Identifies `member`, as [`type_of`] does.
    pub(super) async fn of(mut member: Member, is_only: bool, tables: &Rc<TableCache>) -> Result<Self> {
        let file_type = type_of(&mut member, is_only, tables).await?;
        Ok(Self { member, file_type })
    }
}

/// Describes the candidate for people who choose one.
pub(super) fn info(Candidate { member: image, file_type }: &Candidate) -> MemberInfo {
    let format = match file_type {
        FileType::Image(format) | FileType::Unsupported(format) => Some(format.name),
        FileType::HybridIso => Some(RAW.name),
        FileType::Container(_) | FileType::Ambiguous(_) | FileType::Unknown => None,
    };
    let size = image.source.size() + image.missing;
    MemberInfo { name: image.name.clone(), size, format, virtual_size: None, missing: false }
}

/// Whether the first `len` bytes of `file` show that it is a disk.
pub(super) async fn stands_out(file: &Member, len: u64, tables: &Rc<TableCache>) -> Result<bool> {
    let start = head(file, len, tables).await?;
    Ok(guess::stands_out(&start))
}

/// Returns the first `len` bytes of `file`, or all of it if it is shorter.
pub(super) async fn head(file: &Member, len: u64, tables: &Rc<TableCache>) -> Result<Vec<u8>> {
    let start = match &file.packed {
        Some(packed) => packed.head(len).await,
        None => read_start(&*tables.over(file.source.clone()), len).await,
    };
    start.map_err(|error| error.within(Place::Member(file.name.clone())))
}

/// Identifies `member`; if it is packed, by its first bytes only. Unless it is the only file, a packed descriptor, as of a VMDK, is
/// read at any position: without the files that it names, it is useless.
async fn type_of(member: &mut Member, is_only: bool, tables: &Rc<TableCache>) -> Result<FileType> {
    let name = Some(&*member.name);
    if member.packed.is_none() {
        return identify(&*tables.over(member.source.clone()), name).await;
    }
    let head = head(member, HEAD, tables).await?;
    let file_type = identify_start(&head, name);
    let is_raw = matches!(file_type, FileType::Image(format) if format.is_raw());
    if !is_only && !is_raw && is_descriptor(&head) {
        member.packed = None;
    }
    Ok(file_type)
}

/// Opens `member` in `format`; `None` if that fails because of the file's content.
pub(super) async fn opened(format: &Format, member: &Member, tables: &Rc<TableCache>) -> Result<Option<Rc<dyn Disk>>> {
    match format
        .open(tables.over(member.source.clone()), LayerOptions { is_backing: true, ..LayerOptions::default() })
        .await
    {
        Err(error) if matches!(error.kind, ErrorKind::Source | ErrorKind::Internal) => Err(error),
        found => Ok(found.ok()),
    }
}
