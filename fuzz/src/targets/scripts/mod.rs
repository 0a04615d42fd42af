//! Scripts in both languages, by the engines alone and by the faces.

pub(crate) mod c_interface;
pub(crate) mod random_scripts;
pub(crate) mod script_json;
