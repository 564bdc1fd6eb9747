//! A single right, and its public word. This module does not know errors, because errors name rights.

/// A single right of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Right {
    /// See an item and its columns, and open its content.
    View = 1 << 0,
    /// See and open earlier versions.
    ViewVersions = 1 << 1,
    /// Create folders and documents.
    Add = 1 << 2,
    /// Replace content, rename, move within, edit columns, check out.
    Edit = 1 << 3,
    /// Send to the recycle bin.
    Delete = 1 << 4,
    /// See drafts and publish them.
    Publish = 1 << 5,
    /// Delete versions and discard another user's check-out.
    Override = 1 << 6,
    /// Create libraries, change their settings and columns.
    ManageLibraries = 1 << 7,
    /// Create subsites, change the site, see its recycle bin and audit log.
    ManageSite = 1 << 8,
    /// Change permissions.
    ManagePermissions = 1 << 9,
}

impl Right {
    /// All rights.
    pub const ALL: [Right; 10] = [
        Right::View,
        Right::ViewVersions,
        Right::Add,
        Right::Edit,
        Right::Delete,
        Right::Publish,
        Right::Override,
        Right::ManageLibraries,
        Right::ManageSite,
        Right::ManagePermissions,
    ];

    /// Public name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Right::View => "view",
            Right::ViewVersions => "view-versions",
            Right::Add => "add",
            Right::Edit => "edit",
            Right::Delete => "delete",
            Right::Publish => "publish",
            Right::Override => "override",
            Right::ManageLibraries => "manage-libraries",
            Right::ManageSite => "manage-site",
            Right::ManagePermissions => "manage-permissions",
        }
    }
}
