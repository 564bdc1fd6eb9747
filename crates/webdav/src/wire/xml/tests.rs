//! Round trips of parsing and writing, and refusals.

use super::*;

fn again(text: &str) -> String {
    parse(text.as_bytes()).unwrap().written(usize::MAX).unwrap()
}

#[test]
fn elements_come_back_with_their_namespaces() {
    let cases = [
        ("<a/>", "<a xmlns=\"\"/>"),
        ("<p:a xmlns:p='u&amp;v'>x &lt; &#x10000;</p:a>", "<a xmlns=\"u&amp;v\">x &lt; \u{10000}</a>"),
        ("<a xmlns='u'><b xmlns=''>1</b><c/></a>", "<a xmlns=\"u\"><b xmlns=\"\">1</b><c xmlns=\"u\"/></a>"),
        ("<a xml:lang='de' x='1'/>", "<a xmlns=\"\" xml:lang=\"de\" x=\"1\"/>"),
        ("<a xmlns:q='u' q:x='\"'/>", "<a xmlns=\"\" xmlns:a0=\"u\" a0:x=\"&quot;\"/>"),
        (
            "<a xmlns:q='u' xmlns:r='v' q:x='1' r:x='2' q:y='3'/>",
            "<a xmlns=\"\" xmlns:a0=\"u\" a0:x=\"1\" xmlns:a1=\"v\" a1:x=\"2\" a0:y=\"3\"/>",
        ),
        ("<a><![CDATA[]]></a>", "<a xmlns=\"\"/>"),
        ("<a x='1&#10;&#9;&#13;2'/>", "<a xmlns=\"\" x=\"1&#10;&#9;&#13;2\"/>"),
        ("<\u{fc}\u{b7}1-x/>", "<\u{fc}\u{b7}1-x xmlns=\"\"/>"),
        ("\u{feff}<?xml version='1.0'?><!-- c --><a><![CDATA[<b>]]></a>\n", "<a xmlns=\"\">&lt;b&gt;</a>"),
    ];
    for (text, expected) in cases {
        assert_eq!(again(text), expected, "{text}");
        assert_eq!(again(expected), expected, "{text}");
    }
}

#[test]
fn what_becomes_too_long_is_not_written() {
    let element = parse(b"<a x='1'><b>text</b><b/></a>").unwrap();
    let whole = element.written(usize::MAX).unwrap();
    let inner = element.content_written(usize::MAX).unwrap();
    assert_eq!(element.written(whole.len()), Some(whole.clone()));
    assert!((0..whole.len()).all(|most| element.written(most).is_none()));
    assert_eq!(element.content_written(inner.len()), Some(inner.clone()));
    assert!((0..inner.len()).all(|most| element.content_written(most).is_none()));
}

#[test]
fn what_is_not_well_formed_or_dangerous_is_refused() {
    let deep = "<a>".repeat(65) + &"</a>".repeat(65);
    let crowded = format!("<a {}/>", (0..=MAX_ATTRIBUTES).map(|n| format!("b{n}='' ")).collect::<String>());
    let long = "n".repeat(MAX_NAME + 1);
    let (far, named) = (format!("<a xmlns='{long}'/>"), format!("<{long}/>"));
    let declared: String = (0..90).map(|n| format!(" xmlns:p{n}='u'")).collect();
    let known = format!("<a{declared}>").repeat(3) + "<p0:b/>" + &"</a>".repeat(3);
    let wide = format!("<a>{}</a>", "<b/>".repeat(MAX_ELEMENTS));
    for bad in [
        "",
        "text",
        "<a>",
        "<a></b>",
        "<a/><b/>",
        "<a/>x",
        "<p:a/>",
        "<a xmlns:p=''><p:b/></a>",
        "<D:prop xmlns:D='DAV:'><bar:foo xmlns:bar=''/></D:prop>",
        "<!DOCTYPE a><a/>",
        "<!DOCTYPE a [<!ENTITY x SYSTEM 'file:///etc/passwd'>]><a>&x;</a>",
        "<!DOCTYPE a [<!ENTITY x 'y'><!ENTITY z '&x;&x;'>]><a>&z;</a>",
        "<a>&unknown;</a>",
        "<a>&#0;</a>",
        "<a>\u{1}</a>",
        "<a x='1' x='2'/>",
        "<a b=\"&#1;\"/>",
        "<a\u{ffff}/>",
        "<a\u{d7}/>",
        "<a\u{3000}b/>",
        "<a b\u{fffe}='1'/>",
        &crowded,
        &deep,
        &wide,
        &known,
        &far,
        &named,
    ] {
        assert_eq!(parse(bad.as_bytes()).map_err(|error| error.code().as_str()), Err("invalid_xml"), "{bad:.80}");
    }
    assert!(parse(b"<a>\xff</a>").is_err());
}
