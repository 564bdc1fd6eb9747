//! A new password by a link that an administrator made.

use askama::Template;
use axum::extract::{Path, Request, State};
use model::{Error, ErrorKind};
use repository::{MIN_PASSWORD_CHARS, PasswordLinkUser};

use crate::frame::fault::PageResult;
use crate::frame::fields;
use crate::frame::flash::{Flash, done};
use crate::frame::page::{Page, html};
use crate::frame::refuse;
use http_core::identity;
use http_core::server::state::AppState;
use http_core::server::{error, request_body};
use model::Code;

#[derive(Template)]
#[template(path = "new-password.html")]
struct NewPassword<'a> {
    page: &'a Page,
    user: &'a PasswordLinkUser,
    hint: String,
    fault: String,
}

fn draw(page: &Page, user: &PasswordLinkUser, fault: String) -> axum::response::Response {
    html(&NewPassword { page, user, hint: page.f1("account.password-hint", MIN_PASSWORD_CHARS), fault })
}

/// Shows the form.
pub async fn ask(State(state): State<AppState>, Path(secret): Path<String>, page: Page) -> PageResult {
    let user = state.repository().password_link(&secret).await?;
    Ok(draw(&page, &user, String::new()))
}

/// Sets the password. The secret of the address stands for the user, so the form needs no token.
pub async fn set(
    State(state): State<AppState>,
    Path(secret): Path<String>,
    page: Page,
    request: Request,
) -> PageResult {
    let user = state.repository().password_link(&secret).await?;
    let (parts, body) = request.into_parts();
    let client = identity::client(&parts);
    let fields = fields::read(body, request_body::MAX_ANONYMOUS_BODY).await?;
    let new = fields.text("new");
    let set = match new == fields.text("again") {
        true => state.repository().set_password_by_link(&secret, &new, &client).await,
        false => Err(Error::invalid("the two passwords are not the same").with_code(Code::PasswordsDiffer)),
    };
    match set {
        Ok(()) => Ok(done("/sign-in", &Flash::new("toast.password-set", user.login))),
        Err(error) if matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Exhausted) => {
            let mut response = draw(&page, &user, refuse::message_for(&page, &error));
            *response.status_mut() = error::status(&error);
            error::add_retry_after(&error, &mut response);
            Ok(response)
        }
        Err(error) => Err(error.into()),
    }
}
