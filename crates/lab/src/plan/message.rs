//! Messages about problems in a plan: short lines, with a suggestion for a mistyped name. Validates no plan.

/// Limit on the characters of a message line.
pub const MAX_LINE: usize = 200;
/// Minimum similarity (1 is equal) of a known name that is suggested.
const ALIKE: f64 = 0.75;

/// Returns the message for an unknown name, with the most similar known name, or else a list of the known names.
pub fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let name = &name.chars().take(MAX_LINE / 2).collect::<String>();
    let alike = known.iter().map(|known| (strsim::jaro_winkler(known, name), known));
    match alike.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((alike, nearest)) if alike >= ALIKE => {
            format!("there is no {what} \"{name}\": did you mean \"{nearest}\"?")
        }
        Some(_) => listed(&format!("there is no {what} \"{name}\": there are "), known),
        None => format!("there is no {what} \"{name}\""),
    }
}

/// Lists as many names as fit on the line, and the number of the others.
fn listed(head: &str, names: &[&str]) -> String {
    let mut room = MAX_LINE.saturating_sub(head.chars().count() + " and 1000 more".len());
    let fits = |name: &&&str| {
        let needed = name.chars().count() + 2;
        let fits = needed <= room;
        room = room.saturating_sub(needed);
        fits
    };
    let shown: Vec<&str> = names.iter().take_while(fits).copied().collect();
    let end = match names.len() - shown.len() {
        0 => String::new(),
        left => format!(" and {left} more"),
    };
    format!("{head}{}{end}", shown.join(", "))
}

/// Returns the message for a parser error. For an unknown key, it includes the most similar known key.
pub fn explain(error: &toml::de::Error) -> String {
    let message = error.to_string();
    let told = error.message();
    let quoted: Vec<&str> = told.split('`').skip(1).step_by(2).collect();
    match quoted.split_first() {
        Some((name, known)) if told.starts_with("unknown field") && !known.is_empty() => {
            let place: Vec<&str> = message.lines().take(4).collect();
            format!("{}\n{}", unknown("key", name, known), place.join("\n"))
        }
        _ => format!("the plan cannot be read: {}", message.trim_end()),
    }
}

/// Truncates the lines of a text to a readable length: a plan may be one long line, which messages quote.
pub fn cut(text: &str) -> String {
    text.lines().map(|line| line.chars().take(MAX_LINE).collect::<String>()).collect::<Vec<_>>().join("\n")
}
