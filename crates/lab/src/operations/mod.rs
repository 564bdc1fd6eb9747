//! Operations of virtual users: one file for each operation, listed in [`ALL`]. An operation sends HTTP requests
//! through its user's client and checks the responses: the right status with the wrong content is a fault. It measures
//! nothing.

mod add_remove_user;
mod check_out_in;
mod copy;
mod create_page;
mod delete;
mod delete_row;
mod download;
mod download_unchanged;
mod edit_profile;
mod edit_row;
mod edit_values;
mod feed;
mod home_page;
mod large_page;
mod library_page;
mod library_view;
mod list_folder;
mod list_grid;
mod list_page;
mod list_view;
mod make_folder;
mod make_publishing_site;
mod make_site;
mod make_team_site;
mod missing_page;
mod moving;
mod new_row;
mod new_row_by_form;
mod operation;
mod own_page;
mod page;
mod page_library;
mod page_workflow;
mod properties;
mod replace;
mod row_form;
mod row_page;
mod search_name;
mod search_page;
mod search_query;
mod share;
mod sign_in;
mod site_manager;
mod static_file;
mod task_list;
mod task_row;
mod unavailable;
mod upload;
mod user;
mod versions;

pub use operation::{Operation, Work};
pub use share::Share;
pub use unavailable::missing_feature;
pub use user::{SharedUserState, User};

/// All operations.
pub const ALL: &[Operation] = &[
    home_page::OPERATION,
    library_page::OPERATION,
    library_view::OPERATION,
    list_page::OPERATION,
    list_view::OPERATION,
    list_grid::OPERATION,
    row_page::OPERATION,
    row_form::OPERATION,
    large_page::OPERATION,
    own_page::OPERATION,
    site_manager::OPERATION,
    search_page::OPERATION,
    sign_in::OPERATION,
    edit_profile::OPERATION,
    static_file::OPERATION,
    missing_page::OPERATION,
    list_folder::OPERATION,
    properties::OPERATION,
    versions::OPERATION,
    feed::OPERATION,
    search_name::OPERATION,
    search_query::OPERATION,
    download::OPERATION,
    download_unchanged::OPERATION,
    upload::OPERATION,
    replace::OPERATION,
    check_out_in::OPERATION,
    create_page::OPERATION,
    page_workflow::OPERATION,
    edit_values::OPERATION,
    delete::OPERATION,
    new_row::OPERATION,
    new_row_by_form::OPERATION,
    edit_row::OPERATION,
    delete_row::OPERATION,
    make_folder::OPERATION,
    make_site::OPERATION,
    make_team_site::OPERATION,
    make_publishing_site::OPERATION,
    moving::OPERATION,
    copy::OPERATION,
    add_remove_user::OPERATION,
];

/// Returns the operation with the given name.
pub fn find(name: &str) -> Option<&'static Operation> {
    ALL.iter().find(|operation| operation.name == name)
}

/// Names of all operations that plans may use.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|operation| operation.name).collect()
}
