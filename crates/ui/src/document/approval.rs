//! Approval of a draft: what its page says of it, and the forms to submit, approve and reject it.

use axum::extract::{Path, RawQuery};
use model::{Id, Result, Right, Timestamp};
use repository::{Item, Submission, Target, etag, version_of_etag};

use crate::frame::fault::PageResult;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Field, Form, Input};
use crate::frame::format::icon;
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{address, item, refuse};
use crate::wording::names;

/// Approval of the latest draft, as the page of its document shows it.
pub struct Approval {
    /// The submission, if there is one for the latest draft.
    pub submitted: Option<Submitted>,
    /// True if the latest draft can be submitted.
    pub may_submit: bool,
    /// True if the caller may approve or reject what was submitted.
    pub may_decide: bool,
    /// True if the caller may take the submission back.
    pub may_withdraw: bool,
    /// True if the caller may publish the latest draft, and nobody has submitted it.
    pub may_publish: bool,
}

/// The submission of the latest draft.
pub struct Submitted {
    /// Entity tag of the version.
    pub etag: String,
    /// Name of who submitted it.
    pub by: String,
    /// Time of the submission.
    pub at: Timestamp,
    /// Comment of the submitter.
    pub comment: String,
    /// Name of who rejected it, the time and the reason.
    pub rejection: Option<(String, Timestamp, String)>,
}

/// Returns the approval of the latest draft of a document, as the caller sees it.
pub async fn of(visit: &Visit, item: &Item) -> Result<Approval> {
    let session = &visit.session;
    let is_draft = !item.version.is_major() && !item.working && item.check_out.is_none();
    let target = Target::Id(item.id);
    let (found, may_publish) = match item.version.is_major() {
        true => (None, false),
        false => (session.submission(&target).await?, session.may_publish(&target).await?),
    };
    // What the page shows may have been overtaken since it was read.
    let found = found.filter(|found| item.version_id == Some(found.version_id));
    let mut people: Vec<Id> = found.iter().map(|found| found.by).collect();
    people.extend(found.iter().filter_map(|found| Some(found.rejection.as_ref()?.by)));
    let names = session.principal_names(&people).await?;
    let waits = found.as_ref().is_some_and(|found| found.rejection.is_none());
    let is_own = found.as_ref().is_some_and(|found| found.by == session.principal().id);
    let submitted = found.map(|Submission { version_id, by, at, comment, rejection, .. }| Submitted {
        etag: etag(version_id),
        by: names::name_of(&names, by),
        at,
        comment,
        rejection: rejection.map(|rejection| (names::name_of(&names, rejection.by), rejection.at, rejection.reason)),
    });
    let edits = item.rights.has(Right::Edit);
    Ok(Approval {
        submitted,
        may_submit: is_draft && edits && !may_publish && !waits,
        may_decide: is_draft && waits && may_publish,
        may_publish: is_draft && may_publish && !waits,
        may_withdraw: waits && edits && item.check_out.is_none() && (is_own || item.rights.has(Right::Override)),
    })
}

fn submit_form<'a>(page: &'a Page, item: &Item, seen: &str, comment: &str) -> Form<'a> {
    let mut field = Field::of("comment", page.s("column.comment"), Input::Lines).hint(page.s("approval.submit-hint"));
    comment.clone_into(&mut field.value);
    Form {
        page,
        title: page.f1("approval.submit-title", &item.name),
        icon: icon("check"),
        action: format!("/items/{}/submit", item.id),
        fields: vec![field, Field::hidden("seen", seen)],
        submit: page.s("approval.submit").into(),
        danger: false,
        back: address::browse(&item.path),
        fault: String::new(),
    }
}

fn reject_form<'a>(page: &'a Page, item: &Item, seen: &str, reason: &str) -> Form<'a> {
    let mut field = Field::of("reason", page.s("approval.reason"), Input::Lines).hint(page.s("approval.reject-hint"));
    reason.clone_into(&mut field.value);
    Form {
        page,
        title: page.f1("approval.reject-title", &item.name),
        icon: icon("x"),
        action: format!("/items/{}/reject", item.id),
        fields: vec![field.required(), Field::hidden("seen", seen)],
        submit: page.s("approval.reject").into(),
        danger: false,
        back: address::browse(&item.path),
        fault: String::new(),
    }
}

/// Shows the form for submitting a draft.
pub async fn ask_submit(visit: Visit, Path(id): Path<String>) -> PageResult {
    let item = item::find_for(&visit, &id, Right::Edit).await?;
    Ok(html(&submit_form(&visit.page, &item, &item.etag(), "")))
}

/// Submits the latest draft.
pub async fn submit(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let item = item::find(&visit, &id).await?;
    let (seen, comment) = (fields.text("seen"), fields.trimmed("comment"));
    match visit.session.submit(&Target::Id(item.id), Some(version_of_etag(&seen)?), &comment).await {
        Ok(number) => Ok(done(&address::browse(&item.path), &Flash::new("toast.submitted", number.to_string()))),
        Err(error) => refuse::show_form_again(submit_form(&visit.page, &item, &seen, &comment), error),
    }
}

/// Takes a submission back.
pub async fn withdraw(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let item = item::find(&sent.visit, &id).await?;
    sent.visit.session.withdraw(&Target::Id(item.id)).await?;
    Ok(done(&address::browse(&item.path), &Flash::new("toast.withdrawn", item.name)))
}

/// Publishes the draft that was submitted, with a comment if there is one.
pub async fn approve(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let item = item::find(&sent.visit, &id).await?;
    let (seen, comment) = (version_of_etag(&sent.fields.text("seen"))?, sent.fields.trimmed("comment"));
    let number = sent.visit.session.approve(&Target::Id(item.id), seen, &comment).await?;
    Ok(done(&address::browse(&item.path), &Flash::new("toast.published", number.to_string())))
}

/// Shows the form for rejecting a draft.
pub async fn ask_reject(visit: Visit, Path(id): Path<String>, RawQuery(query): RawQuery) -> PageResult {
    let item = item::find_for(&visit, &id, Right::Publish).await?;
    // The link says which version its page showed.
    let seen =
        query.as_deref().and_then(|query| query.strip_prefix("seen=")).map_or_else(|| item.etag(), str::to_owned);
    Ok(html(&reject_form(&visit.page, &item, &seen, "")))
}

/// Rejects the draft that was submitted, with a reason.
pub async fn reject(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let item = item::find(&visit, &id).await?;
    let (reason, seen) = (fields.trimmed("reason"), fields.text("seen"));
    match visit.session.reject(&Target::Id(item.id), version_of_etag(&seen)?, &reason).await {
        Ok(()) => Ok(done(&address::browse(&item.path), &Flash::new("toast.rejected", item.version.to_string()))),
        Err(error) => refuse::show_form_again(reject_form(&visit.page, &item, &seen, &reason), error),
    }
}
