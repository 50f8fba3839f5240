//! The merged extents of a chain: what a layer does not record is asked of the one below, for exactly
//! that range, so that what is covered above costs nothing below.

use super::Chain;
use crate::error::Result;
use crate::extent::{Extent, ExtentKind, ExtentWalk};
use crate::units::GuestRange;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use std::collections::VecDeque;

/// Extents after which a batch is handed on.
const BATCH: usize = 1024;

struct LayerWalk {
    name: String,
    walk: Box<dyn ExtentWalk>,
    /// Extents that were listed and not asked for yet.
    listed: VecDeque<Extent>,
    virtual_size: u64,
}

pub(super) struct Merged {
    layers: Vec<LayerWalk>,
}

impl Merged {
    pub fn new(chain: &Chain) -> Self {
        let layer = |(depth, layer): (usize, &super::Layer)| LayerWalk {
            name: layer.name.clone(),
            walk: chain.walk_layer(depth),
            listed: VecDeque::new(),
            virtual_size: layer.disk.virtual_size(),
        };
        Self { layers: chain.layers.iter().enumerate().map(layer).collect() }
    }

    async fn step(&mut self, range: GuestRange, batch: &mut Vec<Extent>) -> Result<()> {
        let full = batch.len() + BATCH;
        // What is still to be described, the next range last, each with the layer to ask.
        let mut open = vec![(0, range)];
        while let Some((depth, range)) = open.pop() {
            if batch.len() >= full {
                break;
            }
            let extent = self.layers[depth].first(range, depth).await?;
            let rest = GuestRange { start: extent.end(), ..range };
            if !rest.is_empty() {
                open.push((depth, rest));
            }
            match self.layers.get(depth + 1) {
                Some(below)
                    if matches!(extent.kind, ExtentKind::Unallocated { .. }) && extent.start.0 < below.virtual_size =>
                {
                    // Behind the end of a shorter backing file there are zeros.
                    let middle = extent.end().min(below.virtual_size);
                    let (covered, behind) = extent.split(middle - extent.start.0);
                    if let Some(behind) = behind {
                        self.layers[depth].listed.push_front(behind);
                        open.push((depth, GuestRange { start: behind.start.0, end: behind.end() }));
                    }
                    open.push((depth + 1, GuestRange { start: covered.start.0, end: covered.end() }));
                }
                _ => push(batch, extent),
            }
        }
        Ok(())
    }
}

impl LayerWalk {
    /// The extent at `range.start`, as much of it as lies in `range`.
    async fn first(&mut self, range: GuestRange, depth: usize) -> Result<Extent> {
        while self.listed.front().is_some_and(|extent| extent.end() <= range.start) {
            self.listed.pop_front();
        }
        if self.listed.front().is_none_or(|extent| extent.start.0 > range.start) {
            let mut batch = Vec::new();
            let listed = self.walk.list(range, &mut batch).await;
            listed.map_err(|error| if depth > 0 { error.within(&self.name) } else { error })?;
            self.listed = batch.into();
        }
        let extent = self.listed.pop_front().expect("a walk lists at least one extent");
        // What ends before the range was dropped above, so that something is left.
        let (before, within) = extent.split(range.start - extent.start.0);
        let (first, rest) = within.unwrap_or(before).split(range.end - range.start);
        if let Some(rest) = rest {
            self.listed.push_front(rest);
        }
        Ok(first)
    }
}

fn push(batch: &mut Vec<Extent>, extent: Extent) {
    if !batch.last_mut().is_some_and(|last| last.try_extend(&extent)) {
        batch.push(extent);
    }
}

impl ExtentWalk for Merged {
    fn list<'a>(&'a mut self, range: GuestRange, batch: &'a mut Vec<Extent>) -> LocalBoxFuture<'a, Result<()>> {
        self.step(range, batch).boxed_local()
    }
}
