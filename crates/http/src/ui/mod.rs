//! The pages: what people see in a browser. Server-rendered; every basic function works without JavaScript.
//!
//! Owns templates, texts, assets and the cookies of pages. Knows no SQL and decides no permission.

mod account;
mod address;
mod agent;
mod assets;
mod audit;
mod away;
mod bin;
mod browse;
mod caller;
mod cells;
mod change;
mod checkout;
mod compare;
mod confirm;
mod csv;
mod details;
mod dialog;
mod document;
mod download;
mod farm;
mod farm_audit;
mod fault;
mod figures;
mod flash;
mod form;
mod format;
mod frame;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod groups;
mod home;
mod kit;
mod library;
mod links;
mod listing;
mod page;
mod people;
mod permissions;
mod place;
mod preview;
mod refuse;
mod roles;
mod search;
mod several;
mod sign;
mod site;
mod storage;
mod taken;
mod texts;
mod upload;
mod users;
mod values;
mod versions;
mod view;
mod views;
mod visible;
mod written;

pub use refuse::{in_language, reader};

use askama::Template;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use model::Error;
// Templates ask for rights by this name.
use model::Right;
use tower_http::compression::CompressionLayer;

use crate::server::edge;
use crate::server::error::Problem;
use crate::server::state::AppState;

/// Routes of the pages and their assets.
pub fn routes() -> Router<AppState> {
    Router::new()
        .merge(entrance())
        .merge(items())
        .merge(administration())
        .layer(axum::middleware::from_fn(fault::show))
        .layer(axum::middleware::from_fn(dialog::answer))
        .layer(CompressionLayer::new())
        // Not compressed: bytes that people stored, which the reader may resume at any place.
        .merge(content())
}

fn entrance() -> Router<AppState> {
    Router::new()
        .route("/", get(home::show))
        .route("/sites", get(home::sites))
        .route("/browse", get(browse::browse))
        .route("/browse/", get(browse::browse))
        .route("/browse/{*path}", get(browse::browse))
        .route("/search", get(search::show))
        .route("/sign-in", get(sign::form).post(sign::sign_in))
        .route("/sign-out", post(sign::sign_out))
        .route("/account", get(account::show))
        .route("/account/password", get(account::password).post(account::do_password))
        .route("/account/confirm", post(confirm::confirm))
        .route("/account/preferences", post(account::preferences))
        .route("/account/tokens", get(account::token).post(account::do_token))
        .route("/account/tokens/{token}/revoke", post(account::revoke_token))
        .route("/account/sessions/end", post(account::end_all_sessions))
        .route("/account/sessions/{session}/end", post(account::end_session))
        .route("/s/{link}/{secret}", get(links::open))
        .route("/ui-kit", get(kit::kit))
        .route("/ui-kit/form", get(kit::form))
        .route("/assets/{hash}/{*name}", get(assets::serve))
        // Browsers ask for it beside documents that they show in place, which name no icon.
        .route("/favicon.ico", get(assets::favicon))
}

fn items() -> Router<AppState> {
    Router::new()
        .route("/items/{id}", get(details::show))
        .route("/items/{id}/pages", get(preview::pages::show))
        .route("/items/{id}/open", get(browse::by_id))
        .route("/items/{id}/rename", get(change::rename).post(change::do_rename))
        .route("/items/{id}/delete", get(change::delete).post(change::do_delete))
        .route("/items/{id}/new-folder", get(change::new_folder).post(change::do_new_folder))
        .route("/items/{id}/new-library", get(change::new_library).post(change::do_new_library))
        .route("/items/{id}/new-site", get(change::new_site).post(change::do_new_site))
        .route("/items/{id}/check-out", post(document::check_out))
        .route("/items/{id}/unlock", post(document::unlock))
        .route("/items/{id}/check-in", get(checkout::check_in).post(checkout::do_check_in))
        .route("/items/{id}/discard", get(checkout::discard).post(checkout::do_discard))
        .route("/items/{id}/publish", post(document::publish))
        .route("/items/{id}/versions", get(versions::show))
        .route("/items/{id}/versions/{version}/restore", post(document::restore_version))
        .route("/items/{id}/versions/{version}/delete", post(document::delete_version))
        .route("/items/{id}/values", get(values::show).post(values::save))
        .route("/items/{id}/values/{column}", get(values::show_one).post(values::save_one))
        .route("/items/{id}/settings", get(library::show).post(library::save))
        .route("/items/{id}/columns/{column}", get(library::column).post(library::save_column))
        .route("/items/{id}/columns/{column}/delete", post(library::delete_column))
        .route("/items/{id}/view", get(views::ask).post(views::apply))
        .route("/items/{id}/views", get(views::ask_save).post(views::save))
        .route("/items/{id}/views/{view}/delete", post(views::delete))
        .route("/items/{id}/compare", get(compare::show))
        .route("/items/{id}/follow", post(links::follow))
        .route("/items/{id}/links", get(links::ask).post(links::make))
        .route("/items/{id}/links/{link}/revoke", post(links::revoke))
        .route("/items/{id}/site-settings", get(site::show).post(site::save))
        .route("/items/{id}/link-rule", get(links::ask_rule).post(links::set_rule))
        .route("/items/{id}/taken", get(taken::show))
        .route("/items/{id}/types", post(library::make_type))
        .route("/items/{id}/types/{type}/delete", post(library::delete_type))
        .route("/items/{id}/permissions", get(permissions::show))
        .route("/items/{id}/permissions/grant", get(permissions::ask_grant).post(permissions::grant))
        .route("/items/{id}/permissions/revoke", post(permissions::revoke))
        .route("/items/{id}/permissions/own", post(permissions::stop_inheriting))
        .route("/items/{id}/permissions/inherit", post(permissions::inherit))
        .route("/selection/move", post(place::selected_move))
        .route("/selection/copy", post(place::selected_copy))
        .route("/selection/check-out", post(place::selected_check_out))
        .route("/selection/delete", post(place::selected_delete))
        .route("/selection/values", post(several::selected))
        .route("/values", get(several::ask).post(several::save))
        .route("/place", get(place::choose).post(place::carry_out))
        .route("/undo-delete", post(change::undo_delete))
        .route("/audit/{collection}", get(audit::show))
        .route("/audit/{collection}/export", get(audit::export))
        .route("/audit/{collection}/reads", post(audit::set_reads))
        .route("/bin/{collection}", get(bin::show))
        .route("/bin/{collection}/restore", post(bin::restore))
        .route("/bin/{collection}/purge", post(bin::purge))
        .route("/bin/{collection}/empty", post(bin::empty))
}

fn administration() -> Router<AppState> {
    Router::new()
        .route("/farm", get(farm::show))
        .route("/farm/audit", get(farm_audit::show))
        .route("/farm/audit/export", get(farm_audit::export))
        .route("/farm/figures", get(figures::show))
        .route("/farm/sites/new", get(farm::ask_site).post(farm::make_site))
        .route("/farm/sites/{site}/quota", get(farm::ask_quota).post(farm::set_quota))
        .route("/farm/users", get(users::list))
        .route("/farm/users/new", get(users::ask_new).post(users::make))
        .route("/farm/users/{user}", get(users::show).post(users::change))
        .route("/farm/users/{user}/password", get(users::ask_password).post(users::set_password))
        .route("/farm/users/{user}/switch", post(users::switch))
        .route("/farm/roles", get(roles::list))
        .route("/farm/roles/new", get(roles::ask_new).post(roles::make))
        .route("/farm/roles/{role}", get(roles::ask_change).post(roles::change))
        .route("/farm/roles/{role}/delete", get(roles::ask_delete).post(roles::delete))
        .route("/farm/groups", get(groups::list))
        .route("/farm/groups/new", get(groups::ask_new).post(groups::make))
        .route("/farm/groups/{group}", get(groups::show))
        .route("/farm/groups/{group}/change", get(groups::ask_change).post(groups::change))
        .route("/farm/groups/{group}/delete", post(groups::delete))
        .route("/farm/groups/{group}/add", post(groups::add))
        .route("/farm/groups/{group}/remove", post(groups::remove))
        .merge(storage::routes())
}

fn content() -> Router<AppState> {
    Router::new()
        .merge(uploads())
        .route("/download/{id}/{name}", get(download::download))
        .route("/selection/archive", post(place::selected_archive))
        .route("/s/{link}/{secret}", post(links::download))
        .layer(axum::middleware::from_fn(fault::show))
}

/// Forms with files, which are streamed: the reader of such forms has a limit of its own, which is for those who hold
/// them in memory.
fn uploads() -> Router<AppState> {
    Router::new()
        .route("/items/{id}/upload", get(upload::form).post(upload::upload))
        .route("/items/{id}/replace", get(upload::replace_form).post(upload::replace))
        .layer(DefaultBodyLimit::disable())
}

/// The answer where no route is: a page for browsers, a problem document for programs.
pub async fn fallback(State(state): State<AppState>, request: Request) -> Response {
    if !is_for_browser(request.headers()) {
        return edge::no_such_route().await;
    }
    fault::page_of(&state, request, &Error::not_found("there is nothing at this address")).await
}

/// The answer to a method that a route does not have, such as when the address of a form is opened.
pub async fn no_such_method(State(state): State<AppState>, request: Request) -> Response {
    if !is_for_browser(request.headers()) {
        return edge::no_such_method().await;
    }
    let error = Error::invalid("this address cannot be opened by itself: go back and use the form or the button there");
    fault::page_of(&state, request, &error.with_code("method_not_allowed")).await
}

fn is_for_browser(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|field| field.to_str().ok());
    accepted.is_some_and(|kinds| kinds.contains("text/html"))
}

/// Media type of pages.
const HTML: &str = "text/html; charset=utf-8";

/// Room that a page is given to begin with: a listing of one screen fits.
const USUAL_BYTES: usize = 64 << 10;

/// A rendered template as an answer.
fn html(template: &impl Template) -> Response {
    let mut text = String::with_capacity(USUAL_BYTES);
    match template.render_into(&mut text) {
        Ok(()) => ([(header::CONTENT_TYPE, HeaderValue::from_static(HTML))], visible::visible(text)).into_response(),
        Err(error) => {
            Problem::from(Error::corrupt("the page cannot be drawn").with_code("internal").with_source(error))
                .into_response()
        }
    }
}

/// All templates and page sources, for tests that read them.
#[cfg(test)]
fn sources() -> Vec<(String, String)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in ["templates", "src/ui", "src/ui/kit", "src/ui/storage", "src/ui/preview"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]").next().unwrap().to_owned();
            found.push((path.display().to_string(), text));
        }
    }
    found
}

#[cfg(test)]
mod tests;
