//! A count for each unit of a file, such as a cluster: how often the image refers to it.

use crate::error::{Error, ErrorKind, Result};
use crate::io::source::zeroed;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;

/// Number of counts in a page, of a byte each.
const PAGE: u64 = 4096;
/// Count of a byte from which the whole count is in `large`.
const LARGE: u8 = u8::MAX;
/// Approximate memory of a count in `large`, in pages.
const LARGE_PER_PAGE: usize = 64;
/// Maximum memory, in pages: 256 MiB.
const MOST_PAGES: usize = 1 << 16;

/// The counts. A page of 4,096 counts takes memory only if one of them is not zero.
#[derive(Default)]
pub(crate) struct UnitCounts {
    pages: BTreeMap<u64, Vec<u8>>,
    large: BTreeMap<u64, u64>,
}

impl UnitCounts {
    /// Adds `more` to the count of `unit`. Fails with `limit` if the counts need too much memory.
    pub(crate) fn add(&mut self, unit: u64, more: u64) -> Result<()> {
        if more == 0 {
            return Ok(());
        }
        // Usually the page exists, and the count is small.
        if let Some(page) = self.pages.get_mut(&(unit / PAGE)) {
            let byte = &mut page[(unit % PAGE) as usize];
            if let Some(count) = u64::from(*byte).checked_add(more).filter(|&count| count < LARGE.into()) {
                *byte = count as u8;
                return Ok(());
            }
        }
        let count = self.get(unit).saturating_add(more);
        if count < u64::from(LARGE) {
            *self.byte(unit)? = count as u8;
        } else {
            *self.byte(unit)? = LARGE;
            self.large.insert(unit, count);
        }
        self.check_memory()
    }

    fn byte(&mut self, unit: u64) -> Result<&mut u8> {
        let page = match self.pages.entry(unit / PAGE) {
            Entry::Occupied(page) => page.into_mut(),
            Entry::Vacant(place) => place.insert(zeroed(PAGE as usize)?),
        };
        Ok(&mut page[(unit % PAGE) as usize])
    }

    fn check_memory(&self) -> Result<()> {
        if self.pages.len() + self.large.len() / LARGE_PER_PAGE <= MOST_PAGES {
            return Ok(());
        }
        let most = MOST_PAGES as u64 * PAGE;
        let message = format!(
            "The image uses more than about {most} clusters of its file, which is too many to check; convert it to an image with larger clusters, and check that"
        );
        Err(Error::new(ErrorKind::Limit, message).coded("check-too-large").field("clusters", most))
    }

    pub(crate) fn get(&self, unit: u64) -> u64 {
        match self.pages.get(&(unit / PAGE)).map(|page| page[(unit % PAGE) as usize]) {
            Some(LARGE) => self.large.get(&unit).copied().unwrap_or_default(),
            Some(count) => count.into(),
            None => 0,
        }
    }

    /// Lists the units whose count is not 0, in ascending order, with their counts.
    pub(crate) fn counted(&self) -> impl Iterator<Item = (u64, u64)> {
        self.pages.iter().flat_map(move |(number, page)| {
            let counted = page.iter().zip(number * PAGE..).filter(|(count, _)| **count > 0);
            counted.map(|(&count, unit)| (unit, if count == LARGE { self.get(unit) } else { count.into() }))
        })
    }

    /// Lists the ranges of `units` whose counts are 0, in ascending order.
    pub(crate) fn unused(&self, units: Range<u64>) -> Vec<Range<u64>> {
        let mut ranges = Vec::new();
        let mut at = units.start;
        for (unit, _) in self.counted().filter(|(unit, _)| units.contains(unit)) {
            if unit > at {
                ranges.push(at..unit);
            }
            at = unit + 1;
        }
        if at < units.end {
            ranges.push(at..units.end);
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_any_size_are_exact() {
        let mut counts = UnitCounts::default();
        let added = [(5, 1), (5, 2), (1 << 50, 254), (1 << 50, 1), (1 << 50, 70_000), (4096, 255), (7, 0), (6, 254)];
        for (unit, more) in added {
            counts.add(unit, more).unwrap();
        }
        let expected = vec![(5, 3), (6, 254), (4096, 255), (1 << 50, 70_255)];
        assert_eq!(counts.counted().collect::<Vec<_>>(), expected);
        assert_eq!([4, 5, 4095, 4096, 1 << 51].map(|unit| counts.get(unit)), [0, 3, 0, 255, 0]);
        assert_eq!(counts.unused(3..4099), [3..5, 7..4096, 4097..4099]);
        assert_eq!((counts.unused(5..7).first(), counts.unused(8..9).first()), (None, Some(&(8..9))));
    }

    #[test]
    fn memory_is_bounded() {
        let mut counts = UnitCounts::default();
        let failed = (0..).map(|number| counts.add(number * PAGE, 1)).find_map(Result::err).unwrap();
        assert_eq!((failed.kind, &*failed.code), (ErrorKind::Limit, "check-too-large"));
        assert!(counts.pages.len() <= MOST_PAGES + 1);
    }
}
