//! Contents of containers in figures: documents, rows, bytes of all versions, and the time of the last change, with
//! everything below them. The figures are those of the last measurement.
//!
//! Figures count what lies in scopes on which the caller has the right to manage the site, and nothing else. That right
//! includes knowing how much there is, drafts and other people's working copies included.

use std::collections::HashMap;

use async_recursion::async_recursion as boxed;
use database::content::measurement::{self, MeasuredRow};
use database::content::node::{self, NodeRow};
use database::{Reader, Transaction};
use model::{Code, Error, Id, MAX_PAGE, NodeKind, Result, Right, Timestamp};

use crate::session::access::Access;
use crate::session::caller::ReadDuration;
use crate::session::known::{Known, Permitted};
use crate::{Session, Target};

/// Figures of a container, with everything below it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Number of documents.
    pub documents: u64,
    /// Number of rows of lists.
    pub rows: u64,
    /// Bytes of all versions.
    pub bytes: u64,
    /// Time of the last change; `None` if there is nothing.
    pub changed_at: Option<Timestamp>,
}

impl Usage {
    fn add(&mut self, row: &MeasuredRow) {
        self.documents += row.documents.unsigned_abs();
        self.rows += row.rows.unsigned_abs();
        self.bytes += row.bytes.unsigned_abs();
        self.changed_at = self.changed_at.max(Some(row.changed_at).filter(|at| at.micros() != 0));
    }
}

/// Figures of some items.
#[derive(Clone, Debug, Default)]
pub struct UsageReport {
    /// Time of the measurement; `None` before the first one.
    pub measured_at: Option<Timestamp>,
    /// Set if a measurement is running or asked for.
    pub is_pending: bool,
    /// The figures by item. An item is missing if it was not measured yet, or if permissions of something in it changed
    /// since.
    pub items: HashMap<Id, Usage>,
}

impl Session {
    /// Returns how much a site, library, list or folder holds.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden` without the right to manage the site; `Conflict` for other kinds of item.
    #[boxed]
    pub async fn usage(&self, target: &Target) -> Result<UsageReport> {
        self.report_usage(target, |_, located| {
            require_container(located)?;
            Ok(vec![located.node().clone()])
        })
        .await
    }

    /// Returns how much some of the items directly in a container hold. Items that the caller may not manage are
    /// missing. Figures of documents are as of now.
    ///
    /// # Errors
    /// Those of [`Session::usage`]; `Invalid` for more than 1,000 items.
    #[boxed]
    pub async fn usage_below(&self, target: &Target, items: Vec<Id>) -> Result<UsageReport> {
        if items.len() > MAX_PAGE {
            return Err(
                Error::invalid(format!("at most {MAX_PAGE} items can be asked for at once")).with_code(Code::TooMany)
            );
        }
        self.report_usage(target, move |reader, located| {
            require_container(located)?;
            let mut rows = node::find_many(reader, &items)?;
            rows.retain(|row| row.parent_id == located.node().id && manages(&located.access, row.scope_id));
            Ok(rows)
        })
        .await
    }

    /// Asks for a new measurement of the site collection that contains a site, library, list or folder. A server of the
    /// farm begins it within seconds.
    ///
    /// # Errors
    /// Those of [`Session::usage`].
    #[boxed]
    pub async fn request_measurement(&self, target: &Target) -> Result<()> {
        let located = self.locate(target).await?.to(Right::ManageSite)?;
        require_container(&located)?;
        let collection = located.collection.id;
        let write = move |transaction: &mut Transaction<'_>| measurement::request(transaction, collection);
        located.content.database.write(write).await
    }

    async fn report_usage(
        &self,
        target: &Target,
        find: impl FnOnce(&mut Reader<'_>, &Permitted) -> Result<Vec<NodeRow>> + Send + 'static,
    ) -> Result<UsageReport> {
        let read = move |reader: &mut Reader<'_>, known: &Known| {
            let located = known.clone().to(Right::ManageSite)?;
            let rows = find(reader, &located)?;
            report(reader, &located, &rows)
        };
        Ok(self.inspect_known(ReadDuration::Long, target, read).await?.1)
    }
}

fn require_container(located: &Permitted) -> Result<()> {
    match located.node().kind.is_container() {
        true => Ok(()),
        false => {
            Err(Error::conflict("only sites, libraries, lists and folders are measured").with_code(Code::WrongKind))
        }
    }
}

fn manages(access: &Access, scope: Id) -> bool {
    access.rights(scope).has(Right::ManageSite)
}

/// Adds up the figures of these items under the scopes that the caller manages.
fn report(reader: &mut Reader<'_>, located: &Permitted, rows: &[NodeRow]) -> Result<UsageReport> {
    let (collection, access) = (located.collection.id, &located.access);
    let state = measurement::find(reader, collection)?;
    let mut report = UsageReport {
        measured_at: state.filter(|state| state.complete > 0).map(|state| state.measured_at),
        is_pending: state.is_some_and(|state| state.wanted > state.complete),
        items: HashMap::new(),
    };
    let of_kind = |kind: fn(NodeKind) -> bool| rows.iter().filter(|row| kind(row.kind)).map(|row| row.id).collect();
    let (containers, documents): (Vec<Id>, Vec<Id>) =
        (of_kind(NodeKind::is_container), of_kind(|kind| kind == NodeKind::Document));
    if let Some(state) = state.filter(|state| state.complete > 0 && !containers.is_empty()) {
        for row in measurement::of_items(reader, collection, state.complete, &containers)? {
            if manages(access, row.scope_id) {
                report.items.entry(row.node_id).or_default().add(&row);
            }
        }
        for (container, scope) in measurement::hidden(reader, collection, state.complete, &containers)? {
            if manages(access, scope) {
                report.items.remove(&container);
            }
        }
    }
    if !documents.is_empty() {
        let bytes: HashMap<Id, i64> = measurement::bytes(reader, &documents)?.into_iter().collect();
        for row in rows.iter().filter(|row| row.kind == NodeKind::Document) {
            let bytes = bytes.get(&row.id).copied().unwrap_or(0).unsigned_abs();
            let changed_at = Some(row.modified_at);
            report.items.insert(row.id, Usage { documents: 1, rows: 0, bytes, changed_at });
        }
    }
    Ok(report)
}
