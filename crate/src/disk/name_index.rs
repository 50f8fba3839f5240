//! Finds items by their names.

use decant_text::{folded, other_readings};
use std::cell::OnceCell;

/// The numbers of items by name. Several items may have one name.
pub(crate) struct NameIndex(Vec<(String, usize)>);

impl NameIndex {
    /// Indexes items by their `names`, numbered from 0.
    pub(crate) fn new(names: impl Iterator<Item = String>) -> Self {
        Self::of(names.zip(0..).collect())
    }

    fn of(mut numbered: Vec<(String, usize)>) -> Self {
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

/// The numbers of items by names that may differ in case, Unicode form and encoding.
pub(crate) struct SimilarNames {
    folded: NameIndex,
    /// The names whose encoding may be another one, and their items.
    beyond_ascii: Vec<(String, usize)>,
    /// Of `beyond_ascii`. Archives have many names, of which few are looked for in vain.
    readings: OnceCell<NameIndex>,
}

impl SimilarNames {
    /// Indexes items by their `names`, numbered from 0.
    pub(crate) fn new<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Self {
        let numbered = names.clone().map(str::to_owned).zip(0..);
        let beyond_ascii = numbered.filter(|(name, _)| !name.is_ascii()).collect();
        Self { folded: NameIndex::new(names.map(folded)), beyond_ascii, readings: OnceCell::new() }
    }

    /// Returns the numbers of the items that `name` may mean, in ascending order: those called so but for case and Unicode form, or else those
    /// called so in another encoding.
    pub(crate) fn find(&self, name: &str) -> Vec<usize> {
        let wanted = folded(name);
        let found = self.folded.find(&wanted);
        if found.is_empty() && !name.is_ascii() { self.readings().find(&wanted) } else { found }
    }

    fn readings(&self) -> &NameIndex {
        let of = |(name, at): &(String, usize)| {
            let at = *at;
            other_readings(name).into_iter().map(move |reading| (reading, at))
        };
        self.readings.get_or_init(|| NameIndex::of(self.beyond_ascii.iter().flat_map(of).collect()))
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

    #[test]
    fn items_are_found_by_similar_names() {
        let gbk = decant_text::file_name(b"\xb4\xc5\xc5\xcc");
        let names = ["a", "A", "Große", &gbk, "ä"];
        let index = SimilarNames::new(names.into_iter());
        let bytes = decant_text::file_name(b"\xe4");
        // (name, the items)
        for (name, expected) in
            [("a", &[0, 1][..]), ("GROßE", &[2]), ("磁盘", &[3]), (&gbk, &[3]), ("磁", &[]), (&bytes, &[]), ("Ä", &[4])]
        {
            assert_eq!(index.find(name), expected, "{name}");
        }
    }
}
