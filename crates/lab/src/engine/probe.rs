//! Requests about a target itself, sent before the load. Measures nothing.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::{HeaderName, SERVER};

use crate::error::{Error, Result};
use crate::thread::on_own_thread;
use crate::wire::{Client, RequestBuilder, Target, TargetKind, address};

/// Timeout for a response about the target itself.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Returns the version of a target; empty if the target does not report one in time.
pub async fn version(target: &Arc<Target>) -> String {
    const TIMEOUT: Duration = Duration::from_secs(5);
    let target = target.clone();
    let asking = on_own_thread(move || async move {
        let mut client = Client::new(target.clone());
        let path = match target.kind {
            TargetKind::Strongroom => "/api/openapi.json".to_owned(),
            TargetKind::Webdav => address::content_address(&target, ""),
        };
        let answer = tokio::time::timeout(TIMEOUT, client.send(RequestBuilder::get(path))).await.ok()?.ok()?;
        if target.kind == TargetKind::Strongroom {
            let described = answer.json().ok()?;
            return Some(format!("Strongroom {}", described["info"]["version"].as_str()?));
        }
        answer.headers.get(SERVER)?.to_str().ok().map(str::to_owned)
    });
    asking.await.ok().flatten().unwrap_or_default()
}

/// Returns whether a target describes its documents: some targets accept files over WebDAV but do not support PROPFIND.
pub async fn describes(target: &Arc<Target>) -> Result<bool> {
    /// Statuses that show that the method is not supported.
    const NO_SUCH_METHOD: [u16; 3] = [400, 405, 501];
    if target.kind != TargetKind::Webdav {
        return Ok(true);
    }
    let target = target.clone();
    on_own_thread(move || async move {
        let path = address::content_address(&target, "");
        let ask = RequestBuilder::new(address::method("PROPFIND"), path).with(HeaderName::from_static("depth"), "0");
        let url = target.url.clone();
        let answer = tokio::time::timeout(TIMEOUT, Client::new(target).send(ask)).await;
        let answer = answer.map_err(|_| Error::new(format!("{url} does not answer")))?;
        let answer = answer.map_err(|fault| Error::new(fault.message))?;
        Ok(!NO_SUCH_METHOD.contains(&answer.status.as_u16()))
    })
    .await?
}
