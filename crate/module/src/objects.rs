//! The objects that a module keeps for its host.

/// Objects by their numbers. Each is in a slice of one: a box that is allocated without a trap.
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

    #[test]
    fn numbers_are_used_again() {
        let mut objects = Objects::default();
        assert_eq!((objects.keep('a'), objects.keep('b')), (Some(0), Some(1)));
        objects.free(0);
        assert_eq!((objects.keep('c'), objects.keep('d')), (Some(0), Some(2)));
        assert_eq!((*objects.get(0), *objects.get(1), *objects.get(2)), ('c', 'b', 'd'));
    }
}
