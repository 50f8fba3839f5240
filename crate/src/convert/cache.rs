//! A cache of decompressed clusters within a job: if layers alternate, each cluster is used many times, in
//! small pieces.

use crate::compress::{Compression, renew};
use crate::error::Error;
use crate::io::source::FileId;
use crate::offsets::HostOffset;

/// Maximum size of the cache, in bytes; a single larger cluster may exceed it.
const CAPACITY: usize = 8 << 20;

/// The identity of a compressed cluster. Two may begin at the same offset with different lengths, and only one be
/// valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Compressed {
    pub(super) file: FileId,
    pub(super) host: HostOffset,
    /// Length of the compressed data, in bytes.
    pub(super) len: usize,
    /// Clusters at the same offset may differ by the frame that they must have, and only one be valid.
    pub(super) compression: Compression,
}

/// The most recently used clusters.
#[derive(Default)]
pub(super) struct ClusterCache {
    /// Most recently used first.
    entries: Vec<CachedCluster>,
}

struct CachedCluster {
    /// `None` if only the buffer is kept.
    of: Option<Compressed>,
    cluster: Vec<u8>,
}

impl ClusterCache {
    /// Drops all clusters, but keeps their buffers.
    pub(super) fn forget(&mut self) {
        self.entries.iter_mut().for_each(|entry| entry.of = None);
    }

    /// Returns the cluster `of`, which has `size` bytes when decompressed. Calls `decompress` if it is not cached.
    /// Fails as `decompress` does, or if memory runs out.
    pub(super) fn get<E: From<Error>>(
        &mut self,
        of: Compressed,
        size: usize,
        decompress: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<&[u8], E> {
        let is_wanted = |entry: &CachedCluster| entry.of == Some(of) && entry.cluster.len() == size;
        match self.entries.iter().position(is_wanted) {
            Some(at) => self.entries[..=at].rotate_right(1),
            None => {
                let mut cluster = self.buffer(size);
                renew(&mut cluster, size)?;
                let result = decompress(&mut cluster);
                self.entries.insert(0, CachedCluster { of: result.is_ok().then_some(of), cluster });
                result?;
            }
        }
        Ok(&self.entries[0].cluster)
    }

    /// Returns a buffer for a cluster of `size` bytes: an unused one, else a new one if there is room, else that of the
    /// oldest cluster.
    fn buffer(&mut self, size: usize) -> Vec<u8> {
        let free = self.entries.iter().rposition(|entry| entry.of.is_none());
        let mut buffer = free.map(|at| self.entries.remove(at).cluster).unwrap_or_default();
        while self.bytes() + size > CAPACITY {
            let Some(oldest) = self.entries.pop() else { break };
            if buffer.capacity() < oldest.cluster.capacity() {
                buffer = oldest.cluster;
            }
        }
        buffer
    }

    fn bytes(&self) -> usize {
        self.entries.iter().map(|entry| entry.cluster.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compress::GrainFrame;

    const MIB: usize = 1 << 20;
    const ANY: Compressed =
        Compressed { file: FileId(0), host: HostOffset(0), len: 7, compression: Compression::Deflate };

    fn filled(byte: u8) -> impl FnOnce(&mut [u8]) -> Result<(), Error> {
        move |cluster| {
            cluster.fill(byte);
            Ok(())
        }
    }

    #[test]
    fn clusters_that_alternate_are_decompressed_once() {
        // (sizes of the clusters in the order of requests, number of decompressions in each round after the first)
        let cases: &[(&[usize], usize)] = &[
            (&[2 * MIB], 0),
            (&[2 * MIB; 3], 0),
            (&[2 * MIB; 4], 0),
            (&[2 * MIB; 5], 5),
            (&[16 * MIB], 0),
            (&[16 * MIB, 512], 2),
            (&[512, 65_536, 2 * MIB], 0),
        ];
        for (sizes, again) in cases {
            let mut cache = ClusterCache::default();
            for round in 0..3 {
                let mut decompressed = 0;
                for (number, &size) in sizes.iter().enumerate() {
                    let of = Compressed { file: FileId(number as u16), ..ANY };
                    let cluster = cache.get(of, size, |cluster| {
                        decompressed += 1;
                        cluster.fill(number as u8);
                        Ok::<_, Error>(())
                    });
                    assert!(cluster.unwrap().iter().all(|&byte| byte == number as u8));
                }
                let expected = if round == 0 { sizes.len() } else { *again };
                assert_eq!(decompressed, expected, "{sizes:?}, round {round}");
                assert!(cache.bytes() <= CAPACITY.max(16 * MIB), "{sizes:?}");
            }
        }
    }

    #[test]
    fn failed_and_dropped_clusters_are_decompressed_again() {
        let mut cache = ClusterCache::default();
        let of = Compressed { host: HostOffset(512), ..ANY };
        let failed = || Error::new(crate::ErrorKind::Internal, "failed");
        assert_eq!(cache.get(of, 4, |_| Err(failed())).err(), Some(failed()));
        let mut fill = |byte, of| cache.get(of, 4, filled(byte)).unwrap()[0];
        assert_eq!(fill(1, of), 1);
        assert_eq!(fill(2, of), 1);
        // Another length at the same offset is another cluster.
        assert_eq!(fill(3, Compressed { len: 8, ..of }), 3);
        // Another frame at the same offset is another cluster, too.
        let framed = |sector| Compression::Grain(GrainFrame { sector: Some(sector), len: 4 });
        assert_eq!(fill(4, Compressed { compression: framed(0), ..of }), 4);
        assert_eq!(fill(5, Compressed { compression: framed(8), ..of }), 5);
        assert_eq!(fill(6, Compressed { compression: framed(0), ..of }), 4);
        cache.forget();
        assert_eq!(cache.get(of, 4, filled(7)).unwrap(), [7; 4]);
        // Four were in use at once.
        assert_eq!(cache.entries.len(), 4);
    }
}
