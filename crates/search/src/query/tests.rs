//! Tests of the query language as a whole.

use model::{ColumnKind, Timestamp, Zone};
use time::OffsetDateTime;

use super::*;

/// 2026-11-26, a Thursday.
const NOW: Timestamp = Timestamp::from_micros(1_795_730_400_000_000);

fn shown(text: &str) -> String {
    shown_with(text, &KnownColumns::default())
}

fn shown_with(text: &str, columns: &KnownColumns) -> String {
    let query = SearchQuery::parse_with(text, NOW, &Zone::UTC, columns);
    let mut shown = query.expression.as_ref().map_or_else(String::new, show);
    for remark in &query.remarks {
        shown += &format!(" !{}", remark.reason.code());
    }
    shown
}

fn show(expression: &Expression) -> String {
    let joined = |parts: &[Expression], sign| parts.iter().map(show).collect::<Vec<_>>().join(sign);
    match expression {
        Expression::Everything => "*".to_owned(),
        Expression::All(parts) => format!("({})", joined(parts, " & ")),
        Expression::Any(parts) => format!("({})", joined(parts, " | ")),
        Expression::Not(part) => format!("-{}", show(part)),
        Expression::Words(field, sought) => {
            let field = match field {
                WordField::All => String::new(),
                field => format!("{field:?}:"),
            };
            let words = sought.words().iter().map(|word| word.folded.as_str()).collect::<Vec<_>>().join(" ");
            let sought = match sought {
                Sought::Word(_) => words,
                Sought::Prefix(prefix) => format!("{}*", prefix.folded),
                Sought::Phrase { gap: 0, .. } => format!("[{words}]"),
                Sought::Phrase { gap, .. } => format!("[{words}]~{gap}"),
                Sought::Part(part) => format!("*{part}*"),
                Sought::Ending(ending) => format!("*{}", ending.folded),
            };
            field + &sought
        }
        Expression::Filter(filter) => match filter {
            Filter::Extension(extensions) => format!("type:{}", extensions.join(",")),
            Filter::Size(size) => format!("size:{}..{}", size.start, size.end),
            Filter::Created(time) => format!("created:{}..{}", day(time.start), day(time.end)),
            Filter::Modified(time) => format!("modified:{}..{}", day(time.start), day(time.end)),
            Filter::Column(condition) => {
                let ColumnCondition { name, is_any, words, numbers, times, answer, person, .. } = condition;
                let words = words.as_deref().map(show);
                let numbers = numbers.as_ref().map(|keys| format!("{}", keys.end.saturating_sub(keys.start)));
                let times = times.as_ref().map(|time| format!("{}..{}", day(time.start), day(time.end)));
                format!("{name}={is_any} {words:?} {numbers:?} {times:?} {answer:?} {person:?}")
                    .replace("None", "-")
                    .replace("Some", "")
            }
            Filter::Reference(reference) => format!("{:?}:{}", reference.kind, reference.name),
            other => format!("{other:?}"),
        },
    }
}

fn day(at: Timestamp) -> String {
    match at.micros() {
        i64::MIN | i64::MAX => String::new(),
        _ => OffsetDateTime::from_unix_timestamp(at.seconds()).unwrap().date().to_string(),
    }
}

#[test]
fn words_and_phrases_are_told_apart() {
    assert_eq!(shown("  Größe der  ROHRE "), "(grosse & der & rohre)");
    assert_eq!(shown("a \"b c\" d"), "(a & [b c] & d)");
    assert_eq!(shown("RE-2026-0815 x"), "([re 2026 0815] & x)");
    assert_eq!(shown("„Über uns“ team"), "([uber uns] & team)");
    assert_eq!(shown("\"a b\"~3"), "[a b]~3");
    assert_eq!(shown("a a \"a\""), "a");
    assert_eq!(shown("\"\" ... \u{0}"), "");
    assert_eq!(shown("vertrag* 东 *"), "(vertrag* & 东 & *)");
    assert_eq!(shown("re-2026*"), "(re & 2026*)");
    assert_eq!(shown("*Bericht* *plan name:*2026-0*"), "(Name:*bericht* & Name:*plan & Name:*2026-0*)");
}

#[test]
fn spellings_of_umlauts_are_alternatives() {
    let spellings = |text: &str| QueryWord::all_of(text).pop().unwrap().spellings().cloned().collect::<Vec<_>>();
    assert_eq!(spellings("Größe"), ["grosse", "groesse"]);
    assert_eq!(spellings("groesse"), ["groesse", "grosse"]);
    assert_eq!(spellings("rohr"), ["rohr"]);
}

#[test]
fn operators_and_parentheses_are_read() {
    assert_eq!(shown("a OR b c"), "(a | (b & c))");
    assert_eq!(shown("a AND (b ODER c) NICHT d"), "(a & (b | c) & -d)");
    assert_eq!(shown("a -b -\"c d\" -(e | f)"), "(a & -b & -[c d] & -(e | f))");
    assert_eq!(shown("NOT NOT a"), "a");
    assert_eq!(shown("NOT NOT NOT a"), "-a");
    assert_eq!(shown("a and b or not c"), "(a & and & b & or & not & c)", "operators are capital");
    assert_eq!(shown("((a))"), "a");
}

#[test]
fn filters_are_read() {
    assert_eq!(shown("type:pdf"), "type:pdf");
    assert_eq!(shown("Typ:PDF,docx"), "(type:pdf | type:docx)");
    assert_eq!(shown("type:text ext:.text"), "(type:txt,md,log & type:text)");
    assert_eq!(shown("size:1,5MB"), "size:1572864..1677721");
    assert_eq!(shown("size<=1KB"), "size:0..1025");
    assert_eq!(shown("creator:anna"), "Creator:anna");
    assert_eq!(shown("name<plan type>pdf"), "([name plan] & [type pdf])", "words have no order");
    assert_eq!(shown("type:(pdf OR docx) x"), "((type:pdf | type:docx) & x)");
    assert_eq!(shown("type:E-Mail"), "type:eml,msg");
    assert_eq!(shown("type:row \"list item\" Typ:Zeile"), "(type:/row & [list item])", "the same filter counts once");
    assert_eq!(shown("type:\"list item\" ext:row"), "(type:/row & type:row)");
    assert_eq!(shown("author:\"Anna Berg\" -author:me"), "(Author:Anna Berg & -Author:me)");
    assert_eq!(shown("in:Documents/Reports site:Sales"), "(Container:Documents/Reports & Site:Sales)");
    assert_eq!(shown("size>10MB"), "size:10485761..18446744073709551615");
    assert_eq!(shown("size:>=1KB size<2KB"), "(size:1024..18446744073709551615 & size:0..2048)");
    assert_eq!(shown("size:1KB..2KB"), "size:1024..3072");
    assert_eq!(shown("size > 10MB plan"), "(size:10485761..18446744073709551615 & plan)");
    assert_eq!(shown("size >10MB"), "size:10485761..18446744073709551615");
    assert_eq!(shown("size>1.5 MB plan"), "(size:1572865..18446744073709551615 & plan)");
    assert_eq!(shown("size < 2 GiB"), "size:0..2147483648");
    assert_eq!(shown("size plan > report"), "(size & plan & report)", "no comparison follows the name");
    assert_eq!(shown("modified:last-week"), "modified:2026-11-16..2026-11-23");
    assert_eq!(shown("geändert:\"letzte 7 Tage\""), "modified:2026-11-20..2026-11-27");
    assert_eq!(shown("created:2024..2025"), "created:2024-01-01..2026-01-01");
    assert_eq!(shown("created>=2024-05 created:..2024-06"), "(created:2024-05-01.. & created:..2024-07-01)");
    assert_eq!(shown("title:\"annual report\" name:plan"), "(Title:[annual report] & Name:plan)");
    assert_eq!(shown("http://example.com/a"), "[http example com a]", "no field has this name");
    assert_eq!(shown("12:30"), "[12 30]");
}

#[test]
fn columns_are_fields_if_they_are_known() {
    let mut columns = KnownColumns::default();
    for (name, kind) in [
        ("status", ColumnKind::Text),
        ("gültig bis", ColumnKind::Date),
        ("betrag", ColumnKind::Number),
        ("leiter", ColumnKind::Person),
        ("offen", ColumnKind::YesNo),
        ("typ", ColumnKind::Text),
    ] {
        columns.add(name, &kind);
    }
    let shown = |text: &str| shown_with(text, &columns);
    assert_eq!(shown("Status:open x"), r#"(status=false ("open") - - - - & x)"#);
    assert_eq!(
        shown("status:(open \"not yet\")"),
        r#"(status=false ("open") - - - - | status=false ("[not yet]") - - - -)"#
    );
    assert_eq!(shown("status:*"), "status=true - - - - -");
    assert_eq!(shown("\"Gültig bis\"<2026"), r#"gültig bis=false - - ("..2026-01-01") - -"#);
    assert_eq!(
        shown("\"Gültig bis\": 2026-05 -betrag:5"),
        format!("(gültig bis=false - - (\"2026-05-01..2026-06-01\") - - & -{})", "betrag=false - (\"1\") - - -")
    );
    assert!(shown("betrag:1..2,5").starts_with("betrag=false - (\""), "a comma separates decimals");
    assert_eq!(shown("leiter:\"Anna Berg\""), r#"leiter=false - - - - ("Anna Berg")"#);
    assert_eq!(shown("offen:ja"), "offen=false - - - (true) -");
    assert_eq!(shown("typ:pdf"), "type:pdf", "fields of all documents come first");
    assert_eq!(shown("\"typ\":pdf"), r#"typ=false ("pdf") - - - -"#);
    assert_eq!(shown("a betrag:viel \"gültig bis\":nie offen:x"), "a !no_value !no_date !no_value");
    assert_eq!(shown("status<open"), "[status open]", "texts have no order");
    assert_eq!(shown("other:open \"a b\":c"), "([other open] & [a b] & c) !unknown_filter", "no column has it");
    let names = |text: &str| SearchQuery::possible_columns(text);
    assert_eq!(names("a type:pdf Status:x \"Gültig Bis\">1 \"b\" :c status:y"), ["status", "gültig bis"]);
    assert_eq!(names(&"x".repeat(300)).len() + names(&format!("{}:a", "x".repeat(300))).len(), 0);
    let parts = SearchQuery::filter_parts("plan \"Gültig bis\":2026 status: open", &columns);
    let values: Vec<_> = parts.into_iter().map(|part| part.value).collect();
    assert_eq!(values, ["2026", "open"]);
    assert_eq!(shown("betrag > 5 plan"), format!("({} & plan)", shown("betrag>5")));
    assert_eq!(names("Betrag > 5, \"b\" c"), ["betrag"]);
    for query in ["plan size:10 MB", "plan size> 10 MB", "plan size > 10MB", "plan betrag > 5"] {
        let parts = SearchQuery::filter_parts(query, &columns);
        assert_eq!(parts.len(), 1, "{query}");
        assert_eq!(SearchQuery::without(query, &parts[0].range), "plan", "{query}");
    }
}

#[test]
fn a_document_has_a_language_and_is_something_to_the_caller() {
    assert_eq!(shown("lang:de -Sprache:english"), "(Language(German) & -Language(English))");
    assert_eq!(shown("is:draft,mine"), "(Status(Draft) | Status(Mine))");
    assert_eq!(shown("ist:ausgecheckt -is:followed"), "(Status(CheckedOut) & -Status(Followed))");
    assert_eq!(shown("a is:lost lang:xx"), "a !no_value !no_value");
}

#[test]
fn mistakes_are_read_leniently_and_remarked_on() {
    assert_eq!(shown("a \"b c"), "(a & [b c]) !unclosed_phrase");
    assert_eq!(shown("(a b"), "(a & b) !unmatched_parenthesis");
    assert_eq!(shown("a) b"), "(a & b) !unmatched_parenthesis");
    assert_eq!(shown("a OR"), "a !lone_operator");
    assert_eq!(shown("AND a"), "a !lone_operator");
    assert_eq!(shown("OR"), "or !lone_operator");
    assert_eq!(shown("a NOT"), "a !lone_operator");
    assert_eq!(shown("ab*"), "ab !short_prefix");
    assert_eq!(shown("*ab a*b"), "(ab & [a b]) !short_prefix !short_prefix");
    assert_eq!(shown("**"), "");
    assert_eq!(shown("a modified:never"), "a !no_date");
    assert_eq!(shown("a size:large"), "a !no_size");
    assert_eq!(shown("a type:"), "a !no_value");
    assert_eq!(shown("type:(-pdf) type:(NOT pdf)"), "type:pdf !no_value !no_value");
    assert_eq!(shown("author:\"Anna b"), "Author:Anna b !unclosed_phrase");
    assert_eq!(shown("size>1KB..2KB created:2025..2024"), " !no_size !no_date");
    assert_eq!(shown("a AND OR b"), "(a & b) !lone_operator !lone_operator");
    assert_eq!(shown("NOT OR a"), "a !lone_operator !lone_operator");
    assert_eq!(shown("\"a b\"~"), "[a b]");
    assert_eq!(shown(&"abc* ".repeat(2)), "abc*");
    assert_eq!(shown("author:)a"), "a !no_value !unmatched_parenthesis");
    assert_eq!(shown("type:(pdf"), "type:pdf !unmatched_parenthesis");
}

#[test]
fn remarks_name_the_part_that_they_are_about() {
    for (query, part) in [
        ("a name:x*東", "x*東"),
        ("nàme:bb*", "bb*"),
        ("a type:pdf,-,x", "-"),
        ("size>(1 2 large)", "large"),
        ("b from:anna", "from"),
    ] {
        let remarks = SearchQuery::parse(query, NOW).remarks;
        assert_eq!(remarks.iter().map(|remark| remark.text.as_str()).collect::<Vec<_>>(), [part], "{query}");
        assert_eq!(&query[remarks[0].range.clone()], part);
    }
}

#[test]
fn addresses_times_and_paths_name_no_filter() {
    for query in ["http://example.com", "12:30", "std::vec", "C:\\x", "mailto: anna", "a: b", "Betreff: Mahnung"] {
        assert_eq!(SearchQuery::parse(query, NOW).remarks, [], "{query}");
    }
}

#[test]
fn a_filter_narrows_any_query() {
    assert_eq!(SearchQuery::narrowed("a b", "type:pdf"), "a b type:pdf");
    for text in ["a OR b", "a \"b", "a NOT", "(a", "a) b"] {
        let narrowed = SearchQuery::narrowed(text, "type:pdf");
        let Some(Expression::All(parts)) = SearchQuery::parse(&narrowed, NOW).expression else { panic!("{narrowed}") };
        assert_eq!(show(parts.last().unwrap()), "type:pdf", "{narrowed}");
    }
}

#[test]
fn only_words_and_phrases_are_plain() {
    for plain in ["a", "a b", "\"a b\" c", "RE-2026", "12:30", ""] {
        assert!(SearchQuery::parse(plain, NOW).is_plain, "{plain}");
    }
    for other in ["a AND b", "(a)", "text:a", "-a", "NOT a", "abc*", "*", "a OR b", "type:pdf"] {
        assert!(!SearchQuery::parse(other, NOW).is_plain, "{other}");
    }
}

#[test]
fn a_query_is_bounded() {
    let words =
        |text: &str| SearchQuery::parse(text, NOW).sought().iter().map(|(_, it)| it.words().len()).sum::<usize>();
    assert_eq!(words(&"a ".repeat(1_000)), 1);
    assert_eq!(words(&"a-".repeat(1_000)), limits::MAX_WORDS);
    assert_eq!(shown(&format!("{}a{}", "(".repeat(40), ")".repeat(40))), "a");
    assert!(shown(&format!("{}a", "(".repeat(1_000))).starts_with(" !too_much"));
    assert!(shown(&format!("{}a", "-(".repeat(1_000))).contains("!too_much"));
    assert!(shown(&"NOT ".repeat(1_000)).contains("too_much"));
    assert!(shown(&"x".repeat(1 << 20)).contains("too_much"));
    assert!(SearchQuery::parse(&"type: ".repeat(10_000), NOW).remarks.len() <= 10);
}

#[test]
fn no_text_is_refused() {
    let marks = [
        "(", ")", "\"", "-", "*", "~", ":", "type:", "name:", "näme:(", "title:", "東", "size>", " ", "OR ", "NOT ",
        "ä", "\u{202e}", "..", "a", "|",
    ];
    let mut seed = 1_u64;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..seed % 12 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text += marks[(seed >> 33) as usize % marks.len()];
        }
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        for remark in SearchQuery::parse(&text, NOW).remarks {
            assert!(text.get(remark.range).is_some(), "{text}");
        }
    }
}
