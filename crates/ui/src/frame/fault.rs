//! Errors of pages. A handler returns a [`Fault`], which the layer around all pages renders.

use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use model::Error;

use http_core::server::error::{self, Problem};

/// An error of a page.
#[derive(Clone)]
pub struct Fault(Arc<Error>);

/// Return type of page handlers.
pub type PageResult<T = Response> = Result<T, Fault>;

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self(Arc::new(error))
    }
}

impl Fault {
    /// Returns the error.
    pub fn into_error(self) -> Arc<Error> {
        self.0
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let mut response = error::status(&self.0).into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// Returns the error as a problem document for scripts, or as a fault for people.
pub fn fail(wants_problem: bool, error: Error) -> Response {
    if wants_problem { Problem::from(error).into_response() } else { Fault::from(error).into_response() }
}
