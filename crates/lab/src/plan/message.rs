//! Messages about what is wrong with a plan: short lines, and the name that may have been meant. Judges no plan.

/// Most characters of a line of a message.
pub const LONGEST_LINE: usize = 200;
/// A known name that is less alike than this (1 is the same) is not what was meant.
const ALIKE: f64 = 0.75;

/// Says that there is no such thing, and which one may have been meant, or else which there are.
pub fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let name = &name.chars().take(LONGEST_LINE / 2).collect::<String>();
    let alike = known.iter().map(|known| (strsim::jaro_winkler(known, name), known));
    match alike.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((alike, nearest)) if alike >= ALIKE => {
            format!("there is no {what} \"{name}\": did you mean \"{nearest}\"?")
        }
        Some(_) => listed(&format!("there is no {what} \"{name}\": there are "), known),
        None => format!("there is no {what} \"{name}\""),
    }
}

/// As many names as fit the line, and how many are left.
fn listed(head: &str, names: &[&str]) -> String {
    let mut room = LONGEST_LINE.saturating_sub(head.chars().count() + " and 1000 more".len());
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

/// The message of a reader's error, with the nearest key when it is about an unknown one.
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

/// A text whose lines are short enough to be read: a plan may be one long line, which messages repeat.
pub fn cut(text: &str) -> String {
    text.lines().map(|line| line.chars().take(LONGEST_LINE).collect::<String>()).collect::<Vec<_>>().join("\n")
}
