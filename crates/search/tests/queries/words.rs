//! Words: inflections, spellings, parts, similar words, and what joins them.

use crate::shelf::{ENGLISH, GERMAN, Shelf};
use crate::support::entry;

#[test]
fn inflections_of_a_word_are_found() {
    let shelf = Shelf::of([entry(1, "a.txt", GERMAN), entry(2, "b.txt", ENGLISH), entry(3, "Verträge.pdf", "")]);
    assert_eq!(shelf.set("Verträge"), [1, 3]);
    assert_eq!(shelf.set("vertraegen"), [1, 3]);
    assert_eq!(shelf.set("Lieferungen Rohr"), [1]);
    assert_eq!(shelf.set("application committees"), [2]);
    assert_eq!(shelf.set("\"considered applications\""), [] as [i64; 0], "other words are between");
    assert_eq!(shelf.set("\"considered applications\"~1"), [2]);
    assert_eq!(shelf.set("\"beide Seite\""), [1], "phrases match inflections");
    assert_eq!(shelf.set("travel*"), [2]);
    assert_eq!(shelf.set("applicat*"), [2], "the beginning is longer than the stem");
    assert_eq!(shelf.set("unterschrieb*"), [1]);
    assert_eq!(shelf.set("verlang*"), [1]);
}

#[test]
fn operators_combine_words() {
    let texts = ["red heron", "red egret", "blue heron", "blue egret", "green"];
    let shelf = Shelf::of((1..).zip(texts).map(|(node, text)| entry(node, "x.txt", text)));
    assert_eq!(shelf.set("red heron"), [1]);
    assert_eq!(shelf.set("red OR heron"), [1, 2, 3]);
    assert_eq!(shelf.set("red AND (heron OR egret)"), [1, 2]);
    assert_eq!(shelf.set("(red heron) OR (blue egret)"), [1, 4]);
    assert_eq!(shelf.set("heron -red"), [3]);
    assert_eq!(shelf.set("NOT (red OR blue)"), [5]);
    assert_eq!(shelf.set("-red -blue -green"), [] as [i64; 0]);
    assert_eq!(shelf.set("green OR NOT egret"), [1, 3, 5]);
    assert_eq!(shelf.set("*"), [1, 2, 3, 4, 5]);
    assert_eq!(shelf.set("* -green"), [1, 2, 3, 4]);
}

#[test]
fn phrases_are_found_in_each_spelling() {
    let texts = ["Größe der Quelle", "Groesse der Quelle", "Grosse der Quelle", "neue Größe"];
    let shelf = Shelf::of((1..).zip(texts).map(|(node, text)| entry(node, "x.txt", text)));
    assert_eq!(shelf.set("\"Größe der Quelle\""), [1, 2, 3]);
    assert_eq!(shelf.set("\"groesse der Quelle\""), [1, 2, 3]);
    assert_eq!(shelf.set("\"neue größe\""), [4]);
    assert_eq!(shelf.set("groess*"), [1, 2, 3, 4]);
    assert_eq!(shelf.set("größ*"), [1, 2, 3, 4]);
}

#[test]
fn similar_words_and_compounds_are_found_when_asked_for() {
    let shelf = Shelf::of([
        entry(1, "a.txt", "Die Haftpflichtversicherung"),
        entry(2, "b.txt", "contract"),
        entry(3, "c.txt", "Vertragspartner"),
    ]);
    assert_eq!(shelf.found("Versicherung"), [] as [i64; 0]);
    assert_eq!(shelf.similar("Versicherung"), [1]);
    assert_eq!(shelf.similar("contarct"), [2]);
    assert_eq!(shelf.similar("Vertrag"), [3]);
    assert_eq!(shelf.similar("egret"), [] as [i64; 0]);
    assert_eq!(shelf.similar("\"contarct\""), [2]);
    assert_eq!(shelf.similar("contarct -contrast"), [2], "what is negated is meant exactly");
}

#[test]
fn some_of_many_words_may_be_missing() {
    let texts = ["red heron nest", "red heron egret", "red plan", "blue plan"];
    let shelf = Shelf::of((1..).zip(texts).map(|(node, text)| entry(node, "x.txt", text)));
    let found = |query: &str| {
        let mut found = shelf.most(query);
        found.sort_unstable();
        found
    };
    assert_eq!(found("red heron missing"), [1, 2], "two of three");
    assert_eq!(shelf.most("red heron nest"), [1, 2], "all of them come first");
    assert_eq!(found("heron missing"), [] as [i64; 0], "one of two is not most");
    assert_eq!(found("red heron missing nest"), [1], "three of four");
    assert_eq!(found("red heron missing type:pdf"), [] as [i64; 0], "filters stay");
    assert_eq!(found("red heron missing -egret"), [1], "so does what is negated");
    assert_eq!(found("red heron missing (egret OR blue)"), [2], "and alternatives");
    assert_eq!(found("red hreon missing"), [1, 2], "similar words count");
}

#[test]
fn digits_are_never_mistaken() {
    let texts = ["invoice2025", "invoice2026", "invioce2025"];
    let shelf = Shelf::of((1..).zip(texts).map(|(node, text)| entry(node, "x.txt", text)));
    let mut found = shelf.similar("invoice2025");
    found.sort_unstable();
    assert_eq!(found, [1, 3]);
}

#[test]
fn compounds_are_found_by_their_ends_in_any_inflection() {
    let compounds = "Die Plausibilitätsprüfungen der Mietverträge sind für die Prozesssitzung wichtig.";
    let shelf = Shelf::of([entry(1, "a.txt", &format!("{GERMAN} {compounds}"))]);
    for query in ["Prüfung", "Prüfungen", "Vertrags", "Sitzungen"] {
        assert_eq!(shelf.similar(query), [1], "{query}");
    }
    let both = format!("{} {GERMAN} {compounds}", format!("{ENGLISH} ").repeat(3));
    let shelf = Shelf::of([entry(1, "a.txt", &both)]);
    assert_eq!(shelf.similar("Prüfung"), [1], "the smaller part of a text is in German");
}

#[test]
fn names_are_found_by_their_parts_and_ends() {
    let names = ["Jahresbericht 2026.pdf", "Berichte.txt", "RE-2026-0815.pdf", "Überbericht"];
    let shelf = Shelf::of((1..).zip(names).map(|(node, name)| entry(node, name, "unbericht")));
    assert_eq!(shelf.set("*bericht*"), [1, 2, 4]);
    assert_eq!(shelf.set("*bericht"), [1, 2, 4], "a stem is an end too");
    assert_eq!(shelf.set("*sbericht"), [1]);
    assert_eq!(shelf.set("*2026-0*"), [3]);
    assert_eq!(shelf.set("*bericht* -*bers*"), [1, 2, 4]);
    assert_eq!(shelf.set("name:*berb*"), [4]);
}
