//! What was decided of an item before anything is told of it: that it exists for the caller, that they may open it, or that
//! they have another right on it. Whoever needs what an item holds takes one of these types, so that nobody forgets to ask.

use std::ops::Deref;

use model::{Id, NodeKind, Result, Right, Rights};

use super::locate::Located;

/// An item that exists for the caller: they may know its name, its kind and its path. What it holds and says is told by
/// what [`Known::viewed`] and [`Known::to`] give.
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
    /// An item of which it was found that it exists for the caller.
    pub(super) fn of(located: Located) -> Self {
        Self(located)
    }

    /// Its identifier.
    pub(crate) fn id(&self) -> Id {
        self.0.node().id
    }

    /// What it is.
    pub(crate) fn kind(&self) -> NodeKind {
        self.0.node().kind
    }

    /// The caller's rights on it.
    pub(crate) fn rights(&self) -> Rights {
        self.0.rights()
    }

    /// Asks for a right on the item.
    ///
    /// # Errors
    /// Those of [`Located::require`].
    pub(crate) fn to(self, right: Right) -> Result<Permitted> {
        self.0.require(right)?;
        Ok(Permitted { located: self.0, right })
    }

    /// Asks whether the caller may open the item.
    ///
    /// # Errors
    /// `NotFound`.
    pub(crate) fn viewed(self) -> Result<Viewed> {
        self.to(Right::View).map(Viewed)
    }

    /// The item for code that itself leaves out what the caller may not know, such as listings. ARCHITECTURE.md names the
    /// methods that use it, each with its reason.
    pub(crate) fn unasked(&self) -> &Located {
        &self.0
    }
}

impl Located {
    /// Asks for a right on the item, for code that has it unasked.
    ///
    /// # Errors
    /// Those of [`Located::require`].
    pub(crate) fn to(&self, right: Right) -> Result<Permitted> {
        Known(self.clone()).to(right)
    }
}

impl Permitted {
    /// The right that was asked for.
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
