//! Writing of templates. What is written reads back as the same template.

use std::fmt::Write as _;

use toml::Value;

use super::template::{
    ColumnTemplate, GrantTemplate, Holds, LinkTemplate, ListTemplate, PageTemplate, Template, TemplateKind, ViewColumn,
    ViewTemplate,
};
use super::text::Text;

impl Template {
    /// Returns the template as a file.
    pub fn write(&self) -> String {
        let mut out = Out(String::new());
        out.key("format", self.format.to_string());
        out.key("kind", quoted(self.kind.as_str()));
        out.key("name", quoted(&self.name));
        out.key("title", text(&self.title));
        if self.description != Text::default() {
            out.key("description", text(&self.description));
        }
        if self.kind == TemplateKind::Site {
            out.values("ask", self.ask.iter().map(text));
            out.values("grants", self.grants.iter().map(grant));
            if let Some(accent) = &self.accent {
                out.key("accent", quoted(accent));
            }
            if let Some(logo) = &self.logo {
                out.key("logo", quoted(&logo.encoded()));
            }
            out.values("navigation", self.navigation.iter().map(link));
        }
        for list in &self.lists {
            out.0.push_str("\n[[lists]]\n");
            out.list(list);
        }
        if let Some(list) = &self.list {
            out.0.push_str("\n[list]\n");
            out.list(list);
        }
        out.0
    }
}

struct Out(String);

impl Out {
    fn key(&mut self, key: &str, value: String) {
        self.0.extend([key, " = ", &value, "\n"]);
    }

    /// Writes each value in a line of its own.
    fn values(&mut self, key: &str, values: impl ExactSizeIterator<Item = String>) {
        if values.len() == 0 {
            return;
        }
        self.0.extend([key, " = [\n"]);
        values.for_each(|value| self.0.extend(["    ", &value, ",\n"]));
        self.0.push_str("]\n");
    }

    fn list(&mut self, list: &ListTemplate) {
        self.key("name", text(&list.name));
        if let Some(template) = &list.template {
            self.key("template", quoted(template));
        }
        if list.holds == Holds::Rows {
            self.key("holds", quoted("rows"));
        }
        if let Some(versioning) = &list.versioning {
            self.key("versioning", quoted(versioning));
        }
        for (key, limit) in [("major_limit", list.major_limit), ("minor_limit", list.minor_limit)] {
            if let Some(limit) = limit {
                self.key(key, limit.to_string());
            }
        }
        let settings = [
            ("require_checkout", list.require_checkout),
            ("require_approval", list.require_approval),
            ("attachments", list.attachments),
        ];
        for (key, setting) in settings {
            if let Some(setting) = setting {
                self.key(key, setting.to_string());
            }
        }
        self.values("types", list.types.iter().map(text));
        self.values("columns", list.columns.iter().map(column));
        self.values("views", list.views.iter().map(view));
        self.values("rows", list.rows.iter().map(table));
        self.values("pages", list.pages.iter().map(page));
    }
}

/// Writes a text in quotation marks, on one line. It is valid as a key, too.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            c => escape(c, &mut out),
        }
    }
    out.push('"');
    out
}

/// Writes a character other than a quotation mark. A line end stays one.
fn escape(c: char, out: &mut String) {
    match c {
        '\\' => out.push_str("\\\\"),
        '\t' => out.push_str("\\t"),
        '\n' => out.push('\n'),
        // Nothing in a string that is written to can fail.
        c if c.is_control() => drop(write!(out, "\\u{:04X}", u32::from(c))),
        c => out.push(c),
    }
}

fn is_bare(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// Writes a table in one line.
fn inline<K: AsRef<str>>(entries: impl IntoIterator<Item = (K, String)>) -> String {
    let entry = |(key, value): (K, String)| match is_bare(key.as_ref()) {
        true => format!("{} = {value}", key.as_ref()),
        false => format!("{} = {value}", quoted(key.as_ref())),
    };
    format!("{{ {} }}", entries.into_iter().map(entry).collect::<Vec<_>>().join(", "))
}

/// Writes the entries of a table that are present.
fn present<const N: usize>(entries: [(&str, Option<String>); N]) -> String {
    inline(entries.into_iter().filter_map(|(key, value)| Some((key, value?))))
}

fn array(values: impl ExactSizeIterator<Item = String>) -> Option<String> {
    (values.len() > 0).then(|| format!("[{}]", values.collect::<Vec<_>>().join(", ")))
}

fn text(text: &Text) -> String {
    match text {
        Text::Same(text) => quoted(text),
        Text::Languages(texts) => inline(texts.iter().map(|(tag, text)| (tag, quoted(text)))),
    }
}

fn value(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Table(entries) => table(entries),
        Value::Array(values) => format!("[{}]", values.iter().map(self::value).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

fn table(entries: &toml::Table) -> String {
    inline(entries.iter().map(|(key, one)| (key, value(one))))
}

fn yes(set: bool) -> Option<String> {
    set.then(|| true.to_string())
}

fn page(page: &PageTemplate) -> String {
    let whole = match &page.text {
        Text::Same(text) => lines(text),
        Text::Languages(texts) => inline(texts.iter().map(|(tag, text)| (tag, lines(text)))),
    };
    present([("name", Some(text(&page.name))), ("home", yes(page.home)), ("text", Some(whole))])
}

/// Writes a text of several lines as it is read.
fn lines(text: &str) -> String {
    if !text.contains('\n') {
        return quoted(text);
    }
    let mut out = "\"\"\"\n".to_owned();
    let mut quotes = 0;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        quotes = if c == '"' { quotes + 1 } else { 0 };
        match c {
            // Three in a row, or one before the closing ones, would end the text.
            '"' if quotes % 3 == 0 || rest.peek().is_none() => out.push_str("\\\""),
            '"' => out.push('"'),
            c => escape(c, &mut out),
        }
    }
    out + "\"\"\""
}

fn grant(grant: &GrantTemplate) -> String {
    inline([("to", quoted(&grant.to)), ("role", quoted(&grant.role))])
}

fn link(link: &LinkTemplate) -> String {
    match link {
        LinkTemplate { list: Some(list), link: None, label: None } => quoted(list),
        LinkTemplate { list, link, label } => present([
            ("label", label.as_ref().map(text)),
            ("list", list.as_deref().map(quoted)),
            ("link", link.as_deref().map(quoted)),
        ]),
    }
}

fn column(column: &ColumnTemplate) -> String {
    present([
        ("name", Some(text(&column.name))),
        ("kind", Some(quoted(&column.kind))),
        ("required", yes(column.required)),
        ("multiple", yes(column.multiple)),
        ("choices", array(column.choices.iter().map(text))),
        ("list", column.list.as_deref().map(quoted)),
        ("role", column.role.as_deref().map(quoted)),
        ("type", column.content_type.as_deref().map(quoted)),
        ("formula", column.formula.as_deref().map(quoted)),
        ("default", column.default.as_deref().map(quoted)),
        ("check", column.check.as_deref().map(quoted)),
        ("message", column.message.as_ref().map(text)),
        ("unique", yes(column.unique)),
        ("description", column.description.as_ref().map(text)),
    ])
}

fn view(view: &ViewTemplate) -> String {
    let shown = |column: &ViewColumn| match column.width {
        None => quoted(&column.column),
        Some(width) => inline([("column", quoted(&column.column)), ("width", width.to_string())]),
    };
    let filter = view.filter.iter().map(|(name, value)| (name, quoted(value)));
    let totals = view.totals.iter().map(|(name, total)| (name, quoted(total)));
    present([
        ("name", Some(text(&view.name))),
        ("default", yes(view.default)),
        ("as", view.shape.as_deref().map(quoted)),
        ("columns", array(view.columns.iter().map(shown))),
        ("sort", view.sort.as_deref().map(quoted)),
        ("descending", yes(view.descending)),
        ("group", yes(view.group)),
        ("filter", (!view.filter.is_empty()).then(|| inline(filter))),
        ("condition", view.condition.as_deref().map(quoted)),
        ("totals", (!view.totals.is_empty()).then(|| inline(totals))),
    ])
}
