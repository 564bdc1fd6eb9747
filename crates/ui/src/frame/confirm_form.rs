//! The re-authentication form.

use super::form::{Field, Form};
use super::format::icon;
use super::page::Page;
use super::reader::KeptForm;

/// Returns the form that asks for the password before a sensitive action.
pub fn form<'a>(page: &'a Page, next: &str, kept: &KeptForm, fault: String) -> Form<'a> {
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
