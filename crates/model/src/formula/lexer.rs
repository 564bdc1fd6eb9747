//! The text of a formula as tokens.

use super::expression::Operator;
use crate::{Code, Error, MAX_NAME_CHARS, Result};

/// Limit on the characters of a formula. A column or number counts as one character, and spaces and parentheses do not
/// count: then no formula becomes too long because it is written in another way or its columns get longer names.
const MAX_CHARS: usize = 2_000;
/// Limit on all characters, with room for the longest names.
const MAX_WRITTEN: usize = MAX_CHARS * (MAX_NAME_CHARS * 2 + 4);
/// Limit on the characters of a part of a formula that a message shows.
const MAX_SHOWN: usize = 40;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// A quoted text.
    Text(String),
    /// A number.
    Number(f64),
    /// The name of a column, or `#` and its identifier.
    Column(String),
    /// A word in small letters: the name of a function, or `and`, `or`, `not`, `in`, `true`, `false`.
    Word(String),
    /// An operator other than a word and `&`.
    Operator(Operator),
    /// `&`.
    Join,
    /// `(`.
    Open,
    /// `)`.
    Close,
    /// `,`.
    Comma,
}

/// A token with the position of its first character, counted from 1.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The token.
    pub token: Token,
    /// Its position.
    pub at: usize,
}

/// Returns the error for a mistake at a position.
pub fn mistake(at: usize, text: impl std::fmt::Display) -> Error {
    Error::invalid(format!("at character {at}: {text}")).with_code(Code::InvalidFormula)
}

/// Returns a part of a formula as a message shows it: without characters that do not show, and cut.
pub fn shown(text: &str) -> String {
    let mut chars = text.chars().flat_map(char::escape_debug);
    let mut shown: String = chars.by_ref().take(MAX_SHOWN).collect();
    if chars.next().is_some() {
        shown.push_str("...");
    }
    shown
}

/// Splits a formula into tokens, and returns them with the position after the last character.
pub fn tokens(text: &str) -> Result<(Vec<Placed>, usize)> {
    let mut lexer = Lexer { rest: text, at: 1 };
    let (mut found, mut size) = (Vec::new(), 0);
    let too_long = || {
        let message = "a formula has at most 2,000 characters: shorten it, or put a part of it into a column";
        Error::invalid(message).with_code(Code::InvalidFormula)
    };
    if text.chars().nth(MAX_WRITTEN).is_some() {
        return Err(too_long());
    }
    loop {
        lexer.skip(lexer.leading(char::is_whitespace));
        let at = lexer.at;
        let Some(token) = lexer.token()? else { return Ok((found, at)) };
        size += match &token {
            Token::Text(text) => text.chars().count() + 2,
            Token::Word(word) => word.chars().count(),
            Token::Operator(operator) => operator.as_str().len(),
            Token::Number(_) | Token::Column(_) | Token::Join | Token::Comma => 1,
            Token::Open | Token::Close => 0,
        };
        if size > MAX_CHARS {
            return Err(too_long());
        }
        found.push(Placed { token, at });
    }
}

/// The rest of a formula, and its position.
struct Lexer<'a> {
    rest: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// Returns the characters at the beginning of the rest that fit.
    fn leading(&self, fits: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len());
        self.rest.split_at(end).0
    }

    /// Goes on after a text with which the rest begins.
    fn skip(&mut self, text: &str) {
        self.rest = self.rest.strip_prefix(text).unwrap_or(self.rest);
        self.at += text.chars().count();
    }

    /// Returns the next token, and nothing at the end.
    fn token(&mut self) -> Result<Option<Token>> {
        let Some(c) = self.rest.chars().next() else { return Ok(None) };
        let at = self.at;
        let symbols = [
            ("<>", Token::Operator(Operator::Unequal)),
            ("<=", Token::Operator(Operator::LessOrEqual)),
            (">=", Token::Operator(Operator::GreaterOrEqual)),
            ("<", Token::Operator(Operator::Less)),
            (">", Token::Operator(Operator::Greater)),
            ("=", Token::Operator(Operator::Equal)),
            ("+", Token::Operator(Operator::Add)),
            ("-", Token::Operator(Operator::Subtract)),
            ("*", Token::Operator(Operator::Multiply)),
            ("/", Token::Operator(Operator::Divide)),
            ("&", Token::Join),
            ("(", Token::Open),
            (")", Token::Close),
            (",", Token::Comma),
        ];
        if let Some((symbol, token)) = symbols.into_iter().find(|(symbol, _)| self.rest.starts_with(symbol)) {
            self.skip(symbol);
            return Ok(Some(token));
        }
        let token = match c {
            '"' => Token::Text(self.enclosed('"').ok_or_else(|| {
                mistake(at, "a text is not closed: put a double quote at its end, and two for one in it")
            })?),
            '[' => Token::Column(self.enclosed(']').ok_or_else(|| {
                mistake(at, "the name of a column is not closed: put ] at its end, and ]] for a ] in it")
            })?),
            c if c.is_ascii_digit() || c == '.' => self.number()?,
            c if c.is_alphabetic() => {
                let word = self.leading(|c| c.is_alphanumeric() || c == '_');
                self.skip(word);
                Token::Word(word.to_lowercase())
            }
            _ => {
                let c = shown(c.encode_utf8(&mut [0; 4]));
                let hint = "write texts in double quotes, and columns in brackets";
                return Err(mistake(at, format!("\"{c}\" has no meaning here: {hint}")));
            }
        };
        Ok(Some(token))
    }

    /// Takes a text from its first mark to a closing mark, which stands for itself when it is doubled.
    fn enclosed(&mut self, mark: char) -> Option<String> {
        let (mut text, mut chars) = (String::new(), self.rest.char_indices().skip(1).peekable());
        while let Some((at, c)) = chars.next() {
            if c != mark || chars.next_if(|(_, next)| *next == mark).is_some() {
                text.push(c);
            } else {
                self.skip(self.rest.split_at(at + mark.len_utf8()).0);
                return Some(text);
            }
        }
        None
    }

    /// Takes a number such as `2`, `.5` or `1e-3`.
    fn number(&mut self) -> Result<Token> {
        let (start, at) = (self.rest, self.at);
        self.skip(self.leading(|c| c.is_ascii_digit()));
        if self.rest.starts_with('.') {
            self.skip(".");
            self.skip(self.leading(|c| c.is_ascii_digit()));
        }
        if let Some(exponent) = self.rest.strip_prefix(['e', 'E']) {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if digits.starts_with(|c: char| c.is_ascii_digit()) {
                self.skip(self.rest.split_at(self.rest.len() - digits.len()).0);
                self.skip(self.leading(|c| c.is_ascii_digit()));
            }
        }
        let text = start.split_at(start.len() - self.rest.len()).0;
        match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Token::Number(number)),
            Ok(_) => Err(mistake(at, "this number is too large: the largest is about 1.8e308")),
            Err(_) => Err(mistake(at, "a dot alone is no number: put a digit before or after it")),
        }
    }
}
