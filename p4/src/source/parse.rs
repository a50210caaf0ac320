//! Parser of P4 sources: recursive descent over words.

use logos::Logos;

use super::ast::{
    Annotation, BinaryOp, Block, Control, Declaration, Entry, Expression, Field, Fields, Function, Instance,
    Key, Parser, Program, State, Statement, Table, Transition, Type, UnaryOp, Variable,
};
use super::token::Token;

/// Deepest nesting of expressions, types and blocks: hostile sources must not exhaust the stack.
const MAX_DEPTH: u32 = 64;

/// An error in a source.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct SourceError {
    /// Line, from 1.
    pub line: usize,
    /// Description of the error.
    pub what: String,
}

/// Reads a source.
///
/// # Errors
/// When it is no P4, or uses what this reader does not know.
pub fn parse(source: &str) -> Result<Program, SourceError> {
    let line = |at: usize| source[..at].matches('\n').count() + 1;
    let words = Token::lexer(source).spanned().map(|(token, span)| {
        let known = token.map_err(|()| SourceError {
            line: line(span.start),
            what: format!("{:?} is no word of P4", &source[span.clone()]),
        });
        Ok((known?, span.start))
    });
    let words = words.collect::<Result<Vec<_>, _>>()?;
    let mut reader = Reader { words: &words, at: 0, depth: 0 };
    let declarations = reader.program();
    declarations.map(|declarations| Program { declarations }).map_err(|what| {
        let at = words.get(reader.at).map_or(source.len(), |(_, start)| *start);
        SourceError { line: line(at), what }
    })
}

/// A result, or the description of an error at the next word.
type Read<T> = Result<T, String>;

/// Words of which some are read.
struct Reader<'a> {
    words: &'a [(Token<'a>, usize)],
    at: usize,
    depth: u32,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<Token<'a>> {
        self.words.get(self.at).map(|(token, _)| *token)
    }

    fn peek_behind(&self, words: usize) -> Option<Token<'a>> {
        self.words.get(self.at + words).map(|(token, _)| *token)
    }

    fn is_sign(&self, sign: &str) -> bool {
        self.peek() == Some(Token::Sign(sign))
    }

    fn is_word(&self, word: &str) -> bool {
        self.peek() == Some(Token::Name(word))
    }

    /// Takes a sign if it is next.
    fn takes(&mut self, sign: &str) -> bool {
        let is_next = self.is_sign(sign);
        self.at += usize::from(is_next);
        is_next
    }

    /// Takes a word of the language if it is next.
    fn takes_word(&mut self, word: &str) -> bool {
        let is_next = self.is_word(word);
        self.at += usize::from(is_next);
        is_next
    }

    fn sign(&mut self, sign: &str) -> Read<()> {
        if self.takes(sign) { Ok(()) } else { Err(self.expected(sign)) }
    }

    fn word(&mut self, word: &str) -> Read<()> {
        if self.takes_word(word) { Ok(()) } else { Err(self.expected(word)) }
    }

    fn name(&mut self) -> Read<String> {
        match self.peek() {
            Some(Token::Name(name)) => {
                self.at += 1;
                Ok(name.to_owned())
            }
            _ => Err(self.expected("a name")),
        }
    }

    fn expected(&self, what: &str) -> String {
        match self.peek() {
            Some(
                Token::Directive(found)
                | Token::Name(found)
                | Token::Number(found)
                | Token::Text(found)
                | Token::Sign(found),
            ) => format!("{what} is expected, not {found}"),
            None => format!("{what} is expected, not the end of the file"),
        }
    }

    /// Reads something that may contain itself.
    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth == MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} levels are nested here"));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads what stands before the sign that closes it.
    fn until<T>(&mut self, close: &str, mut read: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let mut all = Vec::new();
        while !self.takes(close) {
            all.push(read(self)?);
        }
        Ok(all)
    }

    /// The same, with commas between.
    fn list<T>(&mut self, close: &str, mut read: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let mut all = Vec::new();
        while !self.takes(close) {
            if !all.is_empty() {
                self.sign(",")?;
            }
            all.push(read(self)?);
        }
        Ok(all)
    }

    fn program(&mut self) -> Read<Vec<Declaration>> {
        let mut all = Vec::new();
        while let Some(token) = self.peek() {
            match token {
                Token::Directive(directive) => {
                    all.extend(include(directive)?.map(Declaration::Include));
                    self.at += 1;
                }
                _ => all.push(self.declaration()?),
            }
        }
        Ok(all)
    }

    fn declaration(&mut self) -> Read<Declaration> {
        if self.takes_word("const") {
            Ok(Declaration::Const(self.variable()?))
        } else if self.takes_word("header") {
            Ok(Declaration::Header(self.fields()?))
        } else if self.takes_word("struct") {
            Ok(Declaration::Struct(self.fields()?))
        } else if self.takes_word("parser") {
            Ok(Declaration::Parser(self.parser()?))
        } else if self.takes_word("control") {
            Ok(Declaration::Control(self.control()?))
        } else {
            let annotations = self.annotations()?;
            Ok(Declaration::Instance(self.instance(annotations)?))
        }
    }

    fn annotations(&mut self) -> Read<Vec<Annotation>> {
        let mut all = Vec::new();
        while self.takes("@") {
            let name = self.name()?;
            let arguments = if self.takes("(") { self.arguments()? } else { Vec::new() };
            all.push(Annotation { name, arguments });
        }
        Ok(all)
    }

    fn fields(&mut self) -> Read<Fields> {
        let name = self.name()?;
        self.sign("{")?;
        let fields = self.until("}", |reader| {
            let field = reader.field()?;
            reader.sign(";")?;
            Ok(field)
        })?;
        Ok(Fields { name, fields })
    }

    fn field(&mut self) -> Read<Field> {
        let annotations = self.annotations()?;
        let direction = ["inout", "in", "out"].into_iter().find(|word| self.takes_word(word));
        let (r#type, name) = (self.r#type()?, self.name()?);
        Ok(Field { annotations, direction: direction.map(str::to_owned), r#type, name })
    }

    fn params(&mut self) -> Read<Vec<Field>> {
        self.sign("(")?;
        self.list(")", Self::field)
    }

    fn r#type(&mut self) -> Read<Type> {
        self.nested(|reader| {
            let name = reader.name()?;
            if name == "bool" {
                return Ok(Type::Bool);
            }
            if name == "bit" {
                reader.sign("<")?;
                let (bits, _) = reader.number()?;
                reader.sign(">")?;
                return u32::try_from(bits).map(Type::Bit).map_err(|_| format!("bit<{bits}> is too wide"));
            }
            let arguments = if reader.takes("<") { reader.list(">", Self::r#type)? } else { Vec::new() };
            Ok(Type::Named(name, arguments))
        })
    }

    fn variable(&mut self) -> Read<Variable> {
        let (r#type, name) = (self.r#type()?, self.name()?);
        let value = if self.takes("=") { Some(self.expression()?) } else { None };
        self.sign(";")?;
        Ok(Variable { r#type, name, value })
    }

    /// An instance behind its annotations.
    fn instance(&mut self, annotations: Vec<Annotation>) -> Read<Instance> {
        let r#type = self.r#type()?;
        self.sign("(")?;
        let arguments = self.arguments()?;
        let name = self.name()?;
        let functions = if self.takes("=") {
            self.sign("{")?;
            self.until("}", |reader| {
                let annotations = reader.annotations()?;
                reader.word("void")?;
                reader.function(annotations)
            })?
        } else {
            Vec::new()
        };
        self.sign(";")?;
        Ok(Instance { annotations, r#type, arguments, name, functions })
    }

    fn function(&mut self, annotations: Vec<Annotation>) -> Read<Function> {
        let (name, params) = (self.name()?, self.params()?);
        self.sign("{")?;
        Ok(Function { annotations, name, params, body: self.block()? })
    }

    fn parser(&mut self) -> Read<Parser> {
        let (name, params) = (self.name()?, self.params()?);
        self.sign("{")?;
        let (mut instances, mut states) = (Vec::new(), Vec::new());
        while !self.takes("}") {
            if self.takes_word("state") {
                states.push(self.state()?);
            } else {
                let annotations = self.annotations()?;
                instances.push(self.instance(annotations)?);
            }
        }
        Ok(Parser { name, params, instances, states })
    }

    fn state(&mut self) -> Read<State> {
        let name = self.name()?;
        self.sign("{")?;
        let mut body = Vec::new();
        while !self.takes_word("transition") {
            body.push(self.statement()?);
        }
        let transition = if self.takes_word("select") {
            self.sign("(")?;
            let values = self.arguments()?;
            self.sign("{")?;
            let cases = self.until("}", |reader| {
                let sets = reader.sets()?;
                reader.sign(":")?;
                let state = reader.name()?;
                reader.sign(";")?;
                Ok((sets, state))
            })?;
            Transition::Select(values, cases)
        } else {
            let to = self.name()?;
            self.sign(";")?;
            Transition::To(to)
        };
        self.sign("}")?;
        Ok(State { name, body, transition })
    }

    /// Sets of values: one, or several between parentheses.
    fn sets(&mut self) -> Read<Vec<Expression>> {
        match self.expression()? {
            Expression::Tuple(sets) => Ok(sets),
            set => Ok(vec![set]),
        }
    }

    fn control(&mut self) -> Read<Control> {
        let mut control = Control {
            name: self.name()?,
            params: self.params()?,
            variables: Vec::new(),
            instances: Vec::new(),
            actions: Vec::new(),
            tables: Vec::new(),
            apply: Vec::new(),
        };
        self.sign("{")?;
        loop {
            let annotations = self.annotations()?;
            if self.takes_word("action") {
                control.actions.push(self.function(annotations)?);
            } else if self.takes_word("table") {
                control.tables.push(self.table(annotations)?);
            } else if self.takes_word("apply") {
                self.sign("{")?;
                control.apply = self.block()?;
                self.sign("}")?;
                return Ok(control);
            } else if annotations.is_empty() && self.is_variable() {
                control.variables.push(self.variable()?);
            } else {
                control.instances.push(self.instance(annotations)?);
            }
        }
    }

    /// Returns true if a variable is declared here: a type and a name. An instance has parentheses between them.
    fn is_variable(&mut self) -> bool {
        let before = self.at;
        let is_variable = self.r#type().is_ok() && matches!(self.peek(), Some(Token::Name(_)));
        self.at = before;
        is_variable
    }

    fn table(&mut self, annotations: Vec<Annotation>) -> Read<Table> {
        let mut table = Table {
            annotations,
            name: self.name()?,
            keys: Vec::new(),
            actions: Vec::new(),
            default_action: None,
            entries: Vec::new(),
            size: None,
        };
        self.sign("{")?;
        while !self.takes("}") {
            self.takes_word("const");
            let property = self.name()?;
            self.sign("=")?;
            match property.as_str() {
                "key" => {
                    self.sign("{")?;
                    table.keys = self.until("}", Self::key)?;
                }
                "actions" => {
                    self.sign("{")?;
                    table.actions = self.until("}", |reader| {
                        let action = (reader.annotations()?, reader.name()?);
                        reader.sign(";")?;
                        Ok(action)
                    })?;
                }
                "entries" => {
                    self.sign("{")?;
                    table.entries = self.until("}", |reader| {
                        let sets = reader.sets()?;
                        reader.sign(":")?;
                        let action = reader.expression()?;
                        reader.sign(";")?;
                        Ok(Entry { sets, action })
                    })?;
                }
                "default_action" => {
                    table.default_action = Some(self.expression()?);
                    self.sign(";")?;
                }
                "size" => {
                    table.size = Some(self.expression()?);
                    self.sign(";")?;
                }
                other => {
                    return Err(format!("{other} is a property of tables that this reader does not know"));
                }
            }
        }
        Ok(table)
    }

    fn key(&mut self) -> Read<Key> {
        let value = self.expression()?;
        self.sign(":")?;
        let kind = self.name()?;
        let annotations = self.annotations()?;
        self.sign(";")?;
        Ok(Key { value, kind, annotations })
    }

    /// Statements to the brace that closes them.
    fn block(&mut self) -> Read<Block> {
        self.nested(|reader| reader.until("}", Self::statement))
    }

    fn statement(&mut self) -> Read<Statement> {
        if self.takes("{") {
            return Ok(Statement::Block(self.block()?));
        }
        if self.takes_word("if") {
            return self.nested(Self::choice);
        }
        if self.is_variable() {
            return Ok(Statement::Variable(self.variable()?));
        }
        let to = self.expression()?;
        let statement = if self.takes("=") {
            Statement::Assign { to, value: self.expression()? }
        } else if matches!(to, Expression::Call(..)) {
            Statement::Call(to)
        } else {
            return Err(self.expected("= or ("));
        };
        self.sign(";")?;
        Ok(statement)
    }

    /// What stands behind `if`.
    fn choice(&mut self) -> Read<Statement> {
        self.sign("(")?;
        let condition = self.expression()?;
        self.sign(")")?;
        self.sign("{")?;
        let then = self.block()?;
        let otherwise = if !self.takes_word("else") {
            Vec::new()
        } else if self.takes_word("if") {
            vec![self.nested(Self::choice)?]
        } else {
            self.sign("{")?;
            self.block()?
        };
        Ok(Statement::If { condition, then, otherwise })
    }

    /// Arguments behind the parenthesis that opens them.
    fn arguments(&mut self) -> Read<Vec<Expression>> {
        self.list(")", Self::expression)
    }

    fn expression(&mut self) -> Read<Expression> {
        self.binary(0)
    }

    /// An expression of operators that bind at least so strongly.
    fn binary(&mut self, least: u8) -> Read<Expression> {
        self.nested(|reader| {
            let mut left = reader.unary()?;
            while let Some((op, binds)) = reader.operator().filter(|(_, binds)| *binds >= least) {
                reader.at += 1;
                let right = reader.binary(binds + 1)?;
                left = Expression::Binary(op, left.into(), right.into());
            }
            Ok(left)
        })
    }

    /// The next word as an operator, and how strongly it binds (P4-16 specification 8.2).
    fn operator(&self) -> Option<(BinaryOp, u8)> {
        let Some(Token::Sign(sign)) = self.peek() else { return None };
        let known = OPERATORS.iter().find(|(known, ..)| *known == sign);
        known.map(|(_, op, binds)| (*op, *binds))
    }

    fn unary(&mut self) -> Read<Expression> {
        if self.takes("!") {
            return Ok(Expression::Unary(UnaryOp::Not, self.nested(Self::unary)?.into()));
        }
        if self.takes("~") {
            return Ok(Expression::Unary(UnaryOp::Complement, self.nested(Self::unary)?.into()));
        }
        // What stands behind the name of a type between parentheses is a value, and behind a value an operator.
        let is_cast = match [1, 2, 3].map(|words| self.peek_behind(words)) {
            _ if !self.is_sign("(") => false,
            [Some(Token::Name("bit")), Some(Token::Sign("<")), _] => true,
            [Some(Token::Name(_)), Some(Token::Sign(")")), Some(Token::Name(_) | Token::Number(_))] => true,
            _ => false,
        };
        if is_cast {
            self.sign("(")?;
            let r#type = self.r#type()?;
            self.sign(")")?;
            return Ok(Expression::Cast(r#type, self.nested(Self::unary)?.into()));
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Read<Expression> {
        let mut value = self.primary()?;
        let mut links = 0;
        loop {
            if self.takes(".") {
                value = Expression::Member(value.into(), self.name()?);
                if let Some(types) = self.type_arguments() {
                    value = Expression::Generic(value.into(), types);
                }
            } else if self.takes("(") {
                value = Expression::Call(value.into(), self.arguments()?);
            } else if self.takes("[") {
                let high = self.expression()?;
                value = if self.takes(":") {
                    Expression::Slice(value.into(), high.into(), self.expression()?.into())
                } else {
                    Expression::Index(value.into(), high.into())
                };
                self.sign("]")?;
            } else {
                return Ok(value);
            }
            // They nest in the tree as parentheses do.
            links += 1;
            if links > MAX_DEPTH {
                return Err(format!("more than {MAX_DEPTH} members, calls and indices stand in a row"));
            }
        }
    }

    /// Type arguments of a call. Without its arguments behind them, `<` is an operator.
    fn type_arguments(&mut self) -> Option<Vec<Type>> {
        let before = self.at;
        let types = if self.takes("<") { self.list(">", Self::r#type).ok() } else { None };
        let types = types.filter(|_| self.is_sign("("));
        if types.is_none() {
            self.at = before;
        }
        types
    }

    fn primary(&mut self) -> Read<Expression> {
        match self.peek() {
            Some(Token::Number(_)) => self.number().map(|(value, bits)| Expression::Number(value, bits)),
            Some(Token::Text(text)) => {
                self.at += 1;
                Ok(Expression::Text(text.to_owned()))
            }
            Some(Token::Name(name)) => {
                self.at += 1;
                Ok(match name {
                    "true" => Expression::Bool(true),
                    "false" => Expression::Bool(false),
                    name => Expression::Name(name.to_owned()),
                })
            }
            Some(Token::Sign("(")) => {
                self.at += 1;
                let mut values = self.arguments()?;
                match values.len() {
                    0 => Err("a value is expected between the parentheses".to_owned()),
                    1 => Ok(values.remove(0)),
                    _ => Ok(Expression::Tuple(values)),
                }
            }
            Some(Token::Sign("{")) => {
                self.at += 1;
                self.list("}", Self::expression).map(Expression::Tuple)
            }
            _ => Err(self.expected("a value")),
        }
    }

    fn number(&mut self) -> Read<(u128, Option<u32>)> {
        let Some(Token::Number(text)) = self.peek() else { return Err(self.expected("a number")) };
        let number = read_number(text).ok_or_else(|| format!("{text} is too large a number"))?;
        self.at += 1;
        Ok(number)
    }
}

/// Operators of two arguments, and how strongly they bind.
const OPERATORS: &[(&str, BinaryOp, u8)] = &[
    ("&&&", BinaryOp::Mask, 0),
    ("||", BinaryOp::Or, 1),
    ("&&", BinaryOp::And, 2),
    ("==", BinaryOp::Equal, 3),
    ("!=", BinaryOp::Unequal, 3),
    ("<", BinaryOp::Less, 4),
    ("<=", BinaryOp::AtMost, 4),
    (">", BinaryOp::More, 4),
    (">=", BinaryOp::AtLeast, 4),
    ("|", BinaryOp::BitOr, 5),
    ("^", BinaryOp::BitXor, 6),
    ("&", BinaryOp::BitAnd, 7),
    ("<<", BinaryOp::ShiftLeft, 8),
    ("++", BinaryOp::Concatenate, 9),
    ("+", BinaryOp::Add, 9),
    ("-", BinaryOp::Subtract, 9),
    ("|+|", BinaryOp::AddSaturating, 9),
];

/// A number with its width: `0x7f`, `8w3`, `1_000`.
fn read_number(text: &str) -> Option<(u128, Option<u32>)> {
    let (bits, digits) = match text.split_once('w') {
        Some((bits, digits)) => (Some(bits.parse().ok()?), digits),
        None => (None, text),
    };
    let digits = digits.replace('_', "").to_ascii_lowercase();
    let value = if let Some(hex) = digits.strip_prefix("0x") {
        u128::from_str_radix(hex, 16)
    } else if let Some(binary) = digits.strip_prefix("0b") {
        u128::from_str_radix(binary, 2)
    } else {
        digits.parse()
    };
    Some((value.ok()?, bits))
}

/// The file that a directive includes; none if it is one of the language's, or a guard against a second inclusion.
fn include(directive: &str) -> Read<Option<String>> {
    let words: Vec<_> = directive.trim_start_matches('#').split_whitespace().collect();
    match words.as_slice() {
        ["include", file] if file.starts_with('<') => Ok(None),
        ["include", file] => Ok(Some(file.trim_matches('"').to_owned())),
        ["ifndef" | "define", _] | ["endif"] => Ok(None),
        _ => Err(format!("{directive} is a directive that this reader does not know")),
    }
}
