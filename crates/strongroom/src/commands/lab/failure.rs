//! Conversion of lab errors into errors of commands.

use model::Error;

/// Converts a lab error. The message may contain text from the target, so each of its lines is stripped of control
/// characters.
pub fn into_command_error(error: &lab::Error) -> Error {
    let lines: Vec<String> = error.to_string().lines().map(lab::report::plain).collect();
    Error::invalid(lines.join("\n"))
}
