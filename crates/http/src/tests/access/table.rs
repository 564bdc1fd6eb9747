//! The rows, read from tables beside this file, with the requirements of each.
//!
//! A row is `METHOD address | needs | statuses | body`. The first status is the one on success. Statuses of deviating
//! columns follow, such as `contribute=409`, `token*=403` or `*-sub=409`. WebDAV rows have header fields after their
//! address. A need is a word with a right, such as `document:edit`; in `document:edit/409/404` the statuses are those
//! without the right, and without the right to view. Other needs are `folder:known`, `draft:drafts`, `farm`, `fresh`
//! and `holder/423`.

use model::Right;

use super::ground::Node;

/// One operation. Words in braces are placeholders that each case fills.
pub struct Row {
    pub method: &'static str,
    /// Route as in the router, with the placeholder word in each parameter.
    pub route: &'static str,
    /// Query with its `?`, or empty.
    pub query: &'static str,
    /// Header fields.
    pub fields: Vec<(&'static str, &'static str)>,
    pub body: &'static str,
    pub needs: Vec<Need>,
    /// Status for a caller who meets all needs.
    pub status: u16,
    /// Statuses of columns that deviate from the rule.
    except: Vec<(&'static str, u16)>,
}

/// One requirement for the caller. The first unmet requirement determines the status.
pub enum Need {
    /// A right on a node. The first status is for callers without the right, the second for callers without the right
    /// to view.
    Right(Node, Right, u16, u16),
    /// Knowledge that the node exists.
    Known(Node, u16),
    /// The right to see drafts. A caller who may only view published documents gets the status.
    Drafts(Node, u16),
    /// Administration of the farm.
    Farm,
    /// A recent proof of identity (re-authentication).
    Fresh,
    /// A recent proof of identity, demanded of the farm administrator only.
    Proof,
    /// An unrestricted credential for the caller's own account.
    Own,
    /// Being the administrator who prepared the case.
    Holder(u16),
}

impl Row {
    /// Returns the exceptional status of a column, whatever its rights.
    pub fn exception(&self, column: &str) -> Option<u16> {
        let fits = |name: &str| match (name.strip_suffix('*'), name.strip_prefix('*')) {
            (Some(start), _) => column.starts_with(start),
            (_, Some(end)) => column.ends_with(end),
            _ => name == column,
        };
        self.except.iter().find(|(name, _)| fits(name)).map(|(_, status)| *status)
    }

    /// Returns whether the operation only reads.
    pub fn only_reads(&self) -> bool {
        matches!(self.method, "GET" | "HEAD" | "OPTIONS" | "PROPFIND" | "REPORT" | "SEARCH")
    }

    /// Returns method, address, fields and body, as in a fault report.
    pub fn describe(&self) -> String {
        let fields: String = self.fields.iter().map(|(name, value)| format!("; {name}: {value}")).collect();
        format!("{} {}{}{fields} {}", self.method, self.route, self.query, self.body)
    }
}

/// Reads a table beside this file.
pub fn read(name: &str) -> &'static str {
    let path = format!("{}/src/tests/access/{name}", env!("CARGO_MANIFEST_DIR"));
    // An indented line continues the previous one.
    std::fs::read_to_string(path).unwrap().replace("\n    ", " ").leak()
}

/// Parses the rows of a table.
pub fn rows(table: &'static str) -> Vec<Row> {
    let lines = table.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(row).collect()
}

fn row(line: &'static str) -> Row {
    let mut parts = line.splitn(4, '|').map(str::trim);
    let mut part = || parts.next().unwrap_or_default();
    let (address, needs, statuses, body) = (part(), part(), part(), part());
    let mut address = address.split(';').map(str::trim);
    let (method, url) = address.next().map(|first| first.split_once(' ').unwrap_or((first, ""))).unwrap();
    let (route, query) = url.trim().find('?').map_or((url.trim(), ""), |at| url.trim().split_at(at));
    let field = |field: &'static str| field.split_once(": ").unwrap_or_else(|| panic!("{line}"));
    let mut statuses = statuses.split_whitespace();
    let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{text} is no status: {line}"));
    Row {
        method,
        route,
        query,
        fields: address.map(field).collect(),
        body,
        needs: needs.split_whitespace().map(|text| need(text, line)).collect(),
        status: number(statuses.next().unwrap_or_default()),
        except: statuses
            .map(|text| text.split_once('=').map(|(name, status)| (name, number(status))).unwrap())
            .collect(),
    }
}

fn need(text: &str, line: &str) -> Need {
    let mut parts = text.split('/');
    let word = parts.next().unwrap_or_default();
    let mut status = |usual: u16| parts.next().map_or(usual, |text| text.parse().unwrap());
    let (lacking, absent) = (status(403), status(404));
    match word.split_once(':') {
        Some((word, "known")) => Need::Known(Node::of(word), if lacking == 403 { 404 } else { lacking }),
        Some((word, "drafts")) => Need::Drafts(Node::of(word), if text.contains('/') { lacking } else { 404 }),
        Some((word, right)) => {
            let right = Right::parse(right).unwrap_or_else(|_| panic!("{right} is no right: {line}"));
            Need::Right(Node::of(word), right, lacking, absent)
        }
        None => match word {
            "farm" => Need::Farm,
            "fresh" => Need::Fresh,
            "proof" => Need::Proof,
            "own" => Need::Own,
            "holder" => Need::Holder(lacking),
            other => panic!("{other} is not understood: {line}"),
        },
    }
}

/// Returns the route as the router writes it: `{id=document}` becomes `{id}`.
pub fn plain(route: &str) -> String {
    let mut text = String::new();
    let mut rest = route;
    while let Some((before, tail)) = rest.split_once('{') {
        let (word, after) = tail.split_once('}').unwrap();
        text += before;
        text += &format!("{{{}}}", word.split('=').next().unwrap());
        rest = after;
    }
    text + rest
}
