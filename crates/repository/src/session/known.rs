//! Types that record the rights checked on an item: that it exists for the caller, that the caller may open it, or that
//! the caller has another right on it. Code that needs an item's content takes one of these types, so that no check can
//! be forgotten.

use std::ops::Deref;

use model::{Id, NodeKind, Result, Right, Rights};

use super::locate::Located;

/// An item that exists for the caller, who may know its name, kind and path. Its content requires the result of
/// [`Known::viewed`] or [`Known::to`].
#[derive(Clone)]
pub(crate) struct Known(Located);

/// An item on which the caller has a right.
#[derive(Clone)]
pub(crate) struct Permitted {
    located: Located,
    right: Right,
}

/// An item that the caller may open.
#[derive(Clone)]
pub(crate) struct Viewed(Permitted);

impl Known {
    /// Wraps an item that was found to exist for the caller.
    pub(super) fn of(located: Located) -> Self {
        Self(located)
    }

    /// Identifier.
    pub(crate) fn id(&self) -> Id {
        self.0.node().id
    }

    /// Its kind.
    pub(crate) fn kind(&self) -> NodeKind {
        self.0.node().kind
    }

    /// Returns the caller's rights on it.
    pub(crate) fn rights(&self) -> Rights {
        self.0.rights()
    }

    /// Requires a right on the item.
    ///
    /// # Errors
    /// Those of [`Located::require`].
    pub(crate) fn to(self, right: Right) -> Result<Permitted> {
        self.0.require(right)?;
        Ok(Permitted { located: self.0, right })
    }

    /// Requires that the caller may open the item.
    ///
    /// # Errors
    /// `NotFound`.
    pub(crate) fn viewed(self) -> Result<Viewed> {
        self.to(Right::View).map(Viewed)
    }

    /// Returns the item unchecked, for code that itself leaves out what the caller may not know, such as listings.
    /// ARCHITECTURE.md lists the methods that use it, each with its reason.
    pub(crate) fn unchecked(&self) -> &Located {
        &self.0
    }
}

impl Located {
    /// Requires a right on the item, for code that has it unchecked.
    ///
    /// # Errors
    /// Those of [`Located::require`].
    pub(crate) fn to(&self, right: Right) -> Result<Permitted> {
        Known(self.clone()).to(right)
    }
}

impl Permitted {
    /// Returns the right that was checked.
    pub(crate) fn right(&self) -> Right {
        self.right
    }
}

impl Deref for Permitted {
    type Target = Located;

    fn deref(&self) -> &Located {
        &self.located
    }
}

impl Deref for Viewed {
    type Target = Permitted;

    fn deref(&self) -> &Permitted {
        &self.0
    }
}
