//! Words of a P4 source.

use logos::Logos;

/// A word of a source.
#[derive(Logos, Clone, Copy, PartialEq, Eq, Debug)]
#[logos(skip r"[ \t\r\n\f]+")]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
#[logos(skip r"/\*([^*]|\*+[^*/])*\*+/")]
pub(super) enum Token<'a> {
    /// A directive of the preprocessor, to the end of its line.
    #[regex(r"#[^\n]*", |lexer| lexer.slice(), allow_greedy = true)]
    Directive(&'a str),
    /// A name or a word of the language.
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*", |lexer| lexer.slice())]
    Name(&'a str),
    /// A number, with its width where it has one.
    #[regex(r"([0-9]+w)?(0[xX][0-9a-fA-F_]+|0[bB][01_]+|[0-9][0-9_]*)", |lexer| lexer.slice())]
    Number(&'a str),
    /// A text between quotation marks, without them.
    #[regex(r#""[^"\\\n]*""#, |lexer| lexer.slice().trim_matches('"'))]
    Text(&'a str),
    /// Punctuation and operators.
    #[token("&&&")]
    #[token("|+|")]
    #[token("|-|")]
    #[token("++")]
    #[token("&&")]
    #[token("||")]
    #[token("==")]
    #[token("!=")]
    #[token("<=")]
    #[token(">=")]
    #[token("<<")]
    #[token("..")]
    #[regex(r"[-+*/%!~&|^=<>()\[\]{};:,.@?]", |lexer| lexer.slice())]
    Sign(&'a str),
}
