//! Re-authentication with the password, on the page that requires it.

use axum::response::{IntoResponse, Redirect};
use model::{Code, Error, ErrorKind};

use crate::frame::confirm_form::form;
use crate::frame::fault::PageResult;
use crate::frame::page::{html, safe_next};
use crate::frame::reader::KeptForm;
use crate::frame::visit::SubmittedForm;
use crate::frame::{navigation, refuse};

use super::sign_in;

/// Checks the password and continues with the interrupted request.
pub async fn confirm(sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    let next = fields.next("/account");
    let kept = KeptForm { to: fields.text("resend_to"), fields: fields.text("resend") };
    match visit.session.prove(visit.session_id, &fields.text("password"), &visit.client).await {
        Ok(()) if kept.to.is_empty() => Ok(Redirect::to(&next).into_response()),
        Ok(()) => {
            let action = safe_next(Some(&kept.to), "/");
            Ok(html(&sign_in::Resend::new(&visit.page, "confirm.done", action, &kept.fields)))
        }
        Err(error) if asks_again(&error) => {
            navigation::furnish_account(&mut visit.page);
            let form = form(&visit.page, &next, &kept, String::new());
            refuse::show_form_again(form, error)
        }
        Err(error) => Err(error.into()),
    }
}

fn asks_again(error: &Error) -> bool {
    error.code() == Code::WrongPassword || error.kind() == ErrorKind::Exhausted
}
