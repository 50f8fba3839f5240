//! The files of an archive as a tar archive: for a disk in several files that must be read at any position, but are compressed.

use crate::container::{Member, NOT_IN_ORDER};
use crate::error::shown::shown;
use crate::error::{Error, ErrorKind, Result};
use crate::io::stream::ByteStream;
use crate::output::tar_header::{header, long_name};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::rc::Rc;

const BLOCK: u64 = 512;
/// The zeros that end an archive.
const END: u64 = 2 * BLOCK;
/// The longest name in a header, in bytes.
const LONGEST_NAME: usize = 99;

/// A tar archive with these files.
pub(super) struct AsTar {
    members: Rc<[Member]>,
    /// The index of the next member.
    next: usize,
    current: Option<Current>,
    /// Bytes of the archive, and how many of them were read.
    ready: (Vec<u8>, usize),
    is_ended: bool,
    position: u64,
}

/// The file that is read.
struct Current {
    stream: Box<dyn ByteStream>,
    left: u64,
}

impl AsTar {
    pub(super) fn new(members: Rc<[Member]>) -> Self {
        Self { members, next: 0, current: None, ready: (Vec::new(), 0), is_ended: false, position: 0 }
    }

    /// Begins the next file, or the end of the archive.
    fn begin_next(&mut self) -> Result<()> {
        let mut bytes = Vec::new();
        match self.members.get(self.next) {
            Some(member) => {
                let (name, size) = (member.name.as_bytes(), member.source.size());
                if name.len() > LONGEST_NAME {
                    bytes.extend(long_name(name));
                }
                bytes.extend(header(&name[..name.len().min(LONGEST_NAME)], size, 0));
                self.current = Some(Current { stream: member.stream()?, left: size });
                self.next += 1;
            }
            None => {
                bytes.resize(END as usize, 0);
                self.is_ended = true;
            }
        }
        self.ready = (bytes, 0);
        Ok(())
    }

    async fn fill(&mut self, buf: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while done < buf.len() {
            let (bytes, taken) = &mut self.ready;
            if *taken < bytes.len() {
                let len = (bytes.len() - *taken).min(buf.len() - done);
                buf[done..done + len].copy_from_slice(&bytes[*taken..*taken + len]);
                (*taken, done) = (*taken + len, done + len);
            } else if let Some(current) = &mut self.current {
                let len = current.left.min((buf.len() - done) as u64) as usize;
                let found = current.stream.read(&mut buf[done..done + len]).await?;
                (current.left, done) = (current.left - found as u64, done + found);
                if found < len {
                    return Err(self.other_size());
                }
                if current.left == 0 {
                    self.end_file().await?;
                }
            } else if self.is_ended {
                break;
            } else {
                self.begin_next()?;
            }
        }
        Ok(done)
    }

    /// Checks that the current file has ended, and fills its last block.
    async fn end_file(&mut self) -> Result<()> {
        let Some(mut current) = self.current.take() else { return Ok(()) };
        // Reading beyond the end verifies the checksum of a compressed file.
        if current.stream.read(&mut [0]).await? > 0 {
            return Err(self.other_size());
        }
        self.position += current.stream.file_position();
        let size = self.members[self.next - 1].source.size();
        self.ready = (vec![0; (size.next_multiple_of(BLOCK) - size) as usize], 0);
        Ok(())
    }

    /// The error for a file of 4 GiB or more whose size a zip archive states modulo 2^32.
    fn other_size(&self) -> Error {
        let name = shown(&self.members[self.next - 1].name);
        let message = format!("'{name}' does not have the size that the archive states; unpack the archive first");
        Error::new(ErrorKind::Unsupported, message).coded(NOT_IN_ORDER).field("container", "zip")
    }
}

impl ByteStream for AsTar {
    fn read<'a>(&'a mut self, buf: &'a mut [u8]) -> LocalBoxFuture<'a, Result<usize>> {
        self.fill(buf).boxed_local()
    }

    fn file_position(&self) -> u64 {
        self.position + self.current.as_ref().map_or(0, |current| current.stream.file_position())
    }
}
