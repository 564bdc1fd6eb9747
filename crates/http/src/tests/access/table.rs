//! The rows, read from tables beside this file, and what each demands.
//!
//! A row is `METHOD address | needs | statuses | body`; the statuses begin with the one of success, and go on with
//! those of columns that differ, such as `contribute=409`, `token*=403` or `*-sub=409`. Rows of WebDAV have fields
//! behind their address. Needs are words and rights, such as `document:edit`; `document:edit/409/404` says what comes
//! without the right, and without the right to view. Others are `folder:known`, `draft:drafts`, `farm`, `fresh` and
//! `holder/423`.

use model::Right;

use super::ground::Node;

/// One operation. Words in braces are made for each case.
pub struct Row {
    pub method: &'static str,
    /// The route as the router has it, with words that say what stands there.
    pub route: &'static str,
    /// What stands behind the path: a query, or nothing.
    pub query: &'static str,
    /// Header fields.
    pub fields: Vec<(&'static str, &'static str)>,
    pub body: &'static str,
    pub needs: Vec<Need>,
    /// The status for who has all that is needed.
    pub status: u16,
    /// What others get all the same.
    except: Vec<(&'static str, u16)>,
}

/// One thing that is asked of the caller. The first that is missing decides about the answer.
pub enum Need {
    /// A right on a place: without it the first status, without the right to view the second.
    Right(Node, Right, u16, u16),
    /// To know that there is such a place.
    Known(Node, u16),
    /// To see drafts; otherwise who may view published documents gets the status.
    Drafts(Node, u16),
    /// To administer the farm.
    Farm,
    /// A fresh proof.
    Fresh,
    /// A fresh proof, of who administers the farm.
    Proof,
    /// A credential for all of one's own account.
    Own,
    /// To be the administrator who prepared the case.
    Holder(u16),
}

impl Row {
    /// The status that a column gets whatever it may do.
    pub fn exception(&self, column: &str) -> Option<u16> {
        let fits = |name: &str| match (name.strip_suffix('*'), name.strip_prefix('*')) {
            (Some(start), _) => column.starts_with(start),
            (_, Some(end)) => column.ends_with(end),
            _ => name == column,
        };
        self.except.iter().find(|(name, _)| fits(name)).map(|(_, status)| *status)
    }

    /// Whether carrying it out leaves everything as it is.
    pub fn only_reads(&self) -> bool {
        matches!(self.method, "GET" | "HEAD" | "OPTIONS" | "PROPFIND" | "REPORT" | "SEARCH")
    }

    /// Method, address and fields, as a fault is told.
    pub fn told(&self) -> String {
        let fields: String = self.fields.iter().map(|(name, value)| format!("; {name}: {value}")).collect();
        format!("{} {}{}{fields} {}", self.method, self.route, self.query, self.body)
    }
}

/// A table beside this file.
pub fn read(name: &str) -> &'static str {
    let path = format!("{}/src/tests/access/{name}", env!("CARGO_MANIFEST_DIR"));
    // What begins with blanks belongs to the line before.
    std::fs::read_to_string(path).unwrap().replace("\n    ", " ").leak()
}

/// The rows of a table.
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

/// The route of a row as the router writes it: `{id=document}` is `{id}` there.
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
