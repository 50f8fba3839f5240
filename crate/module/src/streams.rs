//! Stream decoders in a module: the requests about them, and both sides that exchange these.

use crate::{
    BeginSearch, BlockFile, BlockSearch, Failure, Objects, Request, SearchStep, Service, Step, StreamDecoder, failures,
};
use serde::{Deserialize, Serialize};

/// A request to a module about one of its decoders.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum StreamRequest {
    /// Creates a decoder. The output is its number: four bytes, little endian.
    Create,
    /// Creates a divider. The output is its number, as for `Create`.
    CreateDivider,
    /// See [`StreamDecoder::decode`].
    Decode(u32),
    /// The output is the last [`Step`].
    Report(u32),
    /// Frees a decoder.
    Free(u32),
    /// Begins to search a file for blocks. The output is the number of the search: four bytes, little endian.
    Search(BlockFile),
    /// See [`BlockSearch::next`]. The output is the [`SearchStep`].
    Next(u32),
    /// Frees a search.
    FreeSearch(u32),
}

failures! {
    /// A failure to serve a request about a decoder.
    pub enum StreamFailure {
        /// Memory ran out.
        OutOfMemory = -1,
    }
}

impl Request for StreamRequest {
    type Failure = StreamFailure;
}

/// Maximum length of an encoded [`Step`], in bytes.
#[cfg(feature = "imported")]
const LONGEST_STEP: usize = 48;

/// Maximum length of an encoded [`SearchStep`], in bytes.
#[cfg(feature = "imported")]
const LONGEST_SEARCH_STEP: usize = 40 << 10;

/// A decoder or a divider.
enum Either<Decoder, Divider> {
    Decoder(Decoder),
    Divider(Divider),
}

impl<Decoder: StreamDecoder, Divider: StreamDecoder> StreamDecoder for Either<Decoder, Divider> {
    fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Step {
        match self {
            Self::Decoder(decoder) => decoder.decode(input, output),
            Self::Divider(divider) => divider.decode(input, output),
        }
    }
}

/// The decoder of a codec that has a module.
pub trait CodecDecoder: StreamDecoder + Default {
    /// Divides streams of the codec; [`Undivided`](crate::Undivided) if they are not divided.
    type Divider: StreamDecoder + Default;

    /// Begins to search a file for blocks. By default, files of the codec are not searched.
    const SEARCH: BeginSearch = |_| None;
}

struct KeptDecoder<D: CodecDecoder> {
    decoder: Either<D, D::Divider>,
    last_step: Option<Step>,
}

/// The decoders and dividers of a module, and its searches for blocks.
pub struct Decoders<D: CodecDecoder> {
    decoders: Objects<KeptDecoder<D>>,
    searches: Objects<Box<dyn BlockSearch>>,
}

impl<D: CodecDecoder> Default for Decoders<D> {
    fn default() -> Self {
        Self { decoders: Objects::default(), searches: Objects::default() }
    }
}

impl<D: CodecDecoder> Service for Decoders<D> {
    type Request = StreamRequest;

    fn serve(&mut self, request: StreamRequest, input: &[u8], output: &mut [u8]) -> Result<usize, StreamFailure> {
        self.serve_stream(request, input, output)
    }
}

impl<D: CodecDecoder> Decoders<D> {
    /// Serves `request` for a module that also serves other requests, with its kind of failure. Returns the length of the output.
    pub fn serve_stream<F: Failure>(
        &mut self,
        request: StreamRequest,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<usize, F> {
        let mut put = |number: Option<u32>| {
            output.copy_from_slice(&number.ok_or(F::OUT_OF_MEMORY)?.to_le_bytes());
            Ok(output.len())
        };
        let mut keep = |decoder| self.decoders.keep(KeptDecoder { decoder, last_step: None });
        match request {
            StreamRequest::Create => put(keep(Either::Decoder(D::default()))),
            StreamRequest::CreateDivider => put(keep(Either::Divider(D::Divider::default()))),
            StreamRequest::Search(file) => put((D::SEARCH)(file).and_then(|search| self.searches.keep(search))),
            StreamRequest::Next(number) => {
                let step: SearchStep = self.searches.get(number).next(input);
                Ok(postcard::to_slice(&step, output).expect("there is room for any step").len())
            }
            StreamRequest::FreeSearch(number) => {
                self.searches.free(number);
                Ok(0)
            }
            StreamRequest::Decode(number) => {
                let kept = self.decoders.get(number);
                let step = kept.decoder.decode(input, output);
                kept.last_step = Some(step);
                Ok(step.written as usize)
            }
            StreamRequest::Report(number) => {
                let step = self.decoders.get(number).last_step.expect("it has decoded");
                Ok(postcard::to_slice(&step, output).expect("there is room for any step").len())
            }
            StreamRequest::Free(number) => {
                self.decoders.free(number);
                Ok(0)
            }
        }
    }
}

#[cfg(feature = "imported")]
pub use imported::{ModuleCodec, ModuleDecoder, ModuleDivider, search};

#[cfg(feature = "imported")]
mod imported {
    use super::*;
    use crate::{CreateDecoder, Fault, Module, StreamState};
    use std::marker::PhantomData;

    /// A codec in a module.
    pub trait ModuleCodec {
        /// The requests of the module.
        type Request: Request + From<StreamRequest>;

        /// The module. It must be ready before the codec is used.
        fn module() -> &'static Module;
    }

    /// An object in the instance of this thread of a module.
    struct Object {
        number: u32,
        ask: Ask,
        is_of_this_thread: PhantomData<*const ()>,
    }

    /// Serves a request by a module. Returns the length of the output; `None` if memory runs out.
    type Ask = fn(StreamRequest, &[u8], &mut [u8]) -> Option<usize>;

    impl Object {
        fn created<C: ModuleCodec>(request: StreamRequest) -> Option<Self> {
            let mut number = [0; 4];
            C::module().serve(C::Request::from(request), &[], &mut number).ok()?;
            let ask: Ask = |request, input, output| C::module().serve(C::Request::from(request), input, output).ok();
            Some(Self { number: u32::from_le_bytes(number), ask, is_of_this_thread: PhantomData })
        }

        fn ask(&self, request: fn(u32) -> StreamRequest, input: &[u8], output: &mut [u8]) -> Option<usize> {
            (self.ask)(request(self.number), input, output)
        }

        fn step(&self, input: &[u8], output: &mut [u8]) -> Option<Step> {
            self.ask(StreamRequest::Decode, input, output)?;
            let mut step = [0; LONGEST_STEP];
            let len = self.ask(StreamRequest::Report, &[], &mut step)?;
            Some(postcard::from_bytes(&step[..len]).expect("both sides are of one version"))
        }

        fn decode(&self, input: &[u8], output: &mut [u8]) -> Step {
            let room = (input.len() + output.len()) as u64;
            // Serving it fails only if memory runs out.
            let state = StreamState::Failed(Fault::OutOfMemory(room));
            let failed = Step { consumed: 0, written: 0, state, window: 0 };
            self.step(input, output).unwrap_or(failed)
        }
    }

    /// A decoder in the instance of this thread of a codec's module. It divides streams if `DIVIDES` is set.
    pub struct ModuleDecoder<C, const DIVIDES: bool = false>(Object, PhantomData<C>);

    /// A divider in the instance of this thread of a codec's module.
    pub type ModuleDivider<C> = ModuleDecoder<C, true>;

    impl<C: ModuleCodec + 'static, const DIVIDES: bool> CreateDecoder for ModuleDecoder<C, DIVIDES> {
        fn create() -> Option<Box<dyn StreamDecoder>> {
            let request = if DIVIDES { StreamRequest::CreateDivider } else { StreamRequest::Create };
            Some(Box::new(Self(Object::created::<C>(request)?, PhantomData)))
        }
    }

    impl<C, const DIVIDES: bool> StreamDecoder for ModuleDecoder<C, DIVIDES> {
        fn decode(&mut self, input: &[u8], output: &mut [u8]) -> Step {
            self.0.decode(input, output)
        }
    }

    impl<C, const DIVIDES: bool> Drop for ModuleDecoder<C, DIVIDES> {
        fn drop(&mut self) {
            // Needs a few bytes of a buffer that is there.
            let _ = self.0.ask(StreamRequest::Free, &[], &mut []);
        }
    }

    /// A search for blocks in the instance of this thread of a module.
    struct ModuleSearch(Object);

    /// Begins to search `file` in the module of a codec. Returns `None` if memory runs out.
    pub fn search<C: ModuleCodec>(file: BlockFile) -> Option<Box<dyn BlockSearch>> {
        Some(Box::new(ModuleSearch(Object::created::<C>(StreamRequest::Search(file))?)))
    }

    impl BlockSearch for ModuleSearch {
        fn next(&mut self, bytes: &[u8]) -> SearchStep {
            let mut step = vec![0; LONGEST_SEARCH_STEP];
            match self.0.ask(StreamRequest::Next, bytes, &mut step) {
                Some(len) => postcard::from_bytes(&step[..len]).expect("both sides are of one version"),
                // Memory ran out.
                None => SearchStep::End(false),
            }
        }
    }

    impl Drop for ModuleSearch {
        fn drop(&mut self) {
            let _ = self.0.ask(StreamRequest::FreeSearch, &[], &mut []);
        }
    }
}

/// Declares the codec of the static `MODULE` of a crate, with its type of requests, the names of its decoder and its divider, and the name
/// of the function that begins to search a file for blocks.
#[cfg(feature = "imported")]
#[macro_export]
macro_rules! imported_codec {
    ($Codec:ident, $Request:ty, $Decoder:ident $(, $Divider:ident $(, $search:ident)?)?) => {
        /// The codec in the module.
        pub struct $Codec;

        impl $crate::ModuleCodec for $Codec {
            type Request = $Request;

            fn module() -> &'static $crate::Module {
                &MODULE
            }
        }

        /// A decoder of streams.
        pub type $Decoder = $crate::ModuleDecoder<$Codec>;
        $(
            /// A divider of streams.
            pub type $Divider = $crate::ModuleDivider<$Codec>;
            $(
                /// Begins to search a file for blocks. Returns `None` if memory runs out.
                pub fn $search(file: $crate::BlockFile) -> Option<Box<dyn $crate::BlockSearch>> {
                    $crate::search::<$Codec>(file)
                }
            )?
        )?
    };
}
