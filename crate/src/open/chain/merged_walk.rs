//! Merges the extents of a chain. A layer below is read only for ranges that are unallocated above.

use super::{Chain, place_of};
use crate::disk::extent::{CheckedWalk, Extent, ExtentKind, ExtentWalk};
use crate::disk::host_ranges::Findings;
use crate::error::Result;
use crate::error::place::Place;
use crate::offsets::{GuestOffset, GuestRange};
use crate::open::split::split_file::{SplitFile, explained};
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::collections::VecDeque;
use std::rc::Rc;

/// Number of extents that ends a batch.
const BATCH: usize = 1024;

struct LayerWalk {
    place: Option<Place>,
    walk: CheckedWalk,
    /// Extents that were listed but not used yet.
    listed: VecDeque<Extent>,
    virtual_size: u64,
}

/// The pass over all layers, the top one first.
pub(super) struct MergedWalk {
    layers: Vec<LayerWalk>,
}

impl MergedWalk {
    /// The pass over the first `count` layers.
    pub(crate) fn new(chain: &Chain, count: usize) -> Self {
        let walk = |(number, layer): (usize, &super::Layer)| LayerWalk {
            place: place_of(number, &layer.name),
            walk: chain.walk_layer(number),
            listed: VecDeque::new(),
            virtual_size: layer.disk.virtual_size(),
        };
        Self { layers: chain.layers[..count].iter().enumerate().map(walk).collect() }
    }

    /// Lists a batch of extents from `range.start` on.
    async fn step(&mut self, range: GuestRange, batch: &mut Vec<Extent>) -> Result<()> {
        let full = batch.len() + BATCH;
        // A stack of ranges to describe, each with its layer and the doubt of the layers above.
        let mut open = vec![(0, range, None)];
        while let Some((layer, range, doubt)) = open.pop() {
            if batch.len() >= full {
                break;
            }
            let mut extent = self.layers[layer].first(range).await?;
            if !matches!(extent.kind, ExtentKind::Lost(_)) {
                extent.doubt = doubt.or(extent.doubt);
            }
            let rest = GuestRange { start: extent.end(), ..range };
            if !rest.is_empty() {
                open.push((layer, rest, doubt));
            }
            let end_below = self.layers.get(layer + 1).map_or(GuestOffset(0), |below| GuestOffset(below.virtual_size));
            let is_recorded = !matches!(extent.kind, ExtentKind::Unallocated { .. });
            if is_recorded || extent.start >= end_below {
                extent.push_to(batch);
                continue;
            }
            // The layer below is read up to its end. After that this layer's extent stays unallocated, which means
            // zeros.
            let (covered, uncovered) = extent.split(end_below - extent.start);
            if let Some(uncovered) = uncovered {
                self.layers[layer].listed.push_front(uncovered);
                open.push((layer, uncovered.range(), doubt));
            }
            open.push((layer + 1, covered.range(), covered.doubt));
        }
        Ok(())
    }
}

impl LayerWalk {
    /// The extent at `range.start`, cut at the end of `range`.
    async fn first(&mut self, range: GuestRange) -> Result<Extent> {
        while self.listed.front().is_some_and(|extent| extent.end() <= range.start) {
            self.listed.pop_front();
        }
        if self.listed.front().is_none_or(|extent| extent.start > range.start) {
            let mut batch = Vec::new();
            let listed = self.walk.list(range, &mut batch).await;
            listed.map_err(|error| error.within(self.place.clone()))?;
            self.listed = batch.into();
        }
        let extent = self.listed.pop_front().expect("a walk lists at least one extent");
        // Extents that end before the range were dropped above, so a second part exists.
        let (before, within) = extent.split(range.start - extent.start);
        let (first, rest) = within.unwrap_or(before).split(range.len());
        if let Some(rest) = rest {
            self.listed.push_front(rest);
        }
        Ok(first)
    }
}

/// The pass over a layer in a container or in a part of a split file, which its errors state.
pub(super) struct ExplainedWalk {
    pub(crate) walk: Box<dyn ExtentWalk>,
    pub(crate) place: Option<Place>,
    pub(crate) split: Option<Rc<SplitFile>>,
}

impl ExtentWalk for ExplainedWalk {
    fn list<'a>(&'a mut self, range: GuestRange, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<()>> {
        async move {
            let listed = self.walk.list(range, batch).await;
            listed.map_err(|error| explained(self.split.as_deref(), error.within(self.place.clone())))
        }
        .boxed_local()
    }

    fn findings(&self) -> Findings {
        self.walk.findings()
    }
}

impl ExtentWalk for MergedWalk {
    fn list<'a>(&'a mut self, range: GuestRange, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<()>> {
        self.step(range, batch).boxed_local()
    }

    fn findings(&self) -> Findings {
        self.layers.iter().fold(Findings::default(), |all, layer| all.and(layer.walk.findings()))
    }
}
