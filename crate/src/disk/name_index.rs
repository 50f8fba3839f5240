//! Finds items by their names.

/// The numbers of items by name. Several items may have one name.
pub(crate) struct NameIndex(Vec<(String, usize)>);

impl NameIndex {
    /// Indexes items by their `names`, numbered from 0.
    pub(crate) fn new(names: impl Iterator<Item = String>) -> Self {
        let mut numbered: Vec<_> = names.zip(0..).collect();
        numbered.sort_unstable();
        Self(numbered)
    }

    /// Returns the numbers of the items called `name`, in ascending order.
    pub(crate) fn find(&self, name: &str) -> Vec<usize> {
        let start = self.0.partition_point(|(known, _)| &**known < name);
        let found = self.0[start..].iter().take_while(|(known, _)| known == name);
        found.map(|&(_, number)| number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_found_by_name() {
        let index = NameIndex::new(["b", "a", "b", "", "ab", "b"].map(String::from).into_iter());
        for (name, expected) in [("a", &[1][..]), ("b", &[0, 2, 5]), ("", &[3]), ("ab", &[4]), ("c", &[]), ("aa", &[])]
        {
            assert_eq!(index.find(name), expected, "{name}");
        }
    }
}
