//! Finds the disk among the files of an archive that is decoded in order.

use crate::error::{Error, ErrorKind, Result};
use crate::format::HEAD;
use crate::io::source::zeroed;
use crate::io::stream::{ByteStream, Ended};
use crate::open::guess::{self, REACH};
use crate::open::identify::{FileType, identify_start};
use crate::open::machine::Machines;
use crate::open::manifest::is_manifest;
use crate::open::members::is_never_a_disk;
use crate::open::split::finding::may_be_parts;
use crate::open::split::pieces::is_piece;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

/// The disk of an archive: the only file that a machine's configuration names as a disk, or else the only file that stands out, or else
/// its only file. The last read fails if another file is or may be a disk, too.
pub(super) struct DiskInOrder {
    archive: Box<dyn ByteStream>,
    state: State,
    file: Option<ArchiveFile>,
    /// The number of bytes of its start that were read.
    taken: usize,
    /// The names of the files before it.
    passed: Vec<String>,
    /// The machines whose configurations were read so far.
    machines: Machines,
    has_manifest: bool,
}

enum State {
    /// No file was read.
    Start,
    Disk,
    /// The archive was read to its end.
    End,
}

/// A file of the archive.
struct ArchiveFile {
    name: String,
    size: u64,
    /// Its first [`REACH`] bytes, or all of it if it is shorter.
    start: Vec<u8>,
}

impl ArchiveFile {
    /// Whether its name or its start shows that it is a disk.
    fn stands_out(&self) -> bool {
        let head = &self.start[..self.start.len().min(HEAD as usize)];
        !is_never_a_disk(&self.name)
            && match identify_start(head, Some(&self.name)) {
                FileType::Image(_) | FileType::Container(_) | FileType::Ambiguous(_) | FileType::HybridIso => true,
                FileType::Unknown => guess::stands_out(&self.start),
                FileType::Unsupported(_) => false,
            }
    }

    /// Whether it is the data of a VMDK whose descriptor is another file: it looks raw, but not by its name.
    fn is_extent(&self) -> bool {
        let head = &self.start[..self.start.len().min(HEAD as usize)];
        self.name.to_ascii_lowercase().ends_with(".vmdk")
            && matches!(identify_start(head, Some(&self.name)), FileType::Unknown)
    }

    fn is_small(&self) -> bool {
        self.size <= REACH
    }

    /// The number of bytes by which the file is identified; `is_stated`: it is stated to be a raw disk.
    fn identified_by(&self, is_stated: bool) -> u64 {
        let head = &self.start[..self.start.len().min(HEAD as usize)];
        match identify_start(head, Some(&self.name)) {
            FileType::HybridIso | FileType::Unknown if !is_stated => REACH,
            _ => HEAD,
        }
    }
}

impl DiskInOrder {
    /// Finds the disk in `archive`, which is a stream with files.
    pub(super) fn new(archive: Box<dyn ByteStream>) -> Self {
        Self {
            archive,
            state: State::Start,
            file: None,
            taken: 0,
            passed: Vec::new(),
            machines: Machines::default(),
            has_manifest: false,
        }
    }

    async fn fill(&mut self, buf: &mut [u8]) -> Result<usize> {
        if matches!(self.state, State::Start) && !self.find(true).await? {
            return Err(several_files());
        }
        let start = self.file.as_ref().map_or(&[][..], |file| &file.start[self.taken..]);
        let mut done = start.len().min(buf.len());
        buf[..done].copy_from_slice(&start[..done]);
        self.taken += done;
        if matches!(self.state, State::Disk) && done < buf.len() {
            done += self.archive.read(&mut buf[done..]).await?;
            if done < buf.len() && !self.is_only().await? {
                return Err(several_files());
            }
        }
        Ok(done)
    }

    /// Finds the first file that stands out, and passes over small files before it. A small file is the disk if it is the only file.
    /// Returns false if the files up to there show that the archive has to be read at any position to tell which file is the disk.
    /// `is_stated`: the disk is stated to be a raw one. Must be called before the first read.
    pub(super) async fn find(&mut self, is_stated: bool) -> Result<bool> {
        let mut only = None;
        while let Some(file) = self.next_file().await? {
            let is_first = self.passed.is_empty();
            let stands_out = match self.machines.count() {
                0 => file.stands_out(),
                _ => self.machines.names_only(&file.name),
            };
            if is_piece(&file.name) || !is_stated && file.is_extent() || (!stands_out && !is_first && !file.is_small())
            {
                return Ok(false);
            }
            if stands_out || !file.is_small() {
                let ends_here = file.size < file.identified_by(is_stated);
                (self.file, self.state) = (Some(file), State::Disk);
                return if ends_here { self.is_only().await } else { Ok(true) };
            }
            self.passed.push(file.name.clone());
            only = is_first.then_some(file);
        }
        if self.passed.is_empty() {
            let message = "The tar archive holds no file";
            return Err(Error::new(ErrorKind::Unsupported, message).coded("no-image"));
        }
        (self.file, self.state) = (only, State::End);
        Ok(self.file.is_some())
    }

    /// Reads the archive to its end. Returns false if another file stands out, or may be a part of the same disk, or if the disk does not
    /// stand out among several files.
    async fn is_only(&mut self) -> Result<bool> {
        self.state = State::End;
        let Some(disk) = self.file.take() else { return Ok(true) };
        let is_part = |name: &str| may_be_parts(&disk.name, name);
        let mut are_several = self.passed.iter().any(|name| is_part(name));
        while let Some(other) = self.next_file().await? {
            are_several |=
                !disk.stands_out() && self.machines.count() == 0 || other.stands_out() || is_part(&other.name);
        }
        // The configuration may be the last file.
        are_several |= self.machines.count() > 0 && !self.machines.names_only(&disk.name);
        self.file = Some(disk);
        Ok(!are_several)
    }

    /// Moves to the next file and reads its start.
    async fn next_file(&mut self) -> Result<Option<ArchiveFile>> {
        if !self.archive.next_file().await? {
            return Ok(None);
        }
        let (name, size) = self.archive.member().map_or_else(Default::default, |(name, size)| (name.to_owned(), size));
        let mut start = zeroed(size.min(REACH) as usize)?;
        let found = self.archive.read(&mut start).await?;
        start.truncate(found);
        if found as u64 == size {
            self.machines.add(&name, &start);
        }
        self.has_manifest |= is_manifest(&name);
        Ok(Some(ArchiveFile { name, size, start }))
    }
}

/// The error for an archive that has to be read at any position to tell which of its files is the disk.
pub(super) fn several_files() -> Error {
    let message = "The tar archive can only be read in order, and none of its files is clearly its only disk; \
                   open it from a file and state which one is (--disk), or extract it";
    Error::new(ErrorKind::Unsupported, message).coded("several-files")
}

impl ByteStream for DiskInOrder {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        self.fill(buf).boxed_local()
    }

    fn file_position(&self) -> u64 {
        self.archive.file_position()
    }

    fn member(&self) -> Option<(&str, u64)> {
        self.file.as_ref().map(|file| (&*file.name, file.size))
    }

    fn pass_hole(&mut self, unit: u64) -> u64 {
        let is_in_start = self.file.as_ref().is_some_and(|file| self.taken < file.start.len());
        if is_in_start || !matches!(self.state, State::Disk) { 0 } else { self.archive.pass_hole(unit) }
    }

    fn ended(&self) -> Ended {
        let name = self.file.as_ref().map(|file| &*file.name);
        let capacity = name.and_then(|name| self.machines.capacity_of(name));
        Ended { capacity, has_manifest: self.has_manifest, ..self.archive.ended() }
    }
}
