//! Sandboxed child processes that open uploaded documents: they read the text of documents, and run other programs on
//! them.
//!
//! A child is this same program, started with a hidden command. Before it sees a byte of a document, it gives up the
//! network, the file system and most system calls, and sets limits on memory, time and files (`child`, `restrictions`).
//! On the server's side a thread supervises it (`supervisor`). The thread kills the child with everything that it
//! started at a deadline, when the caller stops waiting, and when the server stops. It releases the child's permit
//! (`permits`) only once the child is gone. Children that read texts for the search index are kept warm instead
//! (`texts`, `pool`, `protocol`). Permissions are not known here, and formats only to the code that reads them.

pub mod child;
mod children;
mod document;
mod failure;
mod missing_restriction;
mod permits;
mod pool;
mod program;
mod protocol;
mod read_limit;
mod restrictions;
mod supervisor;
mod texts;
mod usage;

pub use child::COMMAND;
pub use children::Sandbox;
pub use document::Document;
pub(crate) use failure::{stops, too_long};
pub use missing_restriction::MissingRestriction;
pub use permits::ChildPermit;
pub use pool::TextRoom;
pub use program::{PipedOutput, PipedProgram, Program};
pub use read_limit::ReadLimit;
