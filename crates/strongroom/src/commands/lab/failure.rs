//! Failures of the lab, as commands report them.

use model::Error;

/// What the lab could not do, as commands say it: line by line, since a target's own words may be in it.
pub fn said(error: &lab::Error) -> Error {
    let lines: Vec<String> = error.to_string().lines().map(lab::report::plain).collect();
    Error::invalid(lines.join("\n"))
}
