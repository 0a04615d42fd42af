//! The limits that the system sets to the process: open files and memory.

mod memory;
mod open_files;

pub use memory::process_memory_bytes;
pub use open_files::raise_open_files;
