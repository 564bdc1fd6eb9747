//! Entry points of fuzz targets. Each function takes the bytes of one input and asserts what must hold for any input.
//!
//! Exists only when built with `--cfg fuzzing`; `fuzz/run` explains how to run it.

use crate::{Corpus, Plan, RunResult};

pub use crate::monitor::figures;

/// Parses a plan. An accepted plan must be executable.
pub fn plan(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(plan) = Plan::parse(text) else { return };
    plan.check().expect("it was checked");
    assert!(plan.thresholds().is_ok());
    let course = plan.load.course();
    assert!(!course.steps().is_empty());
    assert!(course.peak().is_finite());
    assert!(course.peak() > 0.0);
    let corpus = Corpus::new(plan.corpus.clone());
    for number in [0, corpus.count() / 2, corpus.count().saturating_sub(1)] {
        if number < corpus.count() {
            let document = corpus.document(number);
            let _ = (corpus.path(&document), corpus.folder_path(&document));
        }
    }
    let _ = (corpus.bytes(), corpus.fingerprint());
}

/// Reads a result, writes it, reads it again, and compares it with itself.
pub fn result(input: &[u8]) {
    let Ok(result) = serde_json::from_slice::<RunResult>(input) else { return };
    let written = serde_json::to_string(&result).expect("what was read can be written");
    let again: RunResult = serde_json::from_str(&written).expect("what was written can be read");
    let _ = (again.passed(), crate::compare::differing_conditions(&result, &again));
    if let Ok(found) = crate::compare::compare(&result, &again) {
        let _ = crate::compare::markdown((&result, "first"), (&again, "second"), &found);
    }
}
