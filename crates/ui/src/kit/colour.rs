//! Colour pairs of the interface and their contrast, computed from the style sheet itself.

use crate::frame::assets;

/// A foreground colour on a background colour.
pub struct Pair {
    /// Style-sheet token of the text, edge or icon.
    pub front: &'static str,
    /// Style-sheet token of the background.
    pub back: &'static str,
    /// Use of the pair.
    pub used: &'static str,
    /// True if the pair is for text, which needs a contrast of 4.5. Edges and icons need 3.
    pub is_text: bool,
    /// Contrast in the light theme, as in "12.3".
    pub light: String,
    /// Contrast in the dark theme.
    pub dark: String,
}

const PAIRS: &[(&str, &str, &str)] = &[
    ("ink", "surface", "Text"),
    ("ink", "back", "Text on the page itself"),
    ("ink", "hover", "Text of hovered rows"),
    ("ink-soft", "surface", "Secondary text: times, paths, hints"),
    ("ink-soft", "back", "Secondary text on the page itself"),
    ("accent", "surface", "Links and icons of locations"),
    ("accent-strong", "accent-soft", "Selected items; badges"),
    ("on-accent", "accent", "The main button"),
    ("on-danger", "danger", "The destructive button"),
    ("danger", "surface", "Errors of fields"),
    ("danger", "danger-soft", "Error badges"),
    ("warn", "warn-soft", "Warning badges"),
    ("good", "surface", "Messages of success"),
    ("line-strong", "surface", "Edges of fields"),
    ("tone-red", "surface", "Icons: PDF"),
    ("tone-blue", "surface", "Icons: text documents, mail"),
    ("tone-green", "surface", "Icons: tables"),
    ("tone-orange", "surface", "Icons: presentations"),
    ("tone-violet", "surface", "Icons: pictures, sound, film"),
    ("tone-yellow", "surface", "Icons: folders, archives"),
];

/// Returns all pairs with their contrast.
pub fn pairs() -> Vec<Pair> {
    let sheet = assets::text("app.css");
    let figure = |front, back, theme| format!("{:.1}", contrast(&sheet, front, back, theme).unwrap_or(f64::NAN));
    let pair = |&(front, back, used): &(&'static str, &'static str, &'static str)| Pair {
        front,
        back,
        used,
        is_text: !front.starts_with("tone-") && front != "line-strong",
        light: figure(front, back, 0),
        dark: figure(front, back, 1),
    };
    PAIRS.iter().map(pair).collect()
}

/// Computes the contrast of two tokens according to WCAG 2. The theme is 0 for light, 1 for dark.
fn contrast(sheet: &str, front: &str, back: &str, theme: usize) -> Option<f64> {
    let (a, b) = (luminance(sheet, front, theme)?, luminance(sheet, back, theme)?);
    Some((a.max(b) + 0.05) / (a.min(b) + 0.05))
}

fn luminance(sheet: &str, token: &str, theme: usize) -> Option<f64> {
    let value = sheet.split(&format!("--{token}: light-dark(")).nth(1)?.split(')').next()?;
    let hex = value.split(',').nth(theme)?.trim().strip_prefix('#')?;
    let part = |at: usize| {
        let byte = u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()?;
        let share = f64::from(byte) / 255.0;
        Some(if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) })
    };
    Some(0.2126 * part(0)? + 0.7152 * part(2)? + 0.0722 * part(4)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn black_on_white_has_the_contrast_that_the_rule_says() {
        let sheet = "--a: light-dark(#000000, #ffffff); --b: light-dark(#ffffff, #777777);";
        assert_eq!(format!("{:.1}", contrast(sheet, "a", "b", 0).unwrap()), "21.0");
        assert_eq!(format!("{:.2}", contrast(sheet, "a", "b", 1).unwrap()), "4.48");
        assert!(contrast(sheet, "a", "c", 0).is_none());
    }

    #[test]
    fn every_pair_can_be_told_apart_in_both_themes() {
        for pair in pairs() {
            let least = if pair.is_text { 4.5 } else { 3.0 };
            for (theme, figure) in [("light", &pair.light), ("dark", &pair.dark)] {
                let figure: f64 = figure.parse().unwrap();
                assert!(figure >= least, "{} on {}, {theme}: {figure}", pair.front, pair.back);
            }
        }
    }
}
