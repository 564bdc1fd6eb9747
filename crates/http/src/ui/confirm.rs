//! Proving anew that it is really the one who signed in, in the place where that is asked for.

use axum::response::{IntoResponse, Redirect};
use model::{Error, ErrorKind};

use super::caller::Sent;
use super::fault::Shown;
use super::form::{Field, Form};
use super::format::icon;
use super::page::{Page, safe_next};
use super::{account, html, refuse, sign};

/// What a form brought that needs a fresh proof first: where it was sent, and its fields.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// The path that it was sent to; empty when a page was asked for.
    pub to: String,
    /// The fields, as a form sends them.
    pub fields: String,
}

/// The form that asks for the password before something sensitive.
pub fn form<'a>(page: &'a Page, next: &str, kept: &Kept, fault: String) -> Form<'a> {
    Form {
        page,
        title: page.s("confirm.title").into(),
        icon: icon("key"),
        action: "/account/confirm".into(),
        fields: vec![
            Field::paragraph(page.s("confirm.text")),
            Field::hidden("next", next),
            Field::hidden("resend", &*kept.fields),
            Field::hidden("resend_to", &*kept.to),
            Field::password("password", page.s("sign.password"), "current-password"),
        ],
        submit: page.s("confirm.do").into(),
        danger: false,
        back: "/".into(),
        fault,
    }
}

/// Checks the password, and goes on where it was asked for.
pub async fn confirm(sent: Sent) -> Shown {
    let Sent { mut visit, fields } = sent;
    let next = fields.next("/account");
    let kept = Kept { to: fields.text("resend_to"), fields: fields.text("resend") };
    match visit.session.prove(visit.session_id, &fields.text("password"), &visit.client).await {
        Ok(()) if kept.fields.is_empty() => Ok(Redirect::to(&next).into_response()),
        Ok(()) => {
            let action = safe_next(Some(&kept.to), "/");
            Ok(html(&sign::Resend::new(&visit.page, "confirm.done", action, &kept.fields)))
        }
        Err(error) if asks_again(&error) => {
            account::furnish(&mut visit.page);
            let form = form(&visit.page, &next, &kept, String::new());
            refuse::again(form, error)
        }
        Err(error) => Err(error.into()),
    }
}

fn asks_again(error: &Error) -> bool {
    error.code() == "wrong_password" || error.kind() == ErrorKind::Exhausted
}
