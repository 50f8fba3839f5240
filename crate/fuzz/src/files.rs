//! An image, and the files that belong to it.

/// An image with what belongs to it.
pub struct Files {
    pub image: Vec<u8>,
    /// (name, content)
    pub companions: Vec<(String, Vec<u8>)>,
    pub password: Option<Vec<u8>>,
}
