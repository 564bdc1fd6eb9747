//! PROPPATCH: sets and removes dead properties, all or none.

use axum::body::Body;
use axum::http::StatusCode;
use model::Code;
use repository::{Property, PropertyChange};

use crate::error::{DavResult, xml_response};
use crate::live_properties;
use crate::request::DavRequest;
use crate::wire::bodies::{self, Patch, PropertyName};
use crate::wire::multistatus::{self, BEGIN, END};
use crate::wire::xml;

/// Applies the change and reports the status of each property.
pub async fn answer(ask: DavRequest, body: Body) -> DavResult {
    ask.require_preconditions().await?;
    let patches = ask.xml(body, bodies::proppatch).await?;
    let names: Vec<_> = patches.iter().map(|patch| patch.name().clone()).collect();
    let mut out = BEGIN.to_owned();
    multistatus::begin(&mut out, &ask.href);
    let (refused, others): (Vec<_>, Vec<_>) = names.into_iter().partition(live_properties::is_live);
    let written = |names: &[PropertyName]| {
        let mut text = String::new();
        for name in names {
            xml::write_empty(&mut text, &name.namespace, &name.name);
        }
        text
    };
    if refused.is_empty() {
        let changes = patches.into_iter().map(change).collect();
        match ask.session.change_properties(&ask.target(), changes).await {
            Ok(()) => multistatus::propstat(&mut out, &written(&others), StatusCode::OK, ""),
            Err(error) if error.code() == Code::TooManyProperties => {
                multistatus::propstat(&mut out, &written(&others), StatusCode::INSUFFICIENT_STORAGE, "");
            }
            Err(error) => return Err(error.into()),
        }
    } else {
        // A missing item must be reported before protected properties.
        ask.session.item(&ask.target()).await?;
        let reason = "<D:error><D:cannot-modify-protected-property/></D:error>";
        multistatus::propstat(&mut out, &written(&refused), StatusCode::FORBIDDEN, reason);
        if !others.is_empty() {
            multistatus::propstat(&mut out, &written(&others), StatusCode::FAILED_DEPENDENCY, "");
        }
    }
    out.push_str("</D:response>");
    out.push_str(END);
    Ok(xml_response(StatusCode::MULTI_STATUS, out))
}

fn change(patch: Patch) -> PropertyChange {
    match patch {
        Patch::Remove(name) => PropertyChange::Remove(name.namespace, name.name),
        Patch::Set(PropertyName { namespace, name }, value) => PropertyChange::Set(Property { namespace, name, value }),
    }
}
