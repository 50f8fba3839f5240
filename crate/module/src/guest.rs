//! The side of the module: serves requests from its buffer.

use crate::{Failure, Request};
use serde::Deserialize;

/// The code of a module.
pub trait Service: Default {
    /// The requests that it serves.
    type Request: Request + for<'a> Deserialize<'a>;

    /// Serves `request`. Returns the length of the output.
    fn serve(
        &mut self,
        request: Self::Request,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<usize, <Self::Request as Request>::Failure>;
}

/// A service with the buffer for its requests. [`export`](crate::export) makes it the module's.
#[derive(Default)]
pub struct Guest<S> {
    service: S,
    buffer: Vec<u8>,
}

impl<S: Service> Guest<S> {
    /// Returns the buffer, at least `len` bytes long; `None` if memory runs out. Its content is undefined.
    pub fn buffer(&mut self, len: usize) -> Option<&mut [u8]> {
        if len > self.buffer.len() {
            // Its content need not be kept.
            self.buffer = Vec::new();
            self.buffer.try_reserve_exact(len).ok()?;
            self.buffer.resize(len, 0);
        }
        Some(&mut self.buffer)
    }

    /// Serves the request in the first `request` bytes of the buffer. Its input is in the next `input` bytes, its
    /// output goes to the `output` bytes after them. Returns the length of the output, or the number of a failure.
    pub fn serve(&mut self, request: usize, input: usize, output: usize) -> i32 {
        let (request, rest) = self.buffer.split_at_mut(request);
        let (input, rest) = rest.split_at_mut(input);
        let request = postcard::from_bytes(request).expect("both sides are of one version");
        match self.service.serve(request, input, &mut rest[..output]) {
            Ok(len) => len as i32,
            Err(failure) => failure.number(),
        }
    }
}

/// Exports a [`Service`] from a module: `buffer(len)` returns the address of the buffer, or 0 if memory runs out, and the
/// function `$name` is [`Guest::serve`].
#[macro_export]
macro_rules! export {
    ($name:ident, $Service:ty) => {
        #[allow(unsafe_code, reason = "exports without wasm-bindgen")]
        const _: () = {
            thread_local! {
                static GUEST: std::cell::RefCell<$crate::Guest<$Service>> = std::cell::RefCell::default();
            }

            #[unsafe(no_mangle)]
            extern "C" fn buffer(len: usize) -> usize {
                GUEST.with_borrow_mut(|guest| guest.buffer(len).map_or(0, |buffer| buffer.as_ptr() as usize))
            }

            #[unsafe(no_mangle)]
            extern "C" fn $name(request: usize, input: usize, output: usize) -> i32 {
                GUEST.with_borrow_mut(|guest| guest.serve(request, input, output))
            }
        };
    };
}

/// The objects that a module keeps for its host, by their numbers. Allocating a boxed slice can report that memory ran out;
/// `Box::new` cannot.
pub struct Objects<T>(Vec<Option<Box<[T]>>>);

impl<T> Default for Objects<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Objects<T> {
    /// Keeps `object`. Returns its number; `None` if memory runs out.
    pub fn keep(&mut self, object: T) -> Option<u32> {
        let mut boxed = Vec::new();
        boxed.try_reserve_exact(1).ok()?;
        boxed.push(object);
        let free = self.0.iter().position(Option::is_none);
        let number = free.unwrap_or(self.0.len());
        if number == self.0.len() {
            self.0.try_reserve(1).ok()?;
            self.0.push(None);
        }
        self.0[number] = Some(boxed.into_boxed_slice());
        Some(number as u32)
    }

    /// The object `number`, which must have been kept.
    pub fn get(&mut self, number: u32) -> &mut T {
        &mut self.0[number as usize].as_mut().expect("it is freed after its last use")[0]
    }

    /// Frees the object `number`.
    pub fn free(&mut self, number: u32) {
        self.0[number as usize] = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MAX_REQUEST, failures};
    use serde::Serialize;

    failures! {
        /// Why adding fails.
        pub enum AddFailure {
            /// A sum exceeds a byte.
            Overflow = -1,
            /// Memory ran out.
            OutOfMemory = -2,
        }
    }

    #[derive(Serialize, Deserialize)]
    struct Add(u8);

    impl Request for Add {
        type Failure = AddFailure;
    }

    #[derive(Default)]
    struct Adder;

    impl Service for Adder {
        type Request = Add;

        fn serve(&mut self, Add(number): Add, input: &[u8], output: &mut [u8]) -> Result<usize, AddFailure> {
            for (sum, byte) in output.iter_mut().zip(input) {
                *sum = byte.checked_add(number).ok_or(AddFailure::Overflow)?;
            }
            Ok(output.len().min(input.len()))
        }
    }

    #[test]
    fn requests_are_served_from_the_buffer() {
        let mut guest = Guest::<Adder>::default();
        for (number, input, output, expected) in [
            (3, &[1, 2][..], 4, Ok(&[4, 5][..])),
            (3, &[1, 2], 1, Ok(&[4])),
            (9, &[], 0, Ok(&[])),
            (2, &[250, 253, 254], 3, Err(AddFailure::Overflow)),
        ] {
            let mut encoded = [0; MAX_REQUEST];
            let request = postcard::to_slice(&Add(number), &mut encoded).unwrap();
            let (start, end) = (request.len(), request.len() + input.len());
            let buffer = guest.buffer(end + output).unwrap();
            buffer[..start].copy_from_slice(request);
            buffer[start..end].copy_from_slice(input);
            let returned = guest.serve(start, input.len(), output);
            let result = usize::try_from(returned).map_err(|_| AddFailure::with_number(returned).unwrap());
            assert_eq!(result.map(|len| &guest.buffer[end..end + len]), expected);
        }
    }

    #[test]
    fn a_buffer_that_is_too_long_is_a_lack_of_memory() {
        let mut guest = Guest::<Adder>::default();
        assert!(guest.buffer(isize::MAX as usize).is_none());
        assert!(guest.buffer(8).is_some_and(|buffer| buffer.len() == 8));
    }

    #[test]
    fn numbers_are_used_again() {
        let mut objects = Objects::default();
        assert_eq!((objects.keep('a'), objects.keep('b')), (Some(0), Some(1)));
        objects.free(0);
        assert_eq!((objects.keep('c'), objects.keep('d')), (Some(0), Some(2)));
        assert_eq!((*objects.get(0), *objects.get(1), *objects.get(2)), ('c', 'b', 'd'));
    }
}
