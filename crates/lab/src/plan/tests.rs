//! Tests of parsing plans.

use super::message::MAX_LINE;
use super::*;

const SMALL: &str = r#"
name = "small"
[corpus]
files = [{ size = "10KB", count = 10 }]
[load]
users = 2
duration = "1s"
[[mix]]
operation = "download"
weight = 1
"#;

#[test]
fn a_small_plan_is_read() {
    let plan = Plan::parse(SMALL).unwrap();
    assert_eq!(plan.load.users, 2);
    assert_eq!(plan.mix[0].label(), "download");
}

#[test]
fn a_wrong_key_is_an_error_that_names_the_nearest() {
    for (wrong, right) in [
        (SMALL.replace("duration", "duratoin"), "\"duration\""),
        (SMALL.replace("weight", "wieght"), "\"weight\""),
        (SMALL.replace("\"download\"", "\"downlaod\""), "\"download\""),
        (SMALL.replace("[corpus]", "[corpsu]"), "\"corpus\""),
    ] {
        let error = Plan::parse(&wrong).unwrap_err().to_string();
        assert!(error.contains(right), "{error}");
        assert!(error.contains("did you mean"), "{error}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (from, to, said) in [
        ("users = 2", "users = 0", "users"),
        ("users = 2", "users = 100000", "users"),
        ("weight = 1", "weight = 0", "weight"),
        ("weight = 1", "weight = nan", "weight"),
        ("weight = 1", "weight = 1e308\n[[mix]]\noperation = \"upload\"\nweight = 1e308", "weights"),
        ("duration = \"1s\"", "steps = [{ level = nan, for = \"1s\" }]", "level"),
        ("duration = \"1s\"", "steps = [{ level = inf, for = \"1s\" }]", "level"),
        ("duration = \"1s\"", "steps = [{ level = -1, for = \"1s\" }]", "level"),
        ("name = \"small\"", "name = \"small\"\nthresholds = [\"errors < inf%\"]", "0.1%"),
        ("name = \"small\"", "name = \"small\"\nthresholds = [\"errors < nan%\"]", "0.1%"),
        ("name = \"small\"", "name = \"small\"\nthresholds = [\"rate > -5\"]", "rate such as 100"),
        ("duration = \"1s\"", "duration = \"0s\"", "duration"),
        ("duration = \"1s\"", "model = \"open\"", "rate"),
        ("weight = 1", "weight = 1\nsize = \"1MB\"", "corpus"),
        ("name = \"small\"", "name = \"small\"\nthresholds = [\"uplod p95 < 1s\"]", "there are download"),
        ("name = \"small\"", "name = \" \"", "name of the plan is empty"),
        ("name = \"small\"", "name = \"small\\u001b[2J\"", "control characters"),
        ("weight = 1", "weight = 1\nlabel = \"two\\nlines\"", "label of \"download\" has control characters"),
        ("weight = 1", "weight = 1\nlabel = \"\"", "label of \"download\" is empty"),
        ("count = 10", "count = -1", "count"),
        ("size = \"10KB\"", "size = \"3B\"", "1KB"),
    ] {
        assert!(SMALL.contains(from), "{from}");
        let error = Plan::parse(&SMALL.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(said), "{to}: {error}");
    }
}

#[test]
fn names_and_mixes_have_a_bounded_length() {
    let named = |length: usize| Plan::parse(&SMALL.replace("\"small\"", &format!("\"{}\"", "ä".repeat(length))));
    assert!(named(100).is_ok());
    assert!(named(101).unwrap_err().to_string().contains("at most 100"));
    let part = |number: usize| format!("[[mix]]\noperation = \"upload\"\nweight = 1\nlabel = \"{number}\"\n");
    let mix = |parts: usize| Plan::parse(&(SMALL.to_owned() + &(1..parts).map(part).collect::<String>()));
    assert_eq!(mix(200).unwrap().mix.len(), 200);
    assert!(mix(201).unwrap_err().to_string().contains("201 parts"));
}

#[test]
fn only_a_name_that_is_alike_is_proposed() {
    let said = |name: &str| shipped(name).unwrap_err().to_string();
    assert!(said("qiuck").contains("did you mean \"quick\""), "{}", said("qiuck"));
    let said = said("capacity");
    assert!(!said.contains("did you mean"), "{said}");
    assert!(said.contains("quick, files, rbs-2010"), "{said}");
    let many = ["download"; 30];
    let said = unknown("operation", "x", &many);
    assert!(said.ends_with("download and 16 more"), "{said}");
    assert!(said.len() <= MAX_LINE, "{said}");
}

#[test]
fn a_plan_of_one_long_line_is_refused_in_few_words() {
    let long = "long".repeat(50_000);
    for wrong in [
        format!("name = \"{long}"),
        format!("{long} = 1"),
        SMALL.replace("users", &long),
        SMALL.replace("\"download\"", &format!("\"{long}\"")),
        SMALL.replace("name = \"small\"", &format!("name = \"small\"\nthresholds = [\"{long} p95 < 1s\"]")),
        SMALL.replace("name = \"small\"", &format!("name = \"small\"\nthresholds = [\"{long}\"]")),
    ] {
        let error = Plan::parse(&wrong).unwrap_err().to_string();
        assert!(error.lines().count() < 10, "{error}");
        assert!(error.lines().all(|line| line.len() <= MAX_LINE), "{error}");
    }
}

#[test]
fn every_shipped_plan_is_read() {
    for plan in SHIPPED {
        let read = Plan::parse(plan.text).unwrap_or_else(|error| panic!("{}: {error}", plan.name));
        assert_eq!(read.name, plan.name);
    }
}

#[test]
fn what_strongroom_does_not_offer_of_the_papers_is_known() {
    for (name, labels, percent) in [
        ("ebs-2007", &[][..], 0.0),
        ("ebs-2007-read", &[], 0.0),
        ("ebs-2007-write", &[], 0.0),
        ("rbs-2010", &[], 0.0),
        ("rbs-2010-sp1", &[], 0.0),
        (
            "ebs-2007-profile",
            &[
                "synchronise with a mail client",
                "FrontPage RPC open",
                "FrontPage RPC save",
                "incoming e-mail",
                "start workflow",
                "complete workflow task",
            ],
            6.5,
        ),
    ] {
        let plan = Plan::parse(shipped(name).unwrap()).unwrap();
        let all: f64 = plan.mix.iter().map(|share| share.weight).sum();
        let missing = plan.mix.iter().filter(|share| operations::find(&share.operation).is_none());
        let (found, weights): (Vec<String>, Vec<f64>) = missing.map(|share| (share.label(), share.weight)).unzip();
        assert_eq!(found, labels, "{name}");
        let share = weights.iter().sum::<f64>() / all * 100.0;
        assert!((share - percent).abs() < 0.01, "{name}: {share} %");
    }
}
