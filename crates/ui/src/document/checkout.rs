//! Check-in of a document, and discarding of a check-out.

use axum::extract::Path;
use model::{Id, Result, Right};
use repository::{CheckIn, Item, Session, Target};

use crate::frame::fault::PageResult;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Field, Form, Input};
use crate::frame::format::icon;
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{address, item, refuse};

fn check_in_form<'a>(page: &'a Page, item: &Item, may_publish: bool, comment: &str) -> Form<'a> {
    let mut field = Field::of("comment", page.s("column.comment"), Input::Lines).hint(page.s("check-in.comment-hint"));
    comment.clone_into(&mut field.value);
    let mut fields = vec![field];
    if may_publish {
        fields.push(Field::of("publish", page.s("check-in.publish"), Input::Tick(true)));
    }
    fields.push(Field::of("keep", page.s("check-in.keep"), Input::Tick(false)));
    Form {
        page,
        title: page.f1("check-in.title", &item.name),
        icon: icon("check-in"),
        action: format!("/items/{}/check-in", item.id),
        fields,
        submit: page.s("action.check-in").into(),
        danger: false,
        back: address::browse(&item.path),
        fault: String::new(),
    }
}

/// Checks a document out if its library demands that before a change and nobody has. Returns whether it did.
pub async fn check_out_if_required(session: &Session, id: Id) -> Result<bool> {
    let target = Target::Id(id);
    if !session.library_settings(&target).await?.require_checkout || session.item(&target).await?.check_out.is_some() {
        return Ok(false);
    }
    session.check_out(&target).await?;
    Ok(true)
}

/// Shows the check-in form.
pub async fn check_in(visit: Visit, Path(id): Path<String>) -> PageResult {
    let item = item::find_for(&visit, &id, Right::Edit).await?;
    let may_publish = visit.session.may_publish(&Target::Id(item.id)).await?;
    Ok(html(&check_in_form(&visit.page, &item, may_publish, "")))
}

/// Checks a document in.
pub async fn do_check_in(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { visit, fields } = sent;
    let item = item::find(&visit, &id).await?;
    let comment = fields.trimmed("comment");
    let how = CheckIn { comment: comment.clone(), publish: fields.yes("publish"), keep: fields.yes("keep") };
    match visit.session.check_in(&Target::Id(item.id), how).await {
        Ok(number) => Ok(done(&address::browse(&item.path), &Flash::new("toast.checked-in", number.to_string()))),
        Err(error) => {
            let may_publish = visit.session.may_publish(&Target::Id(item.id)).await?;
            refuse::show_form_again(check_in_form(&visit.page, &item, may_publish, &comment), error)
        }
    }
}

/// Asks for confirmation before a check-out is discarded.
pub async fn discard(visit: Visit, Path(id): Path<String>) -> PageResult {
    let item = item::find(&visit, &id).await?;
    let me = visit.session.principal().id;
    let others = item.check_out.is_some_and(|held| held.by != me);
    item::require(&item, if others { Right::Override } else { Right::Edit })?;
    let page = &visit.page;
    Ok(html(&Form {
        page,
        title: page.f1("discard.title", &item.name),
        icon: icon("restore"),
        action: format!("/items/{}/discard", item.id),
        fields: vec![Field::paragraph(page.s("discard.text"))],
        submit: page.s("action.discard").into(),
        danger: true,
        back: address::browse(&item.path),
        fault: String::new(),
    }))
}

/// Discards a check-out.
pub async fn do_discard(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let item = item::find(&sent.visit, &id).await?;
    sent.visit.session.discard_check_out(&Target::Id(item.id)).await?;
    // A document that was never checked in disappears with its check-out.
    let left = sent.visit.session.item(&Target::Id(item.id)).await.is_ok();
    let next = if left { address::browse(&item.path) } else { item::parent_page(&item) };
    Ok(done(&next, &Flash::new("toast.discarded", item.name)))
}
