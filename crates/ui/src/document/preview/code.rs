//! Syntax highlighting: source text as lines of HTML, with comments, strings, numbers and keywords in spans. It only
//! knows families of languages. A supposed string may therefore not be one, but every character appears exactly once,
//! escaped.

use super::escape::escape;

/// A family of languages.
#[derive(Debug, PartialEq)]
pub struct Language {
    extensions: &'static [&'static str],
    /// Beginnings of comments that end at the end of the line.
    line: &'static [&'static str],
    /// Beginnings and ends of block comments.
    block: &'static [(&'static str, &'static str)],
    /// String delimiters, each with a flag for strings that may span lines.
    quotes: &'static [(&'static str, bool)],
    words: &'static [&'static str],
    /// True if keywords ignore case.
    caseless: bool,
}

const LANGUAGES: &[Language] = &[
    Language {
        extensions: &["rs"],
        line: &["//"],
        block: &[("/*", "*/")],
        quotes: &[("\"", true)],
        words: &[
            "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "false", "fn", "for",
            "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self", "Self",
            "static", "struct", "super", "trait", "true", "type", "unsafe", "use", "where", "while",
        ],
        caseless: false,
    },
    Language {
        extensions: &[
            "c", "h", "cc", "cpp", "hpp", "cs", "java", "kt", "kts", "go", "js", "mjs", "cjs", "jsx", "ts", "tsx",
            "swift", "scala", "php", "dart", "groovy", "gradle", "css", "scss", "less", "proto", "m", "zig",
        ],
        line: &["//"],
        block: &[("/*", "*/")],
        quotes: &[("\"", false), ("'", false), ("`", true)],
        words: &[
            "abstract",
            "as",
            "async",
            "await",
            "bool",
            "boolean",
            "break",
            "byte",
            "case",
            "catch",
            "char",
            "class",
            "const",
            "continue",
            "default",
            "defer",
            "delete",
            "do",
            "double",
            "else",
            "enum",
            "export",
            "extends",
            "false",
            "final",
            "finally",
            "float",
            "for",
            "from",
            "func",
            "function",
            "if",
            "implements",
            "import",
            "in",
            "int",
            "interface",
            "let",
            "long",
            "namespace",
            "new",
            "nil",
            "null",
            "of",
            "override",
            "package",
            "private",
            "protected",
            "public",
            "return",
            "short",
            "static",
            "struct",
            "super",
            "switch",
            "this",
            "throw",
            "throws",
            "true",
            "try",
            "type",
            "typeof",
            "undefined",
            "unsigned",
            "using",
            "val",
            "var",
            "void",
            "while",
            "yield",
        ],
        caseless: false,
    },
    Language {
        extensions: &["json", "jsonl", "ndjson", "geojson"],
        line: &[],
        block: &[],
        quotes: &[("\"", false)],
        words: &["true", "false", "null"],
        caseless: false,
    },
    Language {
        extensions: &["py", "pyi"],
        line: &["#"],
        block: &[],
        quotes: &[("\"\"\"", true), ("'''", true), ("\"", false), ("'", false)],
        words: &[
            "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
            "except", "False", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "None",
            "nonlocal", "not", "or", "pass", "raise", "return", "True", "try", "while", "with", "yield",
        ],
        caseless: false,
    },
    Language {
        extensions: &[
            "sh",
            "bash",
            "zsh",
            "rb",
            "pl",
            "r",
            "yaml",
            "yml",
            "toml",
            "conf",
            "cfg",
            "ini",
            "properties",
            "env",
            "tf",
            "mk",
            "ps1",
            "dockerfile",
            "gitignore",
        ],
        line: &["#"],
        block: &[],
        quotes: &[("\"", false), ("'", false)],
        words: &[
            "begin", "case", "def", "do", "done", "elif", "else", "elsif", "end", "esac", "export", "false", "fi",
            "for", "function", "if", "in", "local", "module", "my", "nil", "null", "off", "on", "require", "return",
            "sub", "then", "true", "unless", "until", "use", "while",
        ],
        caseless: false,
    },
    Language {
        extensions: &["sql"],
        line: &["--"],
        block: &[("/*", "*/")],
        quotes: &[("'", true), ("\"", false)],
        words: &[
            "add",
            "all",
            "alter",
            "and",
            "as",
            "asc",
            "begin",
            "between",
            "by",
            "case",
            "check",
            "commit",
            "constraint",
            "create",
            "default",
            "delete",
            "desc",
            "distinct",
            "drop",
            "else",
            "end",
            "exists",
            "foreign",
            "from",
            "group",
            "having",
            "in",
            "index",
            "inner",
            "insert",
            "into",
            "is",
            "join",
            "key",
            "left",
            "like",
            "limit",
            "not",
            "null",
            "on",
            "or",
            "order",
            "outer",
            "primary",
            "references",
            "returning",
            "right",
            "select",
            "set",
            "table",
            "then",
            "union",
            "unique",
            "update",
            "values",
            "view",
            "when",
            "where",
            "with",
        ],
        caseless: true,
    },
    Language {
        extensions: &["xml", "html", "htm", "xhtml", "svg", "xsl", "xsd", "rss", "vue"],
        line: &[],
        block: &[("<!--", "-->")],
        quotes: &[("\"", false)],
        words: &[],
        caseless: false,
    },
];

/// Returns the family of languages for this extension, in lower case.
pub fn of(extension: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|language| language.extensions.contains(&extension))
}

/// Returns the class and the length of the token at the beginning of the text. The length in bytes is never 0.
fn token(language: &Language, text: &str, in_word: bool) -> (&'static str, usize) {
    let line = || text.find('\n').unwrap_or(text.len());
    if language.line.iter().any(|mark| text.starts_with(mark)) {
        return ("c", line());
    }
    if let Some((begin, end)) = language.block.iter().find(|(begin, _)| text.starts_with(begin)) {
        let rest = &text[begin.len()..];
        return ("c", rest.find(end).map_or(text.len(), |at| begin.len() + at + end.len()));
    }
    for (quote, over_lines) in language.quotes.iter().filter(|(quote, _)| text.starts_with(quote)) {
        if let Some(length) = string(text, quote, *over_lines) {
            return ("s", length);
        }
    }
    let first = text.chars().next().unwrap_or('\n');
    if first.is_ascii_digit() && !in_word {
        let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '_').unwrap_or(text.len());
        return ("n", end);
    }
    if first.is_alphabetic() || first == '_' {
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
        let word = &text[..end];
        let known = |other: &&str| if language.caseless { other.eq_ignore_ascii_case(word) } else { *other == word };
        return (if language.words.iter().any(known) { "k" } else { "" }, end);
    }
    ("", first.len_utf8())
}

/// Returns the length of a string that begins with `quote`. `None` when it is unterminated, or not terminated within
/// its line although it must be.
fn string(text: &str, quote: &str, over_lines: bool) -> Option<usize> {
    let mut at = quote.len();
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with(quote) {
            return Some(at + quote.len());
        }
        let mut characters = rest.chars();
        let first = characters.next()?;
        if first == '\n' && !over_lines {
            return None;
        }
        at += first.len_utf8();
        if first == '\\' {
            at += characters.next().map_or(0, char::len_utf8);
        }
    }
    None
}

/// Line length in bytes beyond which a text is taken to be generated and is not highlighted.
const LONGEST_LINE: usize = 5_000;
/// Limit on unterminated quotes per line or per text. Each of them costs a scan of all that follows.
const MOST_UNCLOSED: usize = 16;

/// Returns the lines of a text as HTML.
pub fn lines(text: &str, language: Option<&Language>) -> Vec<String> {
    let mut lines = vec![String::new()];
    let Some(language) = language.filter(|_| text.lines().all(|line| line.len() <= LONGEST_LINE)) else {
        add(text, "", &mut lines);
        return lines;
    };
    let (mut rest, mut in_word) = (text, false);
    let (mut unclosed, mut unclosed_in_line) = (0, 0);
    while !rest.is_empty() {
        let quote = language.quotes.iter().find(|(quote, _)| rest.starts_with(quote));
        let hopeless = quote.is_some_and(|(_, over)| if *over { unclosed } else { unclosed_in_line } >= MOST_UNCLOSED);
        let (class, length) = if hopeless { ("", 1) } else { token(language, rest, in_word) };
        match quote {
            Some((_, true)) if class != "s" => unclosed += 1,
            Some((_, false)) if class != "s" => unclosed_in_line += 1,
            _ => {}
        }
        let (piece, after) = rest.split_at(length);
        if piece.contains('\n') {
            unclosed_in_line = 0;
        }
        add(piece, class, &mut lines);
        in_word = piece.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        rest = after;
    }
    lines
}

/// Appends a piece, which may span lines.
fn add(piece: &str, class: &str, lines: &mut Vec<String>) {
    for (index, part) in piece.split('\n').enumerate() {
        if index > 0 {
            lines.push(String::new());
        }
        let Some(line) = lines.last_mut().filter(|_| !part.is_empty()) else { continue };
        if class.is_empty() {
            escape(part, line);
        } else {
            line.push_str("<span class=\"");
            line.push_str(class);
            line.push_str("\">");
            escape(part, line);
            line.push_str("</span>");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(extension: &str, text: &str) -> String {
        lines(text, of(extension)).join("\n")
    }

    #[test]
    fn pieces_of_code_have_classes() {
        let span = |class: &str, text: &str| format!("<span class=\"{class}\">{text}</span>");
        assert_eq!(
            shown("rs", "let x1 = 12; // <y>"),
            format!("{} x1 = {}; {}", span("k", "let"), span("n", "12"), span("c", "// &#60;y&#62;"))
        );
        let quoted = "&#34;a \\&#34;b&#34;";
        assert_eq!(shown("json", r#"{"a \"b": true}"#), format!("{{{}: {}}}", span("s", quoted), span("k", "true")));
        assert_eq!(shown("c", "/* a\nb */ x"), format!("{}\n{} x", span("c", "/* a"), span("c", "b */")));
        assert_eq!(shown("sql", "Select 1"), format!("{} {}", span("k", "Select"), span("n", "1")));
        assert_eq!(shown("rs", "fn f<'a>() {}"), format!("{} f&#60;&#39;a&#62;() {{}}", span("k", "fn")));
    }

    #[test]
    fn every_character_is_there_once_and_escaped() {
        let text = "<b>\"'`/*\n#--ä\\\u{202e}<!-- 1x_ é\"\"\" '''\\";
        for language in LANGUAGES {
            let markup = lines(text, Some(language)).join("\n");
            let mut plain = String::new();
            for (index, part) in markup.split('<').enumerate() {
                let part = if index == 0 { part } else { part.split_once('>').unwrap().1 };
                plain.push_str(part);
            }
            for (code, character) in [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&")] {
                plain = plain.replace(code, character);
            }
            assert_eq!(plain, text, "{language:?}");
        }
    }

    #[test]
    fn hostile_text_costs_no_more_than_other_text() {
        let begun = std::time::Instant::now();
        let short = |text: &str| format!("{text}\n").repeat((256 << 10) / (text.len() + 1));
        let long = "\"\\".repeat(2_000);
        for hostile in
            [long.repeat(50), short(&long), short(&"`'\"".repeat(1_000)), short("\"\"\"'''"), short("`"), short("/*")]
        {
            for language in LANGUAGES {
                lines(&hostile, Some(language));
            }
        }
        // A quadratic algorithm would take many minutes, a linear one takes seconds, however busy the machine.
        assert!(begun.elapsed().as_secs() < 100, "{:?}", begun.elapsed());
    }
}
