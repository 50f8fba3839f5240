//! The wasm of the `threads` engine: a pool of threads over one memory, for one conversion. Each thread has the files and the target
//! open, and runs whole jobs: it reads, decodes, encodes and writes. A coordinator in another worker makes the jobs.

mod file_reader;

use super::errors::JsResult;
use super::sync_handle::SyncHandle;
use super::task::{DeliveredBytes, JsReply, Task, execute, files_of, internal, keys_of, reply_of, reply_of_part};
use crate::container::part::{ContainerNumber, decode_part};
use crate::convert::{ExecutedJob, Job, Transcoder};
use crate::error::{Error, ErrorKind, Result};
use crate::io::source::{Source, zeroed};
use crate::io::target::TargetHandle;
use file_reader::WaitingSource;
use futures_channel::oneshot;
use futures_util::FutureExt;
use js_sys::{Array, Uint8Array};
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
// Linked for its export `initThreadPool`.
use wasm_bindgen_rayon as _;

thread_local! {
    static OPENED: RefCell<Option<Opened>> = const { RefCell::new(None) };
}

/// The open files and target of a thread.
struct Opened {
    /// `None` for a file whose bytes travel with the jobs.
    files: Vec<Option<Rc<dyn Source>>>,
    handle: Option<SyncHandle>,
    transcoder: Transcoder,
}

impl Opened {
    /// Runs `job`, and writes its output if the target is open here.
    fn run(&self, job: Job, brought: Vec<Vec<u8>>) -> Result<ExecutedJob<Vec<u8>>> {
        let files = files_of(&job, &self.files, brought.into_iter())?;
        let handle = self.handle.as_ref().map(|handle| handle as &dyn TargetHandle<Vec<u8>>);
        let running = execute(&self.transcoder, job, &files, handle).now_or_never();
        running.expect("reading and writing block the thread")
    }
}

/// The memory of this instance, for the instances of the threads.
#[wasm_bindgen(js_name = sharedMemory)]
pub fn shared_memory() -> JsValue {
    wasm_bindgen::memory()
}

/// Opens the files and the target of a conversion in a thread. Called before the thread enters the pool. Takes the arguments of
/// `Runner::new` of the other engine: `files` are `Blob`s, and `handle` is a sync handle or `undefined`. Fails with `internal` if
/// the keys cannot be read.
#[wasm_bindgen(js_name = openInThread)]
pub fn open_in_thread(files: &Array, keys: Option<Vec<u8>>, handle: JsValue) -> JsResult<()> {
    let open = |file: JsValue| match file.is_undefined() {
        true => Ok(None),
        false => Ok(Some(Rc::new(WaitingSource::new(file.unchecked_into())?) as Rc<dyn Source>)),
    };
    let files = files.iter().map(open).collect::<JsResult<_>>()?;
    let handle = (!handle.is_undefined()).then(|| SyncHandle::new(handle.unchecked_into()));
    OPENED.set(Some(Opened { files, handle, transcoder: Transcoder::new(keys_of(keys)?) }));
    Ok(())
}

/// Closes the handles of all threads. No job may be running.
#[wasm_bindgen(js_name = closeInThreads)]
pub fn close_in_threads() {
    rayon::broadcast(|_| {
        if let Some(Opened { handle: Some(handle), .. }) = OPENED.take() {
            handle.close();
        }
    });
}

/// Runs a task in a thread of the pool. `brought` has the bytes that travel with it, as `Runner::run` of the other engine takes them.
#[wasm_bindgen(js_name = runInThread)]
pub async fn run_in_thread(task: Vec<u8>, brought: Array) -> JsResult<JsReply> {
    match postcard::from_bytes(&task).map_err(internal)? {
        Task::Run(job) => run_job(job, brought).await,
        Task::DecodePart(container, has_room) => Ok(run_part(container, has_room, brought).await?),
    }
}

async fn run_job(job: Job, brought: Array) -> JsResult<JsReply> {
    // Here, since a thread of the pool cannot wait for a message.
    job.prepare_modules().await?;
    let bytes = brought.iter().map(|bytes| copied(&bytes.unchecked_into())).collect::<Result<_>>()?;
    let run = move || OPENED.with_borrow(|opened| opened.as_ref().expect("it was opened before").run(job, bytes));
    let reply = reply_of(&in_thread(run).await??)?;
    reply.set_brought(brought);
    Ok(reply)
}

async fn run_part(container: ContainerNumber, has_room: bool, brought: Array) -> Result<JsReply> {
    container.prepare().await?;
    let room = if has_room { brought.shift().unchecked_into() } else { Uint8Array::default() };
    let pieces: Vec<Uint8Array> = brought.iter().map(JsCast::unchecked_into).collect();
    let mut part = zeroed(pieces.iter().map(|piece| piece.length() as usize).sum())?;
    let mut rest = &mut part[..];
    for piece in &pieces {
        let (to, after) = rest.split_at_mut(piece.length() as usize);
        piece.copy_to(to);
        rest = after;
    }
    let (facts, bytes) = in_thread(move || decode_part(container, part)).await??;
    let room =
        if room.length() as usize >= bytes.len() { room } else { Uint8Array::new_with_length(bytes.len() as u32) };
    let room = room.subarray(0, bytes.len() as u32);
    room.copy_from(&bytes);
    reply_of_part(facts, room)
}

/// Resolves to what `run` returns in a thread of the pool. Fails with `internal` if the thread ends.
async fn in_thread<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    let (answer, answered) = oneshot::channel();
    // Nobody receives the answer after a cancel.
    rayon::spawn(move || drop(answer.send(run())));
    answered.await.map_err(|_| Error::new(ErrorKind::Internal, "A thread ended"))
}

/// Copies `bytes` to the memory of the threads. Fails with `internal` if memory runs out.
fn copied(bytes: &Uint8Array) -> Result<Vec<u8>> {
    let mut copy = zeroed(bytes.length() as usize)?;
    bytes.copy_to(&mut copy);
    Ok(copy)
}

impl DeliveredBytes for Vec<u8> {
    fn len(&self) -> usize {
        self.len()
    }

    fn copy_to(&self, start: usize, buf: &mut [u8]) {
        buf.copy_from_slice(&self[start..start + buf.len()]);
    }
}
