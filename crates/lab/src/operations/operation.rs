//! The structure of an operation. Independent of the individual operations.

use std::future::Future;
use std::pin::Pin;

use super::share::Share;
use super::user::User;
use crate::wire::{Fault, TargetKind};

/// Kinds of targets for operations that only Strongroom offers.
pub const STRONGROOM: &[TargetKind] = &[TargetKind::Strongroom];
/// Kinds of targets for operations that every target offers.
pub const EVERYWHERE: &[TargetKind] = &[TargetKind::Strongroom, TargetKind::Webdav];

/// The work of an operation.
pub type Work<'a> = Pin<Box<dyn Future<Output = Result<(), Fault>> + 'a>>;

/// An operation.
pub struct Operation {
    /// Name in plans.
    pub name: &'static str,
    /// Description for people.
    pub description: &'static str,
    /// Kinds of targets that offer the operation.
    pub offered_by: &'static [TargetKind],
    /// True if the operation changes anything on the target.
    pub changes: bool,
    /// True if the operation requires PROPFIND of a WebDAV server.
    pub needs_propfind: bool,
    /// True if the operation runs in a browser session.
    pub signs_in: bool,
    /// Establishes the preconditions, outside the measured time.
    pub prepare: for<'a> fn(&'a mut User, &'a Share) -> Work<'a>,
    /// The operation itself.
    pub run: for<'a> fn(&'a mut User, &'a Share) -> Work<'a>,
}

/// Preparation of operations without preconditions.
pub fn no_preparation<'a>(_: &'a mut User, _: &'a Share) -> Work<'a> {
    Box::pin(std::future::ready(Ok(())))
}
