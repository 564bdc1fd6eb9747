//! Browsing sites, libraries and folders, and changing their content.

mod activity;
mod all_ids;
mod at_path;
mod bin;
mod bulk_edit;
mod change;
mod column_filter;
mod follow;
pub mod heads;
mod home;
pub mod listing;
mod name_conflict;
mod new_document;
mod place;

pub mod row_cells;
mod search;
mod selection;
mod shared;
pub mod totals;
pub mod upload;
mod value_test;
pub mod view;
mod view_form;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};

use http_core::server::state::AppState;

use search::{saved, saved_forms};

pub use heads::label;

/// Routes of these pages.
pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/", get(home::show))
        .route("/sites", get(home::sites))
        .route("/shared", get(shared::show))
        .route("/browse", get(at_path::browse))
        .route("/browse/", get(at_path::browse))
        .route("/browse/{*path}", get(at_path::browse))
        .route("/search", get(search::show))
        .route("/searches", get(saved::list).post(saved_forms::save))
        .route("/searches/new", get(saved_forms::ask_save))
        .route("/searches/counts", get(saved::counts))
        .route("/searches/{id}", get(saved::show))
        .route("/searches/{id}/edit", get(saved_forms::ask_change).post(saved_forms::change))
        .route("/searches/{id}/delete", get(saved_forms::ask_delete).post(saved_forms::delete))
        .route("/searches/{id}/seen", post(saved_forms::mark_seen))
        .route("/items/{id}/open", get(at_path::by_id))
        .route("/items/{id}/inside", get(home::inside))
        .route("/items/{id}/ids", get(all_ids::show))
        .route("/items/{id}/activity", get(activity::show))
        .route("/items/{id}/changed", get(activity::changed))
        .route("/items/{id}/rename", get(change::rename).post(change::do_rename))
        .route("/items/{id}/delete", get(change::delete).post(change::do_delete))
        .route("/items/{id}/new-folder", get(change::new_folder).post(change::do_new_folder))
        .route("/items/{id}/new-document", get(new_document::ask).post(new_document::make))
        .route("/items/{id}/new-library", get(change::new_library).post(change::do_new_library))
        .route("/items/{id}/filter", get(column_filter::ask).post(column_filter::apply))
        .route("/items/{id}/view", get(view_form::ask).post(view_form::apply))
        .route("/items/{id}/views", get(view_form::ask_save).post(view_form::save))
        .route("/items/{id}/views/{view}/delete", post(view_form::delete))
        .route("/items/{id}/follow", post(follow::follow))
        .route("/items/{id}/taken", get(name_conflict::show))
        .route("/selection/move", post(selection::selected_move))
        .route("/selection/copy", post(selection::selected_copy))
        .route("/selection/check-out", post(selection::selected_check_out))
        .route("/selection/check-in", post(selection::selected_check_in))
        .route("/selection/publish", post(selection::selected_publish))
        .route("/selection/delete", post(selection::selected_delete))
        .route("/selection/values", post(bulk_edit::selected))
        .route("/values", get(bulk_edit::ask).post(bulk_edit::save))
        .route("/place", get(place::choose).post(place::carry_out))
        .route("/place/find", post(place::find))
        .route("/place/folder", post(place::new_folder))
        .route("/undo-delete", post(change::undo_delete))
        .route("/undo-move", post(place::undo_move))
        .route("/bin/{collection}", get(bin::show))
        .route("/bin/{collection}/restore", post(bin::restore))
        .route("/bin/{collection}/purge", post(bin::purge))
        .route("/bin/{collection}/empty", post(bin::empty))
}

/// Returns the routes with documents in their bodies. Responses are not compressed, and request bodies are streamed.
pub fn content() -> Router<AppState> {
    let uploads = Router::new()
        .route("/items/{id}/upload", get(upload::form).post(upload::upload))
        .route("/items/{id}/replace", get(upload::replace_form).post(upload::replace))
        // axum's default limit is meant for bodies held in memory; these are streamed.
        .layer(DefaultBodyLimit::disable());
    uploads.route("/selection/archive", post(selection::selected_archive))
}
