//! What each operation answers to whom.

/// Expected statuses for: no access, read, contribute, full control, administrator of the farm.
pub type Expected = [u16; 5];

/// One operation of one route. Words in braces are made afresh for each case.
pub struct Row {
    pub method: &'static str,
    /// The route as the router has it.
    pub route: &'static str,
    /// What stands behind the path: a query, or nothing.
    pub query: &'static str,
    pub body: &'static str,
    pub expected: Expected,
}

pub const fn row(method: &'static str, route: &'static str, body: &'static str, expected: Expected) -> Row {
    Row { method, route, query: "", body, expected }
}

pub const fn asking(method: &'static str, route: &'static str, query: &'static str, expected: Expected) -> Row {
    Row { method, route, query, body: "", expected }
}

/// For everybody who is signed in.
const ALL: Expected = [200; 5];
/// Whoever may open the item.
const READ: Expected = [404, 200, 200, 200, 200];
/// The same, without an answer.
const READ_CHANGE: Expected = [404, 204, 204, 204, 204];
/// Whoever may change the item.
const WRITE: Expected = [404, 403, 200, 200, 200];
/// Whoever may change the item, without an answer.
const CHANGE: Expected = [404, 403, 204, 204, 204];
/// Whoever may add to the item.
const ADD: Expected = [404, 403, 201, 201, 201];
/// Whoever manages the item.
const MANAGE: Expected = [404, 403, 403, 200, 200];
const MANAGE_CHANGE: Expected = [404, 403, 403, 204, 204];
const MANAGE_ADD: Expected = [404, 403, 403, 201, 201];
/// Administrators of the farm only.
const FARM: Expected = [403, 403, 403, 403, 200];
const FARM_CHANGE: Expected = [403, 403, 403, 403, 204];
const FARM_ADD: Expected = [403, 403, 403, 403, 201];
/// The same for what is not there.
const FARM_NOTHING: Expected = [403, 403, 403, 403, 404];

pub const ROWS: &[Row] = &[
    row("GET", "/api/v1/content/{path}", "", READ),
    row("HEAD", "/api/v1/content/{path}", "", READ),
    asking("GET", "/api/v1/content/{path}", "?version=1.0", READ),
    row("PUT", "/api/v1/content/{path}", "new", WRITE),
    row("DELETE", "/api/v1/content/{path}", "", WRITE),
    asking("GET", "/api/v1/items/by-path", "?path={path}", READ),
    asking("GET", "/api/v1/items/by-path/children", "?path=Documents", READ),
    asking("GET", "/api/v1/archive", "?ids={document}", READ),
    row("GET", "/api/v1/items/{id=document}", "", READ),
    row("PATCH", "/api/v1/items/{id=document}", r#"{"name":"other.txt"}"#, WRITE),
    row("PATCH", "/api/v1/items/{id=library}", r#"{"name":"Other {n}"}"#, MANAGE),
    row("DELETE", "/api/v1/items/{id=document}", "", WRITE),
    row("DELETE", "/api/v1/items/{id=folder}", "", WRITE),
    row("DELETE", "/api/v1/items/{id=library}", "", MANAGE),
    row("GET", "/api/v1/items/{id=document}/ancestors", "", READ),
    row("GET", "/api/v1/items/{id=folder}/children", "", READ),
    row("POST", "/api/v1/items/{id=folder}/folders", r#"{"name":"new"}"#, ADD),
    row("POST", "/api/v1/items/{id=site}/libraries", r#"{"name":"Library {n}"}"#, MANAGE_ADD),
    row("POST", "/api/v1/items/{id=site}/sites", r#"{"name":"Site {n}"}"#, MANAGE_ADD),
    row("POST", "/api/v1/items/{id=document}/move", r#"{"to":"{target}"}"#, WRITE),
    row("POST", "/api/v1/items/{id=document}/copy", r#"{"to":"{target}"}"#, ADD),
    row("POST", "/api/v1/bulk/delete", r#"{"ids":["{document}"]}"#, WRITE),
    row("POST", "/api/v1/bulk/move", r#"{"ids":["{document}"],"to":"{target}"}"#, WRITE),
    row("POST", "/api/v1/bulk/copy", r#"{"ids":["{document}"],"to":"{target}"}"#, WRITE),
    row("GET", "/api/v1/items/{id=document}/content", "", READ),
    row("HEAD", "/api/v1/items/{id=document}/content", "", READ),
    row("PUT", "/api/v1/items/{id=document}/content", "new", WRITE),
    Row {
        method: "POST",
        route: "/api/v1/items/{id=folder}/documents",
        query: "?name=new.txt",
        body: "new",
        expected: ADD,
    },
    row("GET", "/api/v1/items/{id=document}/versions", "", READ),
    row("DELETE", "/api/v1/items/{id=document}/versions/{number}", "", MANAGE_CHANGE),
    row("GET", "/api/v1/items/{id=document}/versions/{number}/content", "", READ),
    row("HEAD", "/api/v1/items/{id=document}/versions/{number}/content", "", READ),
    row("POST", "/api/v1/items/{id=document}/versions/{number}/restore", "", WRITE),
    // A draft is not even there for readers.
    row("GET", "/api/v1/items/{id=draft}/content", "", [404, 404, 200, 200, 200]),
    row("POST", "/api/v1/items/{id=draft}/publish", "{}", [404, 404, 200, 200, 200]),
    row("GET", "/api/v1/items/{id=library}/views", "", READ),
    row("POST", "/api/v1/items/{id=library}/views", r#"{"name":"Mine {n}"}"#, READ),
    row("POST", "/api/v1/items/{id=library}/views", r#"{"name":"All {n}","shared":true}"#, MANAGE),
    row("DELETE", "/api/v1/items/{id=library}/views/{view}", "", [404; 5]),
    row("PUT", "/api/v1/items/{id=document}/following", "", READ_CHANGE),
    row("DELETE", "/api/v1/items/{id=document}/following", "", READ_CHANGE),
    row("GET", "/api/v1/items/{id=document}/links", "", WRITE),
    row("POST", "/api/v1/items/{id=document}/links", r#"{"days":1}"#, [404, 403, 403, 403, 403]),
    row("DELETE", "/api/v1/items/{id=document}/links/{link}", "", [404, 403, 404, 404, 404]),
    row("GET", "/api/v1/items/{id=document}/locks", "", READ),
    row("POST", "/api/v1/items/{id=document}/locks", "{}", ADD),
    row("DELETE", "/api/v1/items/{id=locked}/locks", "", MANAGE_CHANGE),
    row("PUT", "/api/v1/items/{id=locked}/locks/{token=lock}", r#"{"seconds":60}"#, [404, 403, 409, 409, 200]),
    row("DELETE", "/api/v1/items/{id=locked}/locks/{token=lock}", "", MANAGE_CHANGE),
    row("PUT", "/api/v1/items/{id=document}/check-out", "", CHANGE),
    row("DELETE", "/api/v1/items/{id=held}/check-out", "", [404, 423, 423, 204, 204]),
    row("POST", "/api/v1/items/{id=held}/check-in", "{}", [404, 403, 423, 423, 200]),
    row("PUT", "/api/v1/items/{id=held}/content", "new", [404, 403, 423, 423, 200]),
    row("GET", "/api/v1/items/{id=library}/settings", "", READ),
    row("PATCH", "/api/v1/items/{id=library}/settings", r#"{"major_limit":7}"#, MANAGE),
    row("GET", "/api/v1/items/{id=library}/columns", "", READ),
    row("POST", "/api/v1/items/{id=library}/columns", r#"{"name":"new","kind":"text"}"#, MANAGE_ADD),
    row("PUT", "/api/v1/items/{id=library}/columns/{column}", r#"{"name":"new","kind":"text"}"#, MANAGE_CHANGE),
    row("DELETE", "/api/v1/items/{id=library}/columns/{column}", "", MANAGE_CHANGE),
    row("GET", "/api/v1/items/{id=library}/content-types", "", READ),
    row("POST", "/api/v1/items/{id=library}/content-types", r#"{"name":"new"}"#, MANAGE_ADD),
    row("DELETE", "/api/v1/items/{id=library}/content-types/{type}", "", MANAGE_CHANGE),
    row("GET", "/api/v1/items/{id=document}/values", "", READ),
    row("PATCH", "/api/v1/items/{id=filed}/values", r#"{"values":{"{column}":"new"}}"#, WRITE),
    row("GET", "/api/v1/items/{id=document}/permissions", "", MANAGE),
    row("POST", "/api/v1/items/{id=document}/permissions/break", r#"{"copy":true}"#, MANAGE_CHANGE),
    row("POST", "/api/v1/items/{id=own}/permissions/restore", "", MANAGE_CHANGE),
    row("POST", "/api/v1/items/{id=own}/permissions/grants", r#"{"principal":"{user}","role":"4"}"#, MANAGE_CHANGE),
    row("DELETE", "/api/v1/items/{id=own}/permissions/grants/{principal}/{role=reading}", "", MANAGE_CHANGE),
    row("GET", "/api/v1/items/{id=document}/permissions/explanation", "", READ),
    asking("GET", "/api/v1/items/{id=document}/permissions/explanation", "?user={nobody}", MANAGE),
    row("GET", "/api/v1/items/{id=document}/activity", "", READ),
    row("GET", "/api/v1/site-collections", "", ALL),
    row("POST", "/api/v1/site-collections", r#"{"path":"s{n}","title":"S"}"#, FARM_ADD),
    row("GET", "/api/v1/site-collections/{id=site}", "", READ),
    row("PATCH", "/api/v1/site-collections/{id=site}", r#"{"quota_bytes":1000000000}"#, FARM),
    row("PATCH", "/api/v1/site-collections/{id=site}", r#"{"audit_reads":false}"#, MANAGE),
    row("PATCH", "/api/v1/site-collections/{id=site}", r#"{"title":"Case {n}","accent":"blue"}"#, MANAGE),
    row("GET", "/api/v1/site-collections/{id=site}/recycle-bin", "", READ),
    asking("GET", "/api/v1/site-collections/{id=site}/recycle-bin", "?bin=site", MANAGE),
    row("DELETE", "/api/v1/site-collections/{id=site}/recycle-bin", "", READ),
    asking("DELETE", "/api/v1/site-collections/{id=site}/recycle-bin", "?bin=site", MANAGE),
    row("POST", "/api/v1/site-collections/{id=site}/recycle-bin/{entry}/restore", "", [404, 404, 404, 200, 200]),
    row("DELETE", "/api/v1/site-collections/{id=site}/recycle-bin/{entry}", "", [404, 404, 404, 204, 204]),
    row("GET", "/api/v1/site-collections/{id=site}/audit-log", "", MANAGE),
    row("GET", "/api/v1/site-collections/{id=site}/link-rule", "", READ),
    row("PUT", "/api/v1/site-collections/{id=site}/link-rule", r#"{"most_days":null}"#, MANAGE_CHANGE),
    row("GET", "/api/v1/users", "", FARM),
    row("POST", "/api/v1/users", r#"{"login":"new{n}"}"#, FARM_ADD),
    row("GET", "/api/v1/users/{id=user}", "", FARM),
    row("PATCH", "/api/v1/users/{id=user}", r#"{"farm_administrator":true}"#, FARM),
    row("DELETE", "/api/v1/users/{id=user}", "", FARM_CHANGE),
    row("PUT", "/api/v1/users/{id=user}/password", r#"{"password":"a password of mine"}"#, FARM_CHANGE),
    row("GET", "/api/v1/users/{id=user}/tokens", "", FARM),
    row("POST", "/api/v1/users/{id=user}/tokens", r#"{"name":"mine"}"#, FARM_ADD),
    row("DELETE", "/api/v1/users/{id=user}/tokens/{token}", "", FARM_CHANGE),
    row("GET", "/api/v1/users/{id=user}/sessions", "", FARM),
    row("DELETE", "/api/v1/users/{id=user}/sessions", "", FARM_CHANGE),
    row("DELETE", "/api/v1/users/{id=user}/sessions/{session}", "", FARM_CHANGE),
    row("GET", "/api/v1/groups", "", ALL),
    row("POST", "/api/v1/groups", r#"{"name":"new {n}"}"#, FARM_ADD),
    row("GET", "/api/v1/groups/{id=group}", "", ALL),
    row("PATCH", "/api/v1/groups/{id=group}", r#"{"name":"other {n}"}"#, FARM),
    row("DELETE", "/api/v1/groups/{id=group}", "", FARM_CHANGE),
    row("GET", "/api/v1/groups/{id=group}/members", "", FARM),
    row("PUT", "/api/v1/groups/{id=group}/members/{user=nobody}", "", FARM_CHANGE),
    row("DELETE", "/api/v1/groups/{id=group}/members/{user=member}", "", FARM_CHANGE),
    row("GET", "/api/v1/roles", "", ALL),
    row("POST", "/api/v1/roles", r#"{"name":"new {n}","rights":["view"]}"#, FARM_ADD),
    row("GET", "/api/v1/roles/{id=role}", "", ALL),
    row("PATCH", "/api/v1/roles/{id=role}", r#"{"rights":["view","edit"]}"#, FARM),
    row("DELETE", "/api/v1/roles/{id=role}", "", FARM_CHANGE),
    asking("GET", "/api/v1/principals", "?search=a", ALL),
    asking("GET", "/api/v1/search", "?q=a", ALL),
    row("GET", "/api/v1/me", "", ALL),
    row("PUT", "/api/v1/me/password", r#"{"old":"not the password","new":"another password"}"#, [403; 5]),
    row("GET", "/api/v1/me/home", "", ALL),
    row("GET", "/api/v1/me/happenings", "", ALL),
    row("PUT", "/api/v1/me/preferences", r#"{"language":"de","theme":"dark"}"#, [204; 5]),
    row("GET", "/api/v1/farm/status", "", FARM),
    row("GET", "/api/v1/farm/health", "", FARM),
    row("GET", "/api/v1/farm/figures", "", FARM),
    row("GET", "/api/v1/farm/servers", "", FARM),
    row("GET", "/api/v1/farm/audit-log", "", FARM),
    asking("GET", "/api/v1/farm/audit-log", "?action=account.create&text=a&from=2026-01-01", FARM),
    row("GET", "/api/v1/farm/stores", "", FARM),
    row("POST", "/api/v1/farm/stores", r#"{"name":"new {n}","kind":"directory","location":"stores/{n}"}"#, FARM_ADD),
    row("PATCH", "/api/v1/farm/stores/{store}", r#"{"state":"read-only"}"#, FARM),
    row("PATCH", "/api/v1/farm/stores/{store}", r#"{"settings":{}}"#, FARM),
    row("DELETE", "/api/v1/farm/stores/{store=closed}", "", FARM_CHANGE),
    row("POST", "/api/v1/farm/stores/{store}/test", "", FARM),
    // Nothing in a directory is encrypted.
    row("POST", "/api/v1/farm/stores/{store}/rotate-key", "", [403, 403, 403, 403, 409]),
    row("GET", "/api/v1/farm/storage-policies", "", FARM),
    row("GET", "/api/v1/farm/storage-policies/{kind=database}/{target=main}", "", FARM),
    row("GET", "/api/v1/farm/storage-policies/{kind=of-library}/{target=library}", "", FARM),
    row("PUT", "/api/v1/farm/storage-policies/{kind=database}/{target=main}", r#"{"types":["pdf"]}"#, FARM),
    row("PUT", "/api/v1/farm/storage-policies/{kind=collection}/{target=site}", r#"{"minimum_size":7}"#, FARM),
    row("PUT", "/api/v1/farm/storage-policies/{kind=of-library}/{target=library}", r#"{"active_store":"files"}"#, FARM),
    row("GET", "/api/v1/farm/jobs", "", FARM),
    row("POST", "/api/v1/farm/jobs", r#"{"kind":"check"}"#, FARM_ADD),
    row("POST", "/api/v1/farm/jobs", r#"{"kind":"migrate","to":"files"}"#, FARM_ADD),
    row("POST", "/api/v1/farm/jobs", r#"{"kind":"collect","dry_run":true}"#, FARM_ADD),
    row("GET", "/api/v1/farm/jobs/{id=job}", "", FARM),
    row("GET", "/api/v1/farm/jobs/{id=job}/errors", "", FARM),
    row("POST", "/api/v1/farm/jobs/{id=job}/pause", "", FARM),
    row("POST", "/api/v1/farm/jobs/{id=paused}/resume", "", FARM),
    row("POST", "/api/v1/farm/jobs/{id=job}/abort", "", FARM),
    row("GET", "/api/v1/farm/reclaim", "", FARM),
    row("GET", "/api/v1/farm/faults", "", FARM),
    row("POST", "/api/v1/farm/faults/{digest}/accept", "", FARM_NOTHING),
    row("POST", "/api/v1/farm/faults/{digest}/repair", "", FARM_NOTHING),
    row("OPTIONS", "/api/v1/uploads", "", [204; 5]),
    row("POST", "/api/v1/uploads", "", ADD),
    // Another's upload is not there, whoever asks; the administrator of these cases began it.
    row("HEAD", "/api/v1/uploads/{id=upload}", "", [404, 404, 404, 404, 200]),
    row("PATCH", "/api/v1/uploads/{id=upload}", "one", [404, 404, 404, 404, 204]),
    row("DELETE", "/api/v1/uploads/{id=upload}", "", [404, 404, 404, 404, 204]),
];
