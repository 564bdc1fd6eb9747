//! Links by which anyone who has them can download a document. Each site collection decides whether links are allowed.
//! A link lives for a limited time and, if the sender wishes, has a password and a limit on downloads. It gives the
//! published version, as long as the link's creator may still open it. Only a hash of its secret is stored.

use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use database::Transaction;
use database::content::share_link::{self, ShareLinkRow};
use database::content::{node, version};
use model::{Code, Digest, Error, ErrorKind, Id, NodeKind, Result, Right, Timestamp, VersionNumber};

use crate::content::event_detail::Detail;
use crate::documents::{Content, VersionChoice};
use crate::farm::registry::ContentDatabase;
use crate::people::{Client, link_hash};
use crate::session::guard::{Checked, Guard};
use crate::session::known::Known;
use crate::storage::redaction::without_store_details;
use crate::{Repository, Session, Target};

/// Longest life, in days, of a link created without fresh re-authentication. A link stays valid when its creator loses
/// other access.
pub const MAX_DAYS_WITHOUT_FRESH_SIGN_IN: u32 = 30;
/// Limit on the links of one document.
const MAX_LINKS: usize = 50;
/// Limit on the life of a link, in days.
const MAX_DAYS: u32 = 3_650;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The rule of a site collection for links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRule {
    /// Longest life of a link, in days.
    pub most_days: u32,
}

/// A link to a document.
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
    /// Limit on downloads; `None` for no limit.
    pub most_downloads: Option<u64>,
    /// Downloads so far.
    pub downloads: u64,
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
        }
    }
}

/// A link to be created.
#[derive(Clone, Debug)]
pub struct NewLink {
    /// Life in days.
    pub days: u32,
    /// The password needed for a download.
    pub password: Option<String>,
    /// Limit on downloads.
    pub most_downloads: Option<u32>,
}

/// The document that a link gives access to.
#[derive(Clone, Debug)]
pub struct OpenedLink {
    /// The document's name.
    pub name: String,
    /// Size of its published version in bytes.
    pub size: u64,
    /// Media type.
    pub media_type: String,
    /// Set when a password is needed.
    pub has_password: bool,
    /// End of the link's life.
    pub expires_at: Timestamp,
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

    /// Creates a link to a document and returns it with its secret. The secret is not stored and cannot be shown again.
    ///
    /// # Errors
    /// `Forbidden` with code `links_not_allowed` where the site collection allows none, and with code
    /// `fresh_sign_in_needed` for a life of more than [`MAX_DAYS_WITHOUT_FRESH_SIGN_IN`] without fresh
    /// re-authentication; `Conflict` when nothing is published.
    #[boxed]
    pub async fn share(&self, target: &Target, new: NewLink) -> Result<(ShareLink, String)> {
        let (located, days) = self
            .view_to(Right::Edit, target, |reader, located| share_link::rule(reader, located.collection.id))
            .await?;
        located.require_kind(NodeKind::Document)?;
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
        if located.node().published_id.is_none() {
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
        };
        let guard = self.guard([&located])?;
        let (stored, path) = (row.clone(), located.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, _: &Checked| {
            guard.lock_row(transaction, stored.node_id)?;
            let links = share_link::of_node(transaction, stored.node_id, MAX_LINKS)?;
            if links.len() >= MAX_LINKS {
                return Err(Error::exhausted(format!("a document has at most {MAX_LINKS} links: remove one first"))
                    .with_code(Code::TooMany));
            }
            share_link::insert(transaction, &stored)?;
            guard.record(transaction, stored.node_id, "link.create", path.as_str())
        };
        guard.write(write).await?;
        Ok((row.into(), secret))
    }

    /// Returns the links of a document, newest first; needs the right to edit it.
    #[boxed]
    pub async fn links(&self, target: &Target) -> Result<Vec<ShareLink>> {
        let (_, rows) = self
            .view_to(Right::Edit, target, |reader, located| share_link::of_node(reader, located.node().id, MAX_LINKS))
            .await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// Revokes a link of a document. Its next use fails.
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

/// A valid link, with a session of the link's creator.
struct ValidLink {
    row: ShareLinkRow,
    creator: Session,
    content: Arc<ContentDatabase>,
    number: VersionNumber,
}

impl Repository {
    /// Returns the document of a link to anyone who has the link.
    ///
    /// # Errors
    /// `NotFound` with code `link_ended`, for whatever reason the link is invalid.
    #[boxed]
    pub async fn open_link(&self, id: Id, secret: &str) -> Result<OpenedLink> {
        let live = self.live(id, secret).await?;
        let target = Target::Id(live.row.node_id);
        let item = live.creator.item(&target).await.map_err(as_ended)?;
        let (node, number) = (live.row.node_id, live.number);
        let found = live.content.database.read(move |reader| version::find_number(reader, node, number)).await?;
        let found = found.ok_or_else(ended)?;
        Ok(OpenedLink {
            name: item.name,
            size: model::unsigned(found.size),
            media_type: found.media_type,
            has_password: !live.row.password.is_empty(),
            expires_at: live.row.expires_at,
        })
    }

    /// Opens the document of a link and counts the download.
    ///
    /// # Errors
    /// `NotFound` with code `link_ended`; `Forbidden` with code `wrong_link_password`; `Exhausted` with code
    /// `too_many_attempts`; those of [`Session::open`]; `Corrupt` when the content is on record as missing or damaged.
    /// A failed download is not counted.
    #[boxed]
    pub async fn download_link(&self, id: Id, secret: &str, password: &str, client: &Client) -> Result<Content> {
        let live = self.live(id, secret).await?;
        let stored = &live.row.password;
        if !stored.is_empty() && !self.try_link_password(id, stored, password, client).await? {
            return Err(Error::forbidden("this is not the password of the link").with_code(Code::WrongLinkPassword));
        }
        let target = Target::Id(live.row.node_id);
        let opened = live.creator.open(&target, VersionChoice::Number(live.number)).await;
        let mut opened = opened.map_err(|error| without_store_details(as_ended(error), false))?;
        opened.hide_store_locations();
        // Checked before the download is counted, because content on record as faulty cannot be delivered.
        opened.refuse_known_fault().await.map_err(|error| without_store_details(as_ended(error), false))?;
        let located = live.creator.locate(&target).await.and_then(Known::viewed).map_err(as_ended)?;
        let guard = live.creator.guard([&*located]).map_err(as_ended)?;
        let (node, detail) = (live.row.node_id, Detail::from(located.path()).address(client.address.to_canonical()));
        let write = move |transaction: &mut Transaction<'_>| {
            if !share_link::count_use(transaction, id, Timestamp::now())? {
                return Err(ended());
            }
            guard.record_by(transaction, Id::NONE, node, "link.use", detail.clone())
        };
        live.content.database.write_vital(write).await?;
        Ok(opened)
    }

    async fn live(&self, id: Id, secret: &str) -> Result<ValidLink> {
        let digest = link_hash(secret).ok_or_else(ended)?;
        let registry = self.registry_at(0).await?;
        for content in &registry.databases {
            let found = content.database.read(move |reader| {
                let Some(row) = share_link::find(reader, id)? else { return Ok(None) };
                let Some(node) = node::find(reader, row.node_id)? else { return Ok(None) };
                let allowed = share_link::rule(reader, node.collection_id)?.is_some();
                let published = node.published_id.filter(|_| allowed);
                let number = match published {
                    Some(published) => version::find(reader, published)?.map(|version| version.number),
                    None => None,
                };
                Ok(number.map(|number| (row, number)))
            });
            let Some((row, number)) = found.await? else { continue };
            // Both are hashes of 256 random bits, so the duration of the comparison reveals nothing about the secret.
            let same = row.digest.as_bytes() == &digest;
            let spent = row.most_downloads.is_some_and(|most| row.downloads >= most);
            if !same || spent || row.expires_at <= Timestamp::now() {
                return Err(ended());
            }
            let maker = self.as_caller(self.principal(row.created_by).await.map_err(as_ended)?);
            return Ok(ValidLink { row, creator: maker, content: content.clone(), number });
        }
        if !registry.absent.is_empty() {
            let text = "the document of this link may be in a part of the site that is not available at the moment: \
                try again later";
            return Err(Error::unavailable(text).with_code(Code::DatabaseAway));
        }
        Err(ended())
    }
}

fn ended() -> Error {
    Error::not_found("this link has ended or was revoked: ask the sender for another one").with_code(Code::LinkEnded)
}

fn not_allowed() -> Error {
    Error::forbidden("this site does not allow links: a person who manages the site can allow them in its settings")
        .with_code(Code::LinksNotAllowed)
}

/// Reports a link as ended when the link's creator may no longer open the document.
fn as_ended(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound | ErrorKind::Forbidden => ended(),
        _ => error,
    }
}
