//! Sandboxed child processes that open uploaded documents: they read the text of documents, and run other programs on
//! them.
//!
//! A child is this same program, started with a hidden command. Before it sees a byte of a document, it gives up the
//! network, the file system and most system calls, and sets limits on memory, time and files (`inside`, `rules`). On
//! the server's side a thread supervises it (`keeper`). The thread kills the child with everything that it started at a
//! deadline, when the caller stops waiting, and when the server stops. It releases the child's permit (`permits`) only
//! once the child is gone. Children that read texts for the search index are kept warm instead (`texts`, `pool`, `frame`).
//! Permissions are not known here, and formats only to the code that reads them.

mod children;
mod document;
mod failure;
mod frame;
pub mod inside;
mod keeper;
mod lack;
mod permits;
mod pool;
mod program;
mod read_limit;
mod rules;
mod texts;
mod usage;

pub use children::Sandbox;
pub use document::Document;
pub(crate) use failure::{stops, too_long};
pub use inside::COMMAND;
pub use lack::MissingRestriction;
pub use permits::ChildPermit;
pub use pool::TextRoom;
pub use program::{PipedOutput, PipedProgram, Program};
pub use read_limit::Patience;
