//! Pages as a browser loads them. Redirects on the same server are followed; then the resources of the page are fetched
//! that the user does not have yet.

use hyper::header;

use super::user::User;
use crate::wire::{Fault, FaultKind, ReadResponse, RequestBuilder, excerpt};

/// Limit on consecutive redirects.
const MAX_REDIRECTS: usize = 5;
/// Limit on the resources of a page.
const MAX_RESOURCES: usize = 100;
/// Limit on the bytes of a resource's address; no server accepts longer ones.
const MAX_RESOURCE_BYTES: usize = 8 * 1024;
/// Limits on the resources that a user remembers, and on the bytes of the address of each. Resources beyond the limits
/// are fetched every time.
const MAX_SEEN: usize = 1_000;
const MAX_SEEN_BYTES: usize = 1_024;
/// Limit on the characters of a page that a fault quotes.
const MAX_QUOTED_CHARS: usize = 100;

/// Gets a page with its resources. The page must contain `expected`, so that an error page is detected whatever its
/// status.
pub async fn get(user: &mut User, path: &str, expected: &str) -> Result<ReadResponse, Fault> {
    let answer = follow(user, RequestBuilder::get(path).like_browser()).await?;
    complete(user, &answer, expected).await?;
    Ok(answer)
}

/// Sends a request like a browser, and follows redirects.
pub async fn follow(user: &mut User, ask: RequestBuilder) -> Result<ReadResponse, Fault> {
    let mut answer = user.client.send(ask).await?;
    for _ in 0..MAX_REDIRECTS {
        if !answer.status.is_redirection() {
            return Ok(answer);
        }
        let to = answer.header(header::LOCATION).to_owned();
        let path = match to.strip_prefix(&user.crowd.target.url) {
            Some(path) => path.to_owned(),
            None if to.starts_with('/') && !to.starts_with("//") => to,
            None => return Err(Fault::new(FaultKind::Status, format!("a redirect leads to another server: {to}"))),
        };
        answer = user.client.send(RequestBuilder::get(path).like_browser()).await?;
    }
    Err(Fault::new(FaultKind::Status, "the redirects do not end"))
}

/// Checks a page and fetches the resources that are new to the user.
pub async fn complete(user: &mut User, page: &ReadResponse, expected: &str) -> Result<(), Fault> {
    let text = page.text();
    if page.status != 200 {
        let said = excerpt(&text, MAX_QUOTED_CHARS);
        return Err(Fault::new(FaultKind::Status, format!("a page answered {}: {said}", page.status)));
    }
    if !text.contains("</html>") {
        return Err(Fault::content("a page is cut off: its end is missing"));
    }
    if !text.contains(expected) {
        let title = text.split("<title>").nth(1).and_then(|rest| rest.split('<').next()).unwrap_or_default();
        let title = excerpt(title, MAX_QUOTED_CHARS);
        return Err(Fault::content(format!("a page with status 200 (\"{title}\") does not show \"{expected}\"")));
    }
    for path in resources(&text) {
        if !user.cached_resources.contains(&path) {
            user.client.send(RequestBuilder::get(path.as_str()).like_browser()).await?.expect(&[200, 304])?;
            if user.cached_resources.len() < MAX_SEEN && path.len() <= MAX_SEEN_BYTES {
                user.cached_resources.insert(path);
            }
        }
    }
    Ok(())
}

/// Returns the form token of a page, which proves that a submitted form comes from it; empty if the page has none.
pub fn form_token(page: &str) -> String {
    hidden_field(page, "form_token")
}

/// Returns the value of a hidden field of a form; empty if the page has none.
pub fn hidden_field(page: &str, name: &str) -> String {
    let value = page.split(&format!("name=\"{name}\" value=\"")).nth(1).and_then(|rest| rest.split('"').next());
    value.unwrap_or_default().to_owned()
}

/// Returns the scripts, style sheets and images of the same server that a page references.
pub fn resources(page: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for tag in page.split('<').skip(1) {
        let tag = tag.split('>').next().unwrap_or_default();
        let attribute = match tag.split_ascii_whitespace().next() {
            Some("script" | "img") => "src=\"",
            Some("link") if tag.contains("stylesheet") || tag.contains("icon") => "href=\"",
            _ => continue,
        };
        let value = tag.split(attribute).nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        let value = value.replace("&amp;", "&");
        let is_asked_for = value.starts_with('/') && !value.starts_with("//") && value.len() <= MAX_RESOURCE_BYTES;
        if is_asked_for && !found.contains(&value) && found.len() < MAX_RESOURCES {
            found.push(value);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_of_the_same_server_are_found_once() {
        let page = r#"<link rel="stylesheet" href="/a.css"><link rel="canonical" href="/x">
            <script type="module" src="/b.js"></script>
            <img alt="" src="/c.svg?a=1&amp;b=2"><img src="//other/d.png"><img src="/c.svg?a=1&amp;b=2"><a href="/e">"#;
        assert_eq!(resources(page), ["/a.css", "/b.js", "/c.svg?a=1&b=2"]);
        let long = format!(r#"<img src="/{}"><img src="/short">"#, "a".repeat(MAX_RESOURCE_BYTES));
        assert_eq!(resources(&long), ["/short"]);
    }
}
