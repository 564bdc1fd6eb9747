//! Tests of the format: what is refused with which reason, and that what is written reads back.

use model::Code;

use super::*;

const LIST: &str = "format = 1\nkind = \"list\"\nname = \"x\"\ntitle = \"X\"\n[list]\nname = \"X\"\nholds = \"rows\"\n";
const SITE: &str = "format = 1\nkind = \"site\"\nname = \"x\"\ntitle = \"X\"\n";
const TITLE: &str = "{ name = \"T\", kind = \"text\", role = \"title\" }";

fn reason(text: &str) -> String {
    let error = Template::parse(text).unwrap_err();
    assert_eq!(error.code(), Code::InvalidTemplate, "{text}");
    error.named()[0].clone()
}

fn list(rest: &str) -> String {
    format!("{LIST}{rest}")
}

fn columns(more: &str) -> String {
    list(&format!("columns = [{TITLE}, {more}]\n"))
}

#[test]
fn the_golden_file_reads_and_writes_back() {
    let golden = include_str!("golden.toml");
    let template = Template::parse(golden).unwrap();
    assert_eq!(template.write(), golden);
    assert_eq!(Template::parse(&template.write()).unwrap(), template);
}

#[test]
fn unknown_keys_are_refused_with_their_line() {
    for (text, line, key) in [
        (format!("{SITE}workflow = \"x\"\n"), 5, "workflow"),
        (format!("{SITE}[[lists]]\nname = \"A\"\n\n[[lists]]\nname = \"B\"\nformula = 1\n"), 10, "formula"),
        (
            list(&format!("columns = [\n{TITLE},\n{{ name = \"A\", kind = \"text\", pattern = \"x\" }},\n]\n")),
            10,
            "pattern",
        ),
        (list("views = [{ name = \"A\", filtre = {} }]\n"), 8, "filtre"),
        (list("views = [{ name = \"A\", columns = [{ column = \"T\", wide = 1 }] }]\n"), 8, "wide"),
        (format!("{SITE}navigation = [\n\"A\",\n{{ to = \"A\" }}]\n"), 7, "to"),
        (format!("{SITE}grants = [{{ to = \"a\", role = \"b\", until = 3 }}]\n"), 5, "until"),
        (format!("{SITE}description = {{ en = \"x\", english = \"y\" }}\n"), 5, "english"),
    ] {
        let reason = reason(&text);
        assert!(reason.contains(&format!("line {line}")) && reason.contains(&format!("`{key}`")), "{reason}\n{text}");
    }
}

#[test]
fn formulas_that_cannot_be_used_are_refused() {
    for (column, why) in [
        ("{ name = \"A\", kind = \"number\", formula = \"[B] + 1\" }", "\"B\""),
        ("{ name = \"A\", kind = \"number\", formula = \"[A] + 1\" }", "[A]"),
        ("{ name = \"A\", kind = \"date\", formula = \"today()\" }", "today"),
        ("{ name = \"A\", kind = \"number\", formula = \"1\", required = true }", "required"),
        ("{ name = \"A\", kind = \"choice\", choices = [\"a\"], default = '\"b\"' }", "choices"),
        ("{ name = \"A\", kind = \"number\", check = \"[T]\" }", "yes-no"),
        ("{ name = \"A\", kind = \"number\", message = \"m\" }", "check"),
    ] {
        let reason = reason(&columns(column));
        assert!(["\"A\"", "[A]"].iter().any(|name| reason.contains(name)) && reason.contains(why), "{reason}");
    }
    let row = format!(
        "columns = [{TITLE}, {{ name = \"A\", kind = \"number\", formula = \"1\" }}]\nrows = [{{ T = \"t\", A = 2 }}]\n"
    );
    assert!(reason(&list(&row)).contains("calculated"));
    let translated = "{ name = \"A\", kind = \"choice\", choices = [{ de = \"x\", en = \"y\" }], default = '\"y\"' }";
    assert!(Template::parse(&columns(translated)).is_ok());
}

#[test]
fn many_languages_are_refused_and_many_formulas_are_checked_soon() {
    let tags: Vec<String> =
        (0..41_u8).map(|n| format!("{}{} = \"x\"", char::from(b'a' + n / 26), char::from(b'a' + n % 26))).collect();
    let texts = tags.join(", ");
    let column = format!("{{ name = \"A\", kind = \"number\", description = {{ en = \"x\", {texts} }} }}");
    assert!(reason(&columns(&column)).contains("languages"));
    let many: Vec<String> = (0..199)
        .map(|n| format!("{{ name = \"A{n}\", kind = \"number\", formula = \"[A{}] + 1\" }}", n + 1))
        .chain(["{ name = \"A199\", kind = \"number\" }".to_owned()])
        .collect();
    assert!(reason(&columns(&many.join(", "))).contains("at most 200"));
    assert!(Template::parse(&columns(&many[1..].join(", "))).is_ok());
}

#[test]
fn other_formats_are_refused_before_their_keys() {
    assert!(reason("format = 2\nfuture = true\n").contains("format 1 only"));
    assert!(reason("format = \"1\"\n").contains("format 1 only"));
    assert!(reason("kind = \"site\"\n").contains("no `format`"));
    assert!(reason("format = 1\nformat = 1\n").contains("line 2"));
    assert!(reason("").contains("no `format`"));
    assert!(reason("\u{0}").contains("line 1"));
}

#[test]
fn templates_that_cannot_be_meant_are_refused() {
    let site = |rest: &str| format!("{SITE}{rest}");
    let deep = format!("{SITE}description = {}", "[".repeat(200_000));
    for (text, part) in [
        (SITE.replace("name = \"x\"", "name = \"../x\""), "name"),
        (SITE.replace("name = \"x\"", "name = \"X\""), "name"),
        (SITE.replace("title = \"X\"", "title = \"\""), "title"),
        (SITE.replace("title = \"X\"", "title = \"a\\nb\""), "title"),
        (SITE.replace("title = \"X\"", "title = {}"), "language"),
        (site("accent = \"pink\"\n"), "accent"),
        (site("logo = \"%\"\n"), "no Base64"),
        (site("logo = \"AAAA\"\n"), "neither PNG nor JPEG"),
        (site("[list]\nname = \"X\"\n"), "write `lists`"),
        (LIST.replace("[list]", "accent = \"blue\"\n[list]"), "none of lists"),
        ("format = 1\nkind = \"list\"\nname = \"x\"\ntitle = \"X\"\n".into(), "no table `list`"),
        (list(""), "role = \\\"title\\\""),
        (list(&format!("columns = [{TITLE}]\ntemplate = \"tasks\"\n")), "no `template` itself"),
        (list("template = \"x\"\n"), "no `template` itself"),
        (site("[[lists]]\nname = \"A\"\ntemplate = \"tasks\"\nversioning = \"none\"\n"), "nothing else"),
        (site("[[lists]]\nname = \"A\"\ntemplate = \"a b\"\n"), "cannot be the name"),
        (site("[[lists]]\nname = \"A\"\n[[lists]]\nname = \"a\"\n"), "two of list"),
        (
            site("[[lists]]\nname = { en = \"A\", de = \"C\" }\n[[lists]]\nname = { en = \"B\", de = \"C\" }\n"),
            "two of",
        ),
        (site("[[lists]]\nname = \"a/b\"\n"), "slash"),
        (site("[[lists]]\nname = \"..\"\n"), "special"),
        (site("[[lists]]\nname = \"a\\u0000\"\n"), "control"),
        (site(&format!("[[lists]]\nname = \"{}\"\n", "x".repeat(256))), "longer"),
        (site("[[lists]]\nname = \"A\"\nrows = [{ T = \"x\" }]\n"), "no rows"),
        (site(&format!("[[lists]]\nname = \"A\"\ncolumns = [{TITLE}]\n")), "library"),
        (site("navigation = [\"A\"]\n"), "no list of it"),
        (site("navigation = [{ link = \"/browse\" }]\n"), "no label"),
        (site("navigation = [{ label = \"x\" }]\n"), "either"),
        (site("navigation = [{ label = \"x\", link = \"javascript:alert(1)\" }]\n"), "begins with"),
        (site("navigation = [{ label = \"x\", link = \"//evil.example\" }]\n"), "begins with"),
        (site("navigation = [{ label = \"x\", link = \"/\\\\evil.example\" }]\n"), "begins with"),
        (site("grants = [{ to = \"owners\", role = \"Read\" }]\n"), "not in ask"),
        (site("ask = [\"a\"]\ngrants = [{ to = \"a\", role = \"x\" }, { to = \"a\", role = \"X\" }]\n"), "twice"),
        (site("ask = [\"a\", \"A\"]\n"), "two of"),
        (list("versioning = \"major-minor\"\n"), "drafts"),
        (list("versioning = \"always\"\n"), "versioning"),
        (site("[[lists]]\nname = \"A\"\nattachments = true\n"), "only the rows"),
        (list("major_limit = 50001\n"), "50000"),
        (list("types = [\"A\"]\n"), "content types"),
        (columns("{ name = \"A\", kind = \"formula\" }"), "kind of a column"),
        (columns("{ name = \"A\", kind = \"choice\" }"), "choice"),
        (columns("{ name = \"A\", kind = \"choice\", choices = [\"a\", \"a\"] }"), "two of choice"),
        (columns("{ name = \"A\", kind = \"number\", choices = [\"a\"] }"), "only a choice column"),
        (columns("{ name = \"t\", kind = \"number\" }"), "two of column"),
        (columns("{ name = \"Modified\", kind = \"date\" }"), "already"),
        (columns("{ name = \"A\", kind = \"text\", role = \"due\" }"), "role"),
        (columns("{ name = \"A\", kind = \"date\", role = \"title\" }"), "text column"),
        (columns("{ name = \"A\", kind = \"text\", role = \"title\" }"), "exactly one"),
        (columns("{ name = \"A\", kind = \"text\", type = \"B\" }"), "not in `types`"),
        (columns("]\nviews = [{ name = \"V\", sort = \"B\" }"), "sorted"),
        (columns("]\nviews = [{ name = \"V\", sort = \"version\" }"), "sorted"),
        (columns("]\nviews = [{ name = \"V\", group = true }"), "column to sort"),
        (columns("]\nviews = [{ name = \"V\", columns = [\"B\"] }"), "no column"),
        (columns("]\nviews = [{ name = \"V\", columns = [\"T\", \"T\"] }"), "twice"),
        (columns("]\nviews = [{ name = \"V\", columns = [{ column = \"T\", width = 1 }] }"), "width"),
        (columns("]\nviews = [{ name = \"V\", filter = { B = \"x\" } }"), "limited"),
        (columns("]\nviews = [{ name = \"V\", as = \"board\" }"), "shown as"),
        (columns("]\nviews = [{ name = \"V\" }, { name = \"v\" }"), "two of view"),
        (columns("]\nviews = [{ name = \"V\", default = true }, { name = \"W\", default = true }"), "default"),
        (
            columns("{ name = \"P\", kind = \"person\" }]\nviews = [{ name = \"V\", filter = { P = \"ann\" } }"),
            "people",
        ),
        (columns("]\nrows = [{ T = 1 }"), "fit"),
        (columns("]\nrows = [{ B = \"x\", T = \"x\" }"), "no column"),
        (columns("]\nrows = [{ }"), "needs a value"),
        (columns("{ name = \"P\", kind = \"person\" }]\nrows = [{ T = \"x\", P = \"ann\" }"), "people"),
        (format!("{SITE}{}", "#".repeat(MAX_TEMPLATE_BYTES)), "larger than 1 MiB"),
        (deep, "line 5"),
    ] {
        let reason = reason(&text);
        let shown: String = text.chars().take(400).collect();
        assert!(reason.contains(&part.replace("\\\"", "\"")), "{reason:?} lacks {part:?}\n{shown}");
        assert!(reason.chars().count() < 700, "{reason}");
    }
}

#[test]
fn limits_hold() {
    let many = |count: usize, one: &dyn Fn(usize) -> String| (0..count).map(one).collect::<Vec<_>>().join(", ");
    let text = |count| columns(&many(count, &|i| format!("{{ name = \"C{i}\", kind = \"text\" }}")));
    assert!(Template::parse(&text(199)).is_ok());
    assert!(reason(&text(200)).contains("201 columns"));
    assert!(reason(&text(10_000)).contains("10001 columns"));
    let rows = |count| columns(&format!("]\nrows = [{}", many(count, &|i| format!("{{ T = \"{i}\" }}"))));
    assert!(Template::parse(&rows(200)).is_ok());
    assert!(reason(&rows(201)).contains("201 rows"));
    let lists =
        |count| SITE.to_owned() + &(0..count).map(|i| format!("[[lists]]\nname = \"L{i}\"\n")).collect::<String>();
    assert!(Template::parse(&lists(50)).is_ok());
    assert!(reason(&lists(51)).contains("51 lists"));
    let full = format!("{SITE}{}", "#".repeat(MAX_TEMPLATE_BYTES - SITE.len()));
    assert!(Template::parse(&full).is_ok());
    assert!(reason(&format!("{full}#")).contains("larger"));
    let long = columns(&format!("]\nrows = [{{ T = \"{}\" }}", "x".repeat(10_001)));
    assert!(reason(&long).contains("longer than 10000"), "{}", reason(&long));
}

#[test]
fn hostile_texts_are_written_and_read_back() {
    let hostile = ["a\"b", "a\\b", "'''", "\"\"\"", "\u{202e}x", "a = 1 # b", "[x]", "ä\u{301}", "{ }", "a\n\tb"];
    for text in hostile {
        let mut template = Template::parse(&columns("{ name = \"N\", kind = \"note\" }")).unwrap();
        let list = template.list.as_mut().unwrap();
        let mut row = toml::Table::new();
        let line = if text.contains('\n') { "x" } else { text };
        row.insert("T".to_owned(), toml::Value::String(line.to_owned()));
        row.insert(
            "N".to_owned(),
            toml::Value::Table([("de".to_owned(), text.into()), ("en".to_owned(), "x".into())].into_iter().collect()),
        );
        list.rows.push(row);
        if model::Name::new(text).is_ok() {
            list.columns[1].name = Text::Same(text.to_owned());
            let note = list.rows[0].remove("N").unwrap();
            list.rows[0].insert(text.to_owned(), note);
            list.views.push(ViewTemplate {
                name: Text::Same(text.to_owned()),
                filter: [(text.to_owned(), text.to_owned())].into(),
                ..ViewTemplate::default()
            });
        }
        let written = template.write();
        assert_eq!(Template::parse(&written).unwrap(), template, "{written}");
    }
}
