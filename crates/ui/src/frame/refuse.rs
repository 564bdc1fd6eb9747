//! Refusals in the user's language: forms shown again with their input, and problem documents for programs.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use model::{Code, Error, ErrorKind};

use super::fault::PageResult;
use super::form::{Field, Form};
use super::page::{Page, html};
use super::texts::Language;
use http_core::server::error::{self, ReportedError};

/// Shows the form again when the user can correct the error or retry. All other errors lead to an error page.
pub fn show_form_again(mut form: Form<'_>, error: Error) -> PageResult {
    let mendable = matches!(
        error.kind(),
        ErrorKind::Conflict | ErrorKind::Invalid | ErrorKind::Locked | ErrorKind::Exhausted | ErrorKind::Unavailable
    );
    if !mendable && !matches!(error.code(), Code::WrongPassword | Code::SignInFailed) {
        return Err(error.into());
    }
    let status = error::status(&error);
    error::log(&error, status);
    form.fault = message_for(form.page, &error);
    let at_fault = fields_at_fault(error.code());
    let column = error.named().first().filter(|_| is_about_a_column(error.code()));
    let is_at_fault = |field: &&mut Field| at_fault.contains(&&*field.name) || Some(&field.label) == column;
    if let Some(field) = form.fields.iter_mut().find(is_at_fault) {
        field.is_at_fault = true;
    }
    let mut response: Response = html(&form);
    *response.status_mut() = status;
    Ok(response)
}

/// Returns the names of fields that a refusal with this code is about. A form has at most one of them.
const fn fields_at_fault(code: Code) -> &'static [&'static str] {
    match code {
        Code::WrongPassword => &["old", "password"],
        Code::SamePassword
        | Code::InvalidPassword
        | Code::EasyPassword
        | Code::ListedPassword
        | Code::PasswordsDiffer => &["new", "password"],
        Code::NameTaken | Code::InvalidName => &["name"],
        Code::InvalidLogin | Code::LoginTaken => &["login"],
        Code::InvalidEmail => &["email"],
        Code::UnknownPerson | Code::AmbiguousPerson => &["who"],
        _ => &[],
    }
}

/// Returns whether a refusal with this code first names the column that it is about. Its field has this label.
const fn is_about_a_column(code: Code) -> bool {
    matches!(code, Code::CheckFailed | Code::ColumnRequired | Code::InvalidValue | Code::ValueTaken)
}

/// Returns the page in whose language the client reads problems, unless that is English.
pub fn reader(headers: &HeaderMap) -> Option<Page> {
    let may_choose = [header::ACCEPT_LANGUAGE, header::COOKIE].iter().any(|field| headers.contains_key(field));
    may_choose.then(|| Page::of(headers, String::new())).filter(|page| page.language != Language::ENGLISH)
}

/// Translates a problem document into the language that the program or script requests.
pub fn in_language(reader: Option<Page>, response: &mut Response) {
    if let Some(page) = reader
        && let Some(ReportedError(error)) = response.extensions_mut().remove::<ReportedError>()
    {
        // The new body has another length and is not compressed.
        for field in [header::CONTENT_LENGTH, header::CONTENT_ENCODING] {
            response.headers_mut().remove(field);
        }
        response.headers_mut().append(header::VARY, HeaderValue::from_static("accept-language"));
        response.headers_mut().insert(header::CONTENT_LANGUAGE, HeaderValue::from_static(page.language.tag()));
        *response.body_mut() = Body::from(error::problem(&error, &message_for(&page, &error)));
    }
}

/// Explains an error to the user: the error's own English message, or the translation for its code. Rights have the
/// same names as on the permission pages.
pub fn message_for(page: &Page, error: &Error) -> String {
    if let Some(lack) = error.lack() {
        let right = page.language.text(&format!("right.{}", lack.right.as_str()));
        return if lack.inside {
            page.f2("fault.lacking-inside", right, &lack.name)
        } else {
            page.f2("fault.lacking", right, &lack.name)
        };
    }
    let own = || sentence(error::public_message(error));
    if page.language == Language::ENGLISH {
        return typographic(&own());
    }
    let key = format!("fault.{}", error.code());
    let names: Vec<&str> = error.named().iter().map(String::as_str).collect();
    let naming = format!("{key}-of");
    if !names.is_empty() && page.language.find(&naming).is_some() {
        return page.language.fill(&naming, &names);
    }
    page.language.find(&key).map_or_else(own, ToOwned::to_owned)
}

/// Replaces straight double quotes by the typographic ones of the pages, except within backticks.
pub fn typographic(message: &str) -> String {
    let (mut is_code, mut before) = (false, ' ');
    let put = |c: char| {
        is_code ^= c == '`';
        let opens = before.is_whitespace() || before == '(';
        before = c;
        match c {
            '"' if is_code => c,
            '"' if opens => '“',
            '"' => '”',
            _ => c,
        }
    };
    message.chars().map(put).collect()
}

/// Capitalises a message and adds a full stop.
fn sentence(message: &str) -> String {
    let mut chars = message.chars();
    let mut text: String = chars.next().into_iter().flat_map(char::to_uppercase).chain(chars).collect();
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::typographic;

    #[test]
    fn quotes_are_those_of_the_pages() {
        assert_eq!(typographic("\"a b\" is in (\"c\"), not \"d\""), "“a b” is in (“c”), not “d”");
        assert_eq!(typographic("set `converter = \"none\"`, or \"x\""), "set `converter = \"none\"`, or “x”");
    }
}
