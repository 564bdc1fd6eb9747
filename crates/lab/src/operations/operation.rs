//! The shape that all operations have. Knows none of them.

use std::future::Future;
use std::pin::Pin;

use super::share::Share;
use super::user::User;
use crate::wire::{Fault, Kind};

/// The kinds of targets that offer what only Strongroom has.
pub const STRONGROOM: &[Kind] = &[Kind::Strongroom];
/// The kinds of targets that offer what every one has.
pub const EVERYWHERE: &[Kind] = &[Kind::Strongroom, Kind::Webdav];

/// The work of an operation.
pub type Work<'a> = Pin<Box<dyn Future<Output = Result<(), Fault>> + 'a>>;

/// An operation.
pub struct Operation {
    /// Its name in plans.
    pub name: &'static str,
    /// What it does, for people.
    pub what: &'static str,
    /// The kinds of targets that offer it.
    pub offered_by: &'static [Kind],
    /// Whether it changes anything on the target.
    pub changes: bool,
    /// Whether it asks a WebDAV server for descriptions.
    pub describes: bool,
    /// Whether it is done in a session of a browser.
    pub signs_in: bool,
    /// What has to be there before, outside the measured time.
    pub prepare: for<'a> fn(&'a mut User, &'a Share) -> Work<'a>,
    /// The operation itself.
    pub run: for<'a> fn(&'a mut User, &'a Share) -> Work<'a>,
}

/// For operations that need nothing before.
pub fn nothing<'a>(_: &'a mut User, _: &'a Share) -> Work<'a> {
    Box::pin(std::future::ready(Ok(())))
}
