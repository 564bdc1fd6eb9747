//! The three protocols of the farm, and how each sends the request of a row.

use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::case::{Case, template_text};
use super::people::{Column, People};
use super::table::Row;
use super::{Farm, Reply, canary};
use crate::tests::PASSWORD;

/// Pseudo status for a redirect to the sign-in page.
const SENT_TO_SIGN_IN: u16 = 490;

const PROPFIND: &str = "<D:propfind xmlns:D='DAV:'><D:allprop/></D:propfind>";
const PROPPATCH: &str =
    "<D:propertyupdate xmlns:D='DAV:'><D:set><D:prop><x xmlns='u'>1</x></D:prop></D:set></D:propertyupdate>";
const SEARCH: &str = "<D:searchrequest xmlns:D='DAV:'><D:basicsearch><D:select><D:allprop/></D:select>\
    <D:from><D:scope><D:href></D:href></D:scope></D:from></D:basicsearch></D:searchrequest>";
const VERSIONS: &str = "<D:version-tree xmlns:D='DAV:'><D:prop><D:version-name/></D:prop></D:version-tree>";

const PROPNAME: &str = "<D:propfind xmlns:D='DAV:'><D:propname/></D:propfind>";
const PROP: &str = "<D:propfind xmlns:D='DAV:'><D:prop><D:displayname/>\
    <D:getcontentlength/><D:getetag/><D:lockdiscovery/>\
    <D:quota-used-bytes/><x xmlns='u'/></D:prop></D:propfind>";

/// Returns a search for hidden content by its name or size.
fn search_for(by: &str, property: &str, literal: &str) -> String {
    let wanted = format!("<D:{by}><D:prop><D:{property}/></D:prop><D:literal>{literal}</D:literal></D:{by}>");
    SEARCH.replace("</D:basicsearch>", &format!("<D:where>{wanted}</D:where></D:basicsearch>"))
}

fn lock_body(scope: &str) -> String {
    format!(
        "<D:lockinfo xmlns:D='DAV:'><D:lockscope><D:{scope}/></D:lockscope><D:locktype><D:write/></D:locktype>\
         <D:owner>matrix</D:owner></D:lockinfo>"
    )
}

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    Rest,
    Pages,
    Dav,
}

/// A protocol with the form tokens that its pages need.
pub struct Opened {
    door: Protocol,
    /// Pairs of session and form token.
    forms: Vec<(String, String)>,
}

impl Protocol {
    /// Fetches the form tokens of all callers with a session.
    pub async fn open(self, farm: &Farm, people: &People) -> Opened {
        let mut forms = Vec::new();
        for session in people.columns.iter().filter_map(|column| column.session.as_deref()) {
            if self == Self::Pages {
                forms.push((session.to_owned(), form_token(farm, session).await));
            }
        }
        Opened { door: self, forms }
    }
}

fn cookie(session: &str) -> String {
    format!("__Host-strongroom_session={session}")
}

/// Returns the form token of a session, or an empty string without a valid session.
async fn form_token(farm: &Farm, session: &str) -> String {
    let text = farm.send_as("", "GET", "/account", &[("cookie", &cookie(session))], "").await.text();
    let after = text.split("name=\"form_token\" value=\"").nth(1).unwrap_or_default();
    after.split('"').next().unwrap_or_default().to_owned()
}

impl Opened {
    pub fn name(&self) -> String {
        format!("{:?}", self.door)
    }

    /// Returns whether a column can use this protocol. Pages accept neither tokens nor Basic credentials.
    pub fn takes(&self, column: &Column) -> bool {
        self.door != Protocol::Pages || column.session.is_some() || column.token.is_none() && column.login.is_none()
    }

    /// Returns the expected status of a row for this column and protocol. Without a session, a GET of a page and a file
    /// upload redirect to the sign-in page; any other form is kept on the sign-in page.
    pub fn expected(&self, row: &Row, column: &Column) -> u16 {
        let leaves = self.door == Protocol::Pages && column.is_invalid && row.exception(&column.name).is_none();
        if leaves && (row.method != "POST" || row.body == "FILE") {
            return SENT_TO_SIGN_IN;
        }
        column.expected(row)
    }

    /// Sends the request of a row and returns the status. For a bulk operation, it is the status of its single item.
    pub async fn ask(&self, farm: &Farm, case: &Case, row: &Row, column: &Column) -> (u16, Reply) {
        self.ask_with(farm, case, row, column, row.body).await
    }

    /// Variant of [`Self::ask`] with another body.
    pub async fn ask_with(&self, farm: &Farm, case: &Case, row: &Row, column: &Column, body: &str) -> (u16, Reply) {
        let route = row.route.replace("{id=self}", &column.account.to_string());
        let mut url = case.fill(&format!("{route}{}", row.query)).replace(' ', "%20");
        assert!(!url.contains('{'), "{url} speaks of what the case does not make");
        let mut fields: Vec<(&str, String)> = Vec::new();
        match (&column.token, &column.session) {
            (Some(token), _) if self.door != Protocol::Pages => {
                fields.push(("authorization", format!("Bearer {token}")))
            }
            (_, Some(session)) => fields.push(("cookie", cookie(session))),
            _ => {}
        }
        let shown = column.login.as_ref().map(|login| STANDARD.encode(format!("{login}:{PASSWORD}")));
        fields.extend(shown.map(|pair| ("authorization", format!("Basic {pair}"))));
        for (name, value) in &row.fields {
            let value = case.fill(value);
            fields.push((name, if *name == "destination" { format!("/dav/{value}") } else { value }));
        }
        let mut body = case.fill(body);
        if body == "TEMPLATE" {
            body = template_text(&format!("sent-{}", case.word("n")));
        }
        match self.door {
            Protocol::Rest => rest_fields(case, row, &body, &mut fields),
            Protocol::Dav => {
                url = format!("/dav/{url}");
                body = dav_body(body);
            }
            Protocol::Pages => body = self.form(row, column, body, &mut fields),
        }
        let names = |text: &str| canary::is_in(text.as_bytes());
        let names_it = names(&url) || names(&body) || fields.iter().any(|(_, value)| names(value));
        if names_it || column.sees_all {
            fields.push(("x-request-id", format!("{}matrix", canary::EXEMPT_REQUEST_PREFIX)));
        }
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let reply = farm.send_as("", row.method, &url, &fields, Body::from(body)).await;
        (self.status(row, &reply), reply)
    }

    fn status(&self, row: &Row, reply: &Reply) -> u16 {
        if self.door == Protocol::Rest && row.route.starts_with("/api/v1/bulk/") && reply.status == 207 {
            return reply.json()["items"][0]["status"].as_u64().unwrap() as u16;
        }
        let away = self.door == Protocol::Pages && reply.header("location").starts_with("/sign-in");
        if away { SENT_TO_SIGN_IN } else { reply.status.as_u16() }
    }

    fn form(&self, row: &Row, column: &Column, body: String, fields: &mut Vec<(&str, String)>) -> String {
        fields.push(("accept", "text/html".into()));
        let own = |(session, _): &&(String, String)| Some(session) == column.session.as_ref();
        let token = self.forms.iter().find(own).map_or("", |(_, token)| token.as_str());
        if row.method == "GET" {
            return String::new();
        }
        if body == "FILE" {
            fields.push(("content-type", "multipart/form-data; boundary=cut".into()));
            return format!(
                "--cut\r\nContent-Disposition: form-data; name=\"form_token\"\r\n\r\n{token}\r\n--cut\r\n\
                 Content-Disposition: form-data; name=\"file\"; filename=\"b.txt\"\r\n\r\nnew\r\n--cut--\r\n"
            );
        }
        fields.push(("content-type", "application/x-www-form-urlencoded".into()));
        if row.body == "TEMPLATE" {
            return format!("form_token={token}&text={}", urlencode(&body));
        }
        format!("form_token={token}&{body}")
    }
}

/// Encodes the value of a field of a form.
fn urlencode(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn rest_fields(case: &Case, row: &Row, body: &str, fields: &mut Vec<(&str, String)>) {
    let given = |fields: &[(&str, String)], wanted: &str| fields.iter().any(|(name, _)| *name == wanted);
    if !row.route.starts_with("/api/v1/uploads") {
        if body.starts_with('{') {
            fields.push(("content-type", "application/json".into()));
        }
        return;
    }
    fields.push(("tus-resumable", "1.0.0".into()));
    match row.method {
        "POST" => {
            fields.push(("upload-length", "3".into()));
            if !given(fields, "upload-metadata") {
                let said = STANDARD.encode(case.word("path"));
                fields.push(("upload-metadata", format!("path {said}")));
            }
        }
        "PATCH" => {
            fields.push(("upload-offset", "0".into()));
            fields.push(("content-type", "application/offset+octet-stream".into()));
        }
        _ => {}
    }
}

fn dav_body(body: String) -> String {
    match body.as_str() {
        "PROPFIND" => PROPFIND.to_owned(),
        "PROPPATCH" => PROPPATCH.to_owned(),
        "SEARCH" => SEARCH.to_owned(),
        "PROPNAME" => PROPNAME.to_owned(),
        "PROP" => PROP.to_owned(),
        "SEARCH-NAME" => search_for("like", "displayname", &format!("%{}%", canary::NAME)),
        "SEARCH-SIZE" => search_for("eq", "getcontentlength", &canary::SIZE.to_string()),
        "SEARCH-WORDS" => SEARCH.replace(
            "</D:basicsearch>",
            &format!("<D:where><D:contains>{}</D:contains></D:where></D:basicsearch>", canary::NAME),
        ),
        "VERSIONS" => VERSIONS.to_owned(),
        "EXCLUSIVE" => lock_body("exclusive"),
        "SHARED" => lock_body("shared"),
        _ => body,
    }
}
