//! An image and its companions.

/// An image with its companions.
pub struct Files {
    pub image: Vec<u8>,
    /// (name, content)
    pub companions: Vec<(String, Vec<u8>)>,
    pub password: Option<Vec<u8>>,
}
