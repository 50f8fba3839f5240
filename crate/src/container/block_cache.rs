//! Keeps decoded blocks in bounded memory, and decodes the next ones ahead.

use super::part::DecodedPart;
use crate::error::{Error, Result};
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// Bounds on the room for blocks that are kept or being decoded, in bytes. One block may exceed it.
const LEAST_ROOM: u64 = 32 << 20;
const MOST_ROOM: u64 = 96 << 20;
/// Two blocks can be decoded while another one is read.
const BLOCKS_AT_ONCE: u64 = 3;

type Decoding = LocalBoxFuture<'static, (usize, Result<DecodedPart>)>;

pub(super) struct BlockCache {
    /// The memory that each block takes while it is decoded, in bytes: its part of the file, and its data.
    weights: Vec<u64>,
    /// How many blocks to decode at once if they are used in their order.
    depth: usize,
    room: u64,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// Decoded blocks by number.
    kept: BTreeMap<usize, Kept>,
    /// The blocks that wait for room.
    queue: VecDeque<usize>,
    /// The blocks that are being decoded.
    running: BTreeSet<usize>,
    decoding: FuturesUnordered<Decoding>,
    /// The users of a block: it is not dropped before they have read it.
    users: BTreeMap<usize, Users>,
    /// The weight of the blocks that are kept or being decoded.
    taken: u64,
    clock: u64,
    /// The wakers of users. The user that is polled advances the decoding for all, and wakes the others.
    wakers: Vec<Waker>,
}

struct Kept {
    part: Rc<DecodedPart>,
    /// Clock value of its last use.
    used: u64,
}

#[derive(Default)]
struct Users {
    count: usize,
    failure: Option<Error>,
}

impl State {
    fn is_known(&self, number: usize) -> bool {
        self.kept.contains_key(&number) || self.running.contains(&number) || self.queue.contains(&number)
    }

    /// Drops the block that was not used for longest. Returns `None` if all have users.
    fn drop_oldest(&mut self, weights: &[u64]) -> Option<()> {
        let unused = self.kept.iter().filter(|(number, _)| !self.users.contains_key(number));
        let (&number, _) = unused.min_by_key(|(_, kept)| kept.used)?;
        self.kept.remove(&number);
        self.taken -= weights[number];
        Some(())
    }

    fn keep(&mut self, number: usize, part: DecodedPart) {
        self.clock += 1;
        self.kept.insert(number, Kept { part: Rc::new(part), used: self.clock });
    }
}

impl BlockCache {
    /// Creates a cache for blocks of these `weights`. `first` is the data of the first block, if it was decoded before.
    pub(super) fn new(weights: Vec<u64>, depth: usize, first: Option<DecodedPart>) -> Self {
        let largest = weights.iter().max().copied().unwrap_or_default();
        let mut state = State::default();
        if let Some(first) = first {
            state.keep(0, first);
            state.taken = weights[0];
        }
        let room = (BLOCKS_AT_ONCE * largest).clamp(LEAST_ROOM, MOST_ROOM);
        Self { weights, depth, room, state: RefCell::new(state) }
    }

    /// Returns the block `number`, decoded by `decode`. Fails as `decode` does.
    pub(super) async fn get(
        &self,
        number: usize,
        decode: &dyn Fn(usize) -> LocalBoxFuture<'static, Result<DecodedPart>>,
    ) -> Result<Rc<DecodedPart>> {
        let _user = self.begin_use(number);
        poll_fn(|context| self.poll(number, decode, context)).await
    }

    fn begin_use(&self, number: usize) -> User<'_> {
        let mut state = self.state.borrow_mut();
        let is_in_order = number > 0 && state.is_known(number - 1);
        state.users.entry(number).or_default().count += 1;
        if !state.is_known(number) {
            state.queue.push_back(number);
        }
        let ahead = if is_in_order { number + 1..self.weights.len().min(number + self.depth) } else { 0..0 };
        let mut weight = self.weights[number];
        for next in ahead {
            weight += self.weights[next];
            if weight > self.room {
                break;
            }
            if !state.is_known(next) {
                state.queue.push_back(next);
            }
        }
        User { cache: self, number }
    }

    fn poll(
        &self,
        number: usize,
        decode: &dyn Fn(usize) -> LocalBoxFuture<'static, Result<DecodedPart>>,
        context: &mut Context<'_>,
    ) -> Poll<Result<Rc<DecodedPart>>> {
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        loop {
            self.start(state, decode);
            let Poll::Ready(Some((done, result))) = state.decoding.poll_next_unpin(context) else { break };
            state.running.remove(&done);
            match (result, state.users.get_mut(&done)) {
                (Ok(part), _) => state.keep(done, part),
                (Err(error), users) => {
                    state.taken -= self.weights[done];
                    // A later user tries again.
                    if let Some(users) = users {
                        users.failure = Some(error);
                    }
                }
            }
            state.wakers.drain(..).for_each(Waker::wake);
        }
        state.clock += 1;
        if let Some(kept) = state.kept.get_mut(&number) {
            kept.used = state.clock;
            return Poll::Ready(Ok(kept.part.clone()));
        }
        if let Some(error) = state.users.get(&number).and_then(|users| users.failure.clone()) {
            return Poll::Ready(Err(error));
        }
        if !state.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            state.wakers.push(context.waker().clone());
        }
        Poll::Pending
    }

    /// Begins to decode blocks that wait, until the room is full.
    fn start(&self, state: &mut State, decode: &dyn Fn(usize) -> LocalBoxFuture<'static, Result<DecodedPart>>) {
        while let Some(&number) = state.queue.front() {
            let weight = self.weights[number];
            while state.taken + weight > self.room && state.drop_oldest(&self.weights).is_some() {}
            if state.taken + weight > self.room && !state.running.is_empty() {
                return;
            }
            state.queue.pop_front();
            state.taken += weight;
            state.running.insert(number);
            let decoding = decode(number);
            state.decoding.push(Box::pin(async move { (number, decoding.await) }));
        }
    }
}

/// A user of a block.
struct User<'a> {
    cache: &'a BlockCache,
    number: usize,
}

impl Drop for User<'_> {
    fn drop(&mut self) {
        let mut state = self.cache.state.borrow_mut();
        if let Some(users) = state.users.get_mut(&self.number) {
            users.count -= 1;
            if users.count == 0 {
                state.users.remove(&self.number);
            }
        }
        // Another user advances the decoding from now on.
        state.wakers.drain(..).for_each(Waker::wake);
    }
}

#[cfg(test)]
mod tests {
    use super::super::part::PartFacts;
    use super::*;
    use crate::error::ErrorKind;
    use futures_executor::block_on;
    use futures_util::future::{FutureExt, join_all, ready};
    use std::cell::Cell;
    use std::task::Waker;

    const MIB: u64 = 1 << 20;

    type Numbers = Rc<RefCell<Vec<usize>>>;
    type Decoding = LocalBoxFuture<'static, Result<DecodedPart>>;

    /// Counts the parts of a cache that are not freed.
    struct Counted(usize, Rc<Cell<usize>>);

    impl super::super::part::PartBytes for Counted {
        fn copy_to(&self, _: usize, buf: &mut [u8]) {
            buf.fill(self.0 as u8);
        }
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            self.1.set(self.1.get() - 1);
        }
    }

    /// A decoder of parts that are 30 MiB long, which lists them.
    fn decoder() -> (Numbers, Rc<Cell<usize>>, impl Fn(usize) -> Decoding) {
        let (decoded, alive) = (Rc::<RefCell<Vec<usize>>>::default(), Rc::<Cell<usize>>::default());
        let (list, count) = (decoded.clone(), alive.clone());
        let decode = move |number: usize| {
            list.borrow_mut().push(number);
            count.set(count.get() + 1);
            let facts = PartFacts { size: 30 * MIB, trailer: 0 };
            let part = DecodedPart { facts, bytes: Box::new(Counted(number, count.clone())) };
            ready(Ok(part)).boxed_local()
        };
        (decoded, alive, decode)
    }

    fn used(cache: &BlockCache, numbers: &[usize], decode: &dyn Fn(usize) -> Decoding) {
        for &number in numbers {
            let mut byte = [0];
            block_on(cache.get(number, decode)).unwrap().bytes.copy_to(0, &mut byte);
            assert_eq!(usize::from(byte[0]), number);
        }
    }

    /// There is room for two of them.
    #[test]
    fn blocks_are_decoded_again_if_they_have_lost_their_room() {
        let (decoded, alive, decode) = decoder();
        let cache = BlockCache::new(vec![40 * MIB; 4], 1, None);
        used(&cache, &[0, 2, 0, 2, 3, 0, 3], &decode);
        assert_eq!(*decoded.borrow(), [0, 2, 3, 0]);
        assert_eq!(alive.get(), 2);
    }

    #[test]
    fn a_block_that_is_used_is_not_freed() {
        let (_, alive, decode) = decoder();
        let cache = BlockCache::new(vec![40 * MIB; 6], 1, None);
        let first = block_on(cache.get(0, &decode)).unwrap();
        used(&cache, &[2, 4], &decode);
        assert_eq!(alive.get(), 3);
        drop(first);
        assert_eq!(alive.get(), 2);
    }

    #[test]
    fn blocks_in_order_are_decoded_ahead_within_the_room() {
        for (weight, expected) in [(10 * MIB, &[0, 1, 2, 3][..]), (40 * MIB, &[0, 1, 2]), (96 * MIB, &[0, 1])] {
            let (decoded, _, decode) = decoder();
            let cache = BlockCache::new(vec![weight; 9], 3, None);
            used(&cache, &[0, 1], &decode);
            assert_eq!(*decoded.borrow(), expected, "{weight}");
        }
    }

    /// Users that give up do not stop the others, and one decoding serves all users of a block.
    #[test]
    fn users_share_the_progress() {
        let (decoded, _, decode) = decoder();
        let slow = |number| {
            let (decoding, mut polls) = (decode(number), 0);
            let pause = poll_fn(move |context: &mut Context<'_>| {
                polls += 1;
                context.waker().wake_by_ref();
                if polls > 3 { Poll::Ready(()) } else { Poll::Pending }
            });
            async move {
                pause.await;
                decoding.await
            }
            .boxed_local()
        };
        let cache = BlockCache::new(vec![MIB; 4], 1, None);
        let gets = [0, 1, 0, 1, 3].map(|number| cache.get(number, &slow));
        let mut given_up = Box::pin(cache.get(2, &slow));
        assert!(given_up.poll_unpin(&mut Context::from_waker(Waker::noop())).is_pending());
        drop(given_up);
        assert!(block_on(join_all(gets)).iter().all(Result::is_ok));
        assert_eq!(*decoded.borrow(), [2, 0, 1, 3]);
    }

    #[test]
    fn a_failure_reaches_all_users_and_is_not_kept() {
        let cache = BlockCache::new(vec![MIB; 2], 1, None);
        let failing = |_| ready(Err(Error::new(ErrorKind::Corrupt, "damaged"))).boxed_local();
        let gets = [0, 0, 1].map(|number| cache.get(number, &failing));
        assert!(block_on(join_all(gets)).iter().all(Result::is_err));
        let (_, _, decode) = decoder();
        used(&cache, &[0, 1], &decode);
    }
}
