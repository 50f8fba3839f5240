//! An image and its companions.

use std::rc::Rc;

/// An image with its companions.
pub struct Files {
    pub image: Rc<Vec<u8>>,
    /// (name, content)
    pub companions: Vec<(String, Vec<u8>)>,
    pub password: Option<Vec<u8>>,
}
