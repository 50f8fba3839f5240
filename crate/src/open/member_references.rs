//! How the files of a container refer to one another.

use crate::container::Member;
use crate::disk::reference::{base_name, resolved};
use crate::error::{Error, Result};
use crate::format::HEAD;
use crate::io::source::Source;
use crate::io::table_cache::TableCache;
use crate::offsets::HostOffset;
use crate::open::disk_candidate::{Candidate, head, opened};
use crate::open::identify::FileType;
use decant_text::folded;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, ready};
use std::rc::Rc;

/// Returns the `images` that no other one refers to: the top of a chain, or the descriptor of extents. Those that a configuration
/// describes, which the second value states, are layers of one another only: another layer over one is a left-over.
pub(super) async fn unreferred(images: Vec<(Candidate, bool)>, tables: &Rc<TableCache>) -> Result<Vec<Candidate>> {
    let all = |images: Vec<(Candidate, bool)>| images.into_iter().map(|(image, _)| image).collect();
    if images.len() == 1 {
        return Ok(all(images));
    }
    let (mut references, mut identities) = (Vec::new(), Vec::new());
    for (Candidate { member, file_type }, _) in &images {
        let disk = match file_type {
            FileType::Image(format) => opened(format, member, tables).await?,
            _ => None,
        };
        references.push(disk.as_ref().map_or_else(Vec::new, |disk| disk.references().to_vec()));
        identities.push(disk.map_or_else(Vec::new, |disk| disk.identities()));
    }
    let name = |at: usize| &*images[at].0.member.name;
    let is_described = |at: usize| images[at].1;
    let mut is_left_out = vec![false; images.len()];
    for (from, references) in references.iter().enumerate() {
        for reference in references {
            let by = |test: &dyn Fn(usize) -> bool| {
                (0..images.len()).filter(|&at| at != from && test(at)).collect::<Vec<_>>()
            };
            let wanted = reference.name.strip_prefix("file:").unwrap_or(&reference.name);
            let path = resolved(wanted, name(from));
            let mut found = by(&|at| resolved(name(at), "") == path);
            if found.is_empty() {
                found = by(&|at| base_name(name(at)) == base_name(wanted));
            }
            if found.is_empty()
                && let Some(wanted) = &reference.identity
            {
                found = by(&|at| wanted.is_of_disk(&identities[at]));
            }
            for at in found {
                is_left_out[if is_described(at) && !is_described(from) { from } else { at }] = true;
            }
        }
    }
    // Files that all refer to one another are not a chain.
    if is_left_out.iter().all(|&is_left_out| is_left_out) {
        return Ok(all(images));
    }
    let images = images.into_iter().zip(is_left_out);
    Ok(images.filter_map(|((image, _), is_left_out)| (!is_left_out).then_some(image)).collect())
}

/// Whether `image` must be read together with others of `files`, by its references or the names of its `parents`, and a file is
/// compressed that is too large to be inflated for each read.
pub(super) async fn needs_others(
    image: &Member,
    file_type: FileType,
    parents: &[String],
    files: &[Member],
    tables: &Rc<TableCache>,
) -> Result<bool> {
    let FileType::Image(format) = file_type else { return Ok(false) };
    if !files.iter().any(|file| file.is_read_in_order()) {
        return Ok(false);
    }
    let mut names: Vec<_> = parents.to_vec();
    let start = match &image.deflated {
        None => image.clone(),
        Some(_) => Member::loose(
            &image.name,
            Rc::new(Start { head: head(image, HEAD, tables).await?, size: image.source.size() }),
        ),
    };
    if let Some(disk) = opened(format, &start, tables).await? {
        names.extend(disk.references().iter().map(|reference| reference.name.clone()));
        let by_identity = disk.references().iter().any(|reference| reference.identity.is_some());
        let is_image = |file: &Member| Rc::ptr_eq(&file.source, &image.source);
        if by_identity && files.iter().any(|file| !is_image(file) && file.is_read_in_order()) {
            return Ok(true);
        }
    }
    let is_named = |file: &Member| names.iter().any(|name| folded(base_name(name)) == folded(base_name(&file.name)));
    let others: Vec<_> =
        files.iter().filter(|file| !Rc::ptr_eq(&file.source, &image.source) && is_named(file)).collect();
    Ok(!others.is_empty() && (image.is_read_in_order() || others.iter().any(|file| file.is_read_in_order())))
}

/// The start of a compressed file, for its references. Reads beyond it fail.
struct Start {
    head: Vec<u8>,
    size: u64,
}

impl Source for Start {
    fn size(&self) -> u64 {
        self.size
    }

    fn read_at<'a>(&'a self, offset: HostOffset, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<()>> {
        let start = usize::try_from(offset.0).ok();
        let bytes = start.and_then(|start| self.head.get(start..start.checked_add(buf.len())?));
        let result = match bytes {
            Some(bytes) => {
                buf.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(Error::truncated("the start of the file", offset, self.size)),
        };
        ready(result).boxed_local()
    }
}
