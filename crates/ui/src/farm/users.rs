//! Administration of users.

use askama::Template;
use axum::extract::{Path, Query};
use model::{Error, Id, Timestamp};
use repository::{Account, AccountChange, NewAccount};
use serde::Deserialize;

use crate::frame::fault::PageResult;
use crate::frame::fields::Fields;
use crate::frame::flash::{Flash, done};
use crate::frame::form::{Field, Form, Input};
use crate::frame::format::icon;
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{navigation, refuse};

/// Users per page.
const PAGE: usize = 100;

/// Query parameters: the start of a page.
#[derive(Default, Deserialize)]
pub struct After {
    /// Last name of the previous page.
    #[serde(default)]
    pub after: String,
}

#[derive(Template)]
#[template(path = "users.html")]
struct UsersPage<'a> {
    page: &'a Page,
    users: Vec<Account>,
    next: Option<String>,
    me: Id,
}

/// Shows the list of users.
pub async fn list(mut visit: Visit, Query(from): Query<After>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, "/farm/users")?;
    let mut users = visit.session.accounts(&from.after, PAGE + 1).await?;
    let more = users.len() > PAGE;
    users.truncate(PAGE);
    let next = users.last().filter(|_| more).map(|last| http_core::protocol::segments::encode_query(&last.login));
    Ok(html(&UsersPage { page: &visit.page, users, next, me: visit.session.principal().id }))
}

/// Content of the form: the user's input, or the current values.
struct Typed {
    login: String,
    name: String,
    email: String,
    administrator: bool,
}

impl Typed {
    fn of(fields: &Fields) -> Self {
        Self {
            login: fields.trimmed("login"),
            name: fields.trimmed("name"),
            email: fields.trimmed("email"),
            administrator: fields.yes("administrator"),
        }
    }
}

fn user_form<'a>(page: &'a Page, user: Option<&Account>, typed: &Typed) -> Form<'a> {
    let mut fields = vec![
        Field::line("login", page.s("sign.login"), &typed.login).required().hint(page.s("users.login-hint")),
        Field::line("name", page.s("users.name"), &typed.name),
        Field::of("email", page.s("users.email"), Input::Line("email")),
    ];
    fields[2].value.clone_from(&typed.email);
    if user.is_none() {
        let hint = page.f1("users.password-hint", repository::MIN_PASSWORD_CHARS);
        let field = Field::password("password", page.s("sign.password"), "new-password").hint(hint);
        fields.push(Field { required: false, ..field });
    }
    fields.push(
        Field::of("administrator", page.s("users.administrator"), Input::Tick(typed.administrator))
            .hint(page.s("users.administrator-hint")),
    );
    Form {
        page,
        title: user.map_or_else(|| page.s("users.new").to_owned(), |user| page.f1("users.change", &user.login)),
        icon: icon("user"),
        action: user.map_or_else(|| "/farm/users/new".to_owned(), |user| format!("/farm/users/{}", user.id)),
        fields,
        submit: page.s("action.save").into(),
        danger: false,
        back: "/farm/users".into(),
        fault: String::new(),
    }
}

/// Shows the form for a new user.
pub async fn ask_new(mut visit: Visit) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, "/farm/users")?;
    let empty = Typed { login: String::new(), name: String::new(), email: String::new(), administrator: false };
    Ok(html(&user_form(&visit.page, None, &empty)))
}

/// Creates a user.
pub async fn make(sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    let typed = Typed::of(&fields);
    let has_password = !fields.text("password").is_empty();
    if !has_password {
        // Asked before the account is made: if the link were refused afterwards, the account would have no password.
        visit.session.require_fresh("make a link for a new password")?;
    }
    let new = NewAccount {
        login: typed.login.clone(),
        display_name: typed.name.clone(),
        email: typed.email.clone(),
        password: has_password.then(|| fields.text("password")),
        farm_administrator: typed.administrator,
    };
    match visit.session.create_account(new).await {
        // Without a password, the user sets one by a link.
        Ok(account) if !has_password => {
            let (id, name) = (account.id, account.display_name.clone());
            // The account is there, whatever becomes of its link.
            let shown = show_password_link(&mut visit, account).await;
            shown.or_else(|_| Ok(done(&format!("/farm/users/{id}"), &Flash::new("toast.no-password-link", name))))
        }
        Ok(account) => Ok(done("/farm/users", &Flash::new("toast.created", account.display_name))),
        Err(error) => {
            navigation::fill_farm_side_bar(&mut visit.page, "/farm/users")?;
            refuse::show_form_again(user_form(&visit.page, None, &typed), error)
        }
    }
}

/// Shows the form for changing a user.
pub async fn show(mut visit: Visit, Path(id): Path<String>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, "/farm/users")?;
    let user = visit.session.account(id.parse()?).await?;
    let typed = Typed {
        login: user.login.clone(),
        name: user.display_name.clone(),
        email: user.email.clone(),
        administrator: user.farm_administrator,
    };
    Ok(html(&user_form(&visit.page, Some(&user), &typed)))
}

/// Changes a user.
pub async fn change(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    let id: Id = id.parse()?;
    let typed = Typed::of(&fields);
    let change = AccountChange {
        login: Some(typed.login.clone()),
        display_name: Some(typed.name.clone()),
        email: Some(typed.email.clone()),
        farm_administrator: Some(typed.administrator),
        disabled: None,
    };
    match visit.session.update_account(id, change).await {
        Ok(account) => Ok(done("/farm/users", &Flash::new("toast.saved", account.display_name))),
        Err(error) => {
            let user = visit.session.account(id).await?;
            navigation::fill_farm_side_bar(&mut visit.page, "/farm/users")?;
            refuse::show_form_again(user_form(&visit.page, Some(&user), &typed), error)
        }
    }
}

fn password_form<'a>(page: &'a Page, user: &Account) -> Form<'a> {
    let hint = page.f1("account.password-hint", repository::MIN_PASSWORD_CHARS);
    Form {
        page,
        title: page.f1("users.password", &user.login),
        icon: icon("key"),
        action: format!("/farm/users/{}/password", user.id),
        fields: vec![
            Field::paragraph(page.s("users.password-text")),
            Field::password("password", page.s("account.new-password"), "new-password").hint(hint),
        ],
        submit: page.s("action.save").into(),
        danger: false,
        back: "/farm/users".into(),
        fault: String::new(),
    }
}

/// Shows the form for setting a user's password.
pub async fn ask_password(mut visit: Visit, Path(id): Path<String>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, "/farm/users")?;
    let user = visit.session.account(id.parse()?).await?;
    Ok(html(&password_form(&visit.page, &user)))
}

/// Sets a user's password.
pub async fn set_password(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, fields } = sent;
    let user = visit.session.account(id.parse()?).await?;
    match visit.session.set_password(user.id, &fields.text("password")).await {
        Ok(()) => Ok(done("/farm/users", &Flash::new("toast.saved", user.display_name))),
        Err(error) => {
            navigation::fill_farm_side_bar(&mut visit.page, "/farm/users")?;
            refuse::show_form_again(password_form(&visit.page, &user), error)
        }
    }
}

#[derive(Template)]
#[template(path = "password-link-made.html")]
struct PasswordLinkMade<'a> {
    page: &'a Page,
    name: String,
    address: String,
    ends: Timestamp,
}

/// Makes a link with which a user sets a new password, and shows its address, only once.
pub async fn make_password_link(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let SubmittedForm { mut visit, .. } = sent;
    let user = visit.session.account(id.parse()?).await?;
    show_password_link(&mut visit, user).await
}

async fn show_password_link(visit: &mut Visit, user: Account) -> PageResult {
    let made = visit.session.create_password_link(user.id).await?;
    navigation::fill_farm_side_bar(&mut visit.page, "/farm/users")?;
    let address = format!("{}/new-password/{}", visit.origin, made.secret);
    Ok(html(&PasswordLinkMade { page: &visit.page, name: user.display_name, address, ends: made.expires_at }))
}

/// Disables, enables or deletes a user, depending on the button.
pub async fn switch(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let id: Id = id.parse()?;
    let session = &sent.visit.session;
    let user = session.account(id).await?;
    let disabled = match sent.fields.text("do").as_str() {
        "disable" => Some(true),
        "enable" => Some(false),
        "delete" => None,
        _ => return Err(Error::invalid("a user can be disabled, enabled or deleted").into()),
    };
    let key = if disabled.is_none() {
        session.delete_account(id).await?;
        "toast.removed"
    } else {
        session.update_account(id, AccountChange { disabled, ..AccountChange::default() }).await?;
        "toast.saved"
    };
    Ok(done("/farm/users", &Flash::new(key, user.display_name)))
}
