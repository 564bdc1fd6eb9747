//! Links by which anyone who has them can download a document or the documents of a folder, or send files to a folder.
//! Each site collection decides whether links are allowed. A link lives for a limited time and, if the sender wishes,
//! has a password and a limit on downloads. A link to a document gives its published version as long as the link's
//! creator may still open it. A link to a folder gives those that the creator may edit, and one that takes files takes
//! them as long as the creator may add them. Only a hash of its secret is stored.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::content::share_link::{self, ShareLinkRow};
use model::{Authentication, Code, Digest, Error, ErrorKind, Id, NodeKind, Result, Right, Timestamp};

use crate::content::link_use::ended;
use crate::session::guard::{Checked, Guard};
use crate::{Session, Target};

/// Longest life, in days, of a link created without fresh re-authentication. A link stays valid when its creator loses
/// other access.
pub const MAX_DAYS_WITHOUT_FRESH_SIGN_IN: u32 = 30;
/// Limit on the links of one item.
const MAX_LINKS: usize = 50;
/// Limit on the files that one link takes.
pub const MAX_SENT_FILES: u32 = 1_000;
/// Limit on the characters of the message to the recipients of a link.
pub const MAX_MESSAGE: usize = 1_000;
/// Limit on the life of a link, in days.
const MAX_DAYS: u32 = 3_650;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The rule of a site collection for links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRule {
    /// Longest life of a link, in days.
    pub most_days: u32,
}

/// A link to a document, folder or library.
#[derive(Clone, Debug)]
pub struct ShareLink {
    /// Identifier.
    pub id: Id,
    /// Time of creation.
    pub created_at: Timestamp,
    /// User who created it.
    pub created_by: Id,
    /// End of its life.
    pub expires_at: Timestamp,
    /// Set when a password is needed.
    pub has_password: bool,
    /// Limit on downloads, or on files that are sent; `None` for no limit.
    pub most_downloads: Option<u64>,
    /// Downloads so far, or files that were sent.
    pub downloads: u64,
    /// True if the link takes files, false if it gives them.
    pub takes_uploads: bool,
    /// Message of its creator to the recipients; may be empty.
    pub message: String,
}

impl ShareLink {
    /// Returns whether the link has expired or has no downloads left.
    pub fn has_ended(&self) -> bool {
        self.expires_at <= Timestamp::now() || self.most_downloads.is_some_and(|most| self.downloads >= most)
    }
}

impl From<ShareLinkRow> for ShareLink {
    fn from(row: ShareLinkRow) -> Self {
        let count = |n: i64| u64::try_from(n).unwrap_or(0);
        Self {
            id: row.id,
            created_at: row.created_at,
            created_by: row.created_by,
            expires_at: row.expires_at,
            has_password: !row.password.is_empty(),
            most_downloads: row.most_downloads.map(count),
            downloads: count(row.downloads),
            takes_uploads: row.takes_uploads,
            message: row.message,
        }
    }
}

/// A link to be created.
#[derive(Clone, Debug, Default)]
pub struct NewLink {
    /// Life in days.
    pub days: u32,
    /// The password that recipients need.
    pub password: Option<String>,
    /// Limit on downloads, or on files that are sent. A link that takes files has one, [`MAX_SENT_FILES`] at most.
    pub most_downloads: Option<u32>,
    /// True for a link that takes files into a folder or library; false for one that gives documents.
    pub takes_uploads: bool,
    /// Message to the recipients, at most [`MAX_MESSAGE`] characters; may be empty.
    pub message: String,
}

impl Session {
    /// Returns the rule for links of the site collection that holds an item; `None` when it allows no links.
    #[boxed]
    pub async fn link_rule(&self, target: &Target) -> Result<Option<LinkRule>> {
        let (_, days) = self.view(target, |reader, located| share_link::rule(reader, located.collection.id)).await?;
        Ok(days.and_then(|days| u32::try_from(days).ok()).map(|most_days| LinkRule { most_days }))
    }

    /// Sets the rule for links of a site collection. Without a rule none of its links works; a later rule makes them
    /// work again.
    #[boxed]
    pub async fn set_link_rule(&self, collection: Id, rule: Option<LinkRule>) -> Result<()> {
        if rule.is_some_and(|rule| !(1..=MAX_DAYS).contains(&rule.most_days)) {
            return Err(
                Error::invalid(format!("a link is valid for 1 to {MAX_DAYS} days")).with_code(Code::InvalidDays)
            );
        }
        let root = self.root(collection).await?.managed()?;
        let guard = self.guard([&*root])?;
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, _: &Checked| {
            root.set_link_rule(transaction, rule.map(|rule| i64::from(rule.most_days)))?;
            let said = rule.map_or("not allowed".to_owned(), |rule| model::counted(rule.most_days.into(), "day"));
            guard.record(transaction, collection, "site.links", said)
        };
        guard.write(write).await
    }

    /// Creates a link to a document, folder or library and returns it with its secret. The secret is not stored and
    /// cannot be shown again.
    ///
    /// # Errors
    /// `Forbidden` without the right to edit the item, and to add to it for a link that takes files; `Forbidden` with
    /// code `token_scope` for a link to a folder or library by a token, with code `links_not_allowed` where the site
    /// collection allows none, and with code `fresh_sign_in_needed` for a life of more than
    /// [`MAX_DAYS_WITHOUT_FRESH_SIGN_IN`] without fresh re-authentication; `Conflict` with code
    /// `wrong_kind` for another item, and with code `nothing_published`; `Invalid` with code `invalid_days` or
    /// `invalid_file_limit`.
    #[boxed]
    pub async fn share(&self, target: &Target, new: NewLink) -> Result<(ShareLink, String)> {
        let (located, days) = self
            .view_to(Right::Edit, target, |reader, located| share_link::rule(reader, located.collection.id))
            .await?;
        let node = located.node();
        let is_document = node.kind == NodeKind::Document;
        if !(is_document && !new.takes_uploads || matches!(node.kind, NodeKind::Folder | NodeKind::Library)) {
            let text = format!(
                "\"{}\": links lead to documents, folders and libraries, and only the last two take files",
                node.name
            );
            return Err(Error::conflict(text).with_code(Code::WrongKind));
        }
        // Such a link reaches further than the document of the moment, and would outlive the token and its limits.
        if !is_document && self.principal.proof == Authentication::Token {
            let text = "a token cannot make a link to a folder or library: sign in with the password";
            return Err(Error::forbidden(text).with_code(Code::TokenScope));
        }
        if new.takes_uploads && !located.rights().has(Right::Add) {
            return Err(Error::lacking(Right::Add, &node.name));
        }
        let message = message(&new.message)?;
        let most = days.ok_or_else(not_allowed)?;
        if new.days == 0 || i64::from(new.days) > most || new.most_downloads == Some(0) {
            return Err(Error::invalid(format!(
                "a link of this site is valid for 1 to {most} days and can be used at least once"
            ))
            .with_code(Code::InvalidDays));
        }
        if new.days > MAX_DAYS_WITHOUT_FRESH_SIGN_IN {
            self.require_fresh(&format!(
                "make a link that is valid for more than {MAX_DAYS_WITHOUT_FRESH_SIGN_IN} days"
            ))?;
        }
        if new.takes_uploads && new.most_downloads.is_none_or(|most| most > MAX_SENT_FILES) {
            return Err(Error::invalid(format!("a link that takes files has a limit of 1 to {MAX_SENT_FILES} files"))
                .with_code(Code::InvalidFileLimit));
        }
        if is_document && located.node().published_id.is_none() {
            return Err(Error::conflict(
                "a link opens the published version, but no version is published: publish the document first",
            )
            .with_code(Code::NothingPublished));
        }
        let password = match new.password.as_deref() {
            Some(password) => self.repository.link_password(password).await?,
            None => String::new(),
        };
        let (secret, digest) = self.repository.link_secret()?;
        let now = Timestamp::now();
        let row = ShareLinkRow {
            id: self.repository.next_id(),
            node_id: located.node().id,
            digest: Digest::new(digest),
            password,
            created_at: now,
            created_by: self.principal.id,
            expires_at: now.after(DAY * new.days),
            most_downloads: new.most_downloads.map(i64::from),
            downloads: 0,
            takes_uploads: new.takes_uploads,
            message,
        };
        let guard = self.guard([&located])?;
        let (stored, path) = (row.clone(), located.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, _: &Checked| {
            guard.lock_row(transaction, stored.node_id)?;
            let links = share_link::of_node(transaction, stored.node_id, MAX_LINKS)?;
            if links.len() >= MAX_LINKS {
                return Err(Error::exhausted(format!(
                    "a document or folder has at most {MAX_LINKS} links: remove one first"
                ))
                .with_code(Code::TooMany));
            }
            share_link::insert(transaction, &stored)?;
            guard.record(transaction, stored.node_id, "link.create", path.as_str())
        };
        guard.write(write).await?;
        Ok((row.into(), secret))
    }

    /// Returns the links of an item, newest first; needs the right to edit it.
    #[boxed]
    pub async fn links(&self, target: &Target) -> Result<Vec<ShareLink>> {
        let (_, rows) = self
            .view_to(Right::Edit, target, |reader, located| share_link::of_node(reader, located.node().id, MAX_LINKS))
            .await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// Revokes a link of an item. Its next use fails.
    #[boxed]
    pub async fn revoke_link(&self, target: &Target, id: Id) -> Result<()> {
        let (located, row) = self.view_to(Right::Edit, target, move |reader, _| share_link::find(reader, id)).await?;
        if row.is_none_or(|row| row.node_id != located.node().id) {
            return Err(Error::not_found("there is no such link"));
        }
        let guard = self.guard([&located])?;
        let (node, path) = (located.node().id, located.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, _: &Checked| {
            guard.lock_row(transaction, node)?;
            share_link::delete(transaction, id)?;
            guard.record(transaction, node, "link.revoke", path.as_str())
        };
        guard.write(write).await
    }
}

fn not_allowed() -> Error {
    Error::forbidden("this site does not allow links: a person who manages the site can allow them in its settings")
        .with_code(Code::LinksNotAllowed)
}

/// Reports a link as ended when the link's creator may no longer open the document.
pub(super) fn as_ended(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::Forbidden => ended(),
        _ => error,
    }
}

/// Returns a message as it is stored. Line ends stay, other control characters do not.
fn message(text: &str) -> Result<String> {
    let text: String = text.trim().chars().filter(|c| *c == '\n' || !c.is_control()).collect();
    if text.chars().count() > MAX_MESSAGE {
        return Err(Error::invalid(format!("a message has at most {MAX_MESSAGE} characters")).with_code(Code::TooLarge));
    }
    Ok(text)
}
