//! Parses compound commands and functions (POSIX.1-2024, Shell Command Language, 2.9.4).

use std::rc::Rc;

use imgcheck_base::excerpt::without_cut_word;

use super::parser::{Parser, Problem, Until, refused};
use super::syntax::{Arm, Command, CommandKind, Item, List, Redirect, TestToken, Word};
use super::words::{ends_word, is_name};

/// How much of a command a message quotes.
const QUOTED: usize = 70;

const TEST_OPERATORS: [&str; 6] = ["&&", "||", "(", ")", "<", ">"];

impl Parser<'_> {
    pub(super) fn command(&mut self) -> Result<Command, Problem> {
        self.cursor.blanks();
        let (line, start) = (self.cursor.line(), self.cursor.offset());
        let (kind, mut redirects) = self.command_kind()?;
        if !matches!(
            kind,
            CommandKind::Simple { .. } | CommandKind::Function { .. }
        ) {
            loop {
                self.cursor.blanks();
                match self.redirect()? {
                    Some(redirect) => redirects.push(redirect),
                    None => break,
                }
            }
        }
        let first_line = self.cursor.since(start).lines().next().unwrap_or_default();
        Ok(Command {
            line,
            text: without_cut_word(first_line.trim(), QUOTED).into(),
            kind,
            redirects,
        })
    }

    pub(super) fn command_kind(&mut self) -> Result<(CommandKind, Vec<Redirect>), Problem> {
        let compound = |kind| Ok((kind, Vec::new()));
        if self.bash && self.cursor.rest().starts_with("((") {
            self.cursor.skip(2);
            return compound(CommandKind::Arithmetic(self.arithmetic()?));
        }
        if self.cursor.eat("(") {
            return compound(CommandKind::Subshell(self.list_in_parentheses()?));
        }
        let word = self.reserved().unwrap_or_default().to_owned();
        let kind = match word.as_str() {
            "{" => {
                self.take_reserved();
                let list = self.list(&["}"])?;
                self.expect("}")?;
                CommandKind::Group(list)
            }
            "if" => self.if_command()?,
            "while" | "until" => {
                self.take_reserved();
                let condition = self.list(&["do"])?;
                CommandKind::While {
                    until: word == "until",
                    condition,
                    body: self.do_group()?,
                }
            }
            "for" => self.for_command()?,
            "case" => self.case_command()?,
            "[[" if self.bash => self.test_command()?,
            "function" if self.bash => {
                self.take_reserved();
                self.cursor.blanks();
                let name = self.cursor.take_while(|c| !ends_word(c)).to_owned();
                self.cursor.blanks();
                if self.cursor.eat("(") {
                    self.cursor.blanks();
                    if !self.cursor.eat(")") {
                        return Err("a function".into());
                    }
                }
                self.function(name)?
            }
            "select" | "coproc" if self.bash => return Err(format!("`{word}`").into()),
            "then" | "else" | "elif" | "fi" | "do" | "done" | "esac" | "}" | "in" => {
                return match word.as_str() {
                    "in" => self.simple(),
                    _ => refused(format!("an unexpected `{word}`")),
                };
            }
            _ => return self.simple(),
        };
        compound(kind)
    }

    pub(super) fn function(&mut self, name: String) -> Result<CommandKind, Problem> {
        self.newlines()?;
        let body = self.nested(Self::command)?;
        Ok(CommandKind::Function {
            name,
            body: Rc::new(body),
        })
    }

    pub(super) fn if_command(&mut self) -> Result<CommandKind, Problem> {
        self.take_reserved();
        let mut branches = Vec::new();
        loop {
            let condition = self.list(&["then"])?;
            self.expect("then")?;
            let body = self.list(&["elif", "else", "fi"])?;
            branches.push((condition, body));
            match self.reserved() {
                Some("elif") => self.take_reserved(),
                _ => break,
            }
        }
        let otherwise = match self.reserved() {
            Some("else") => {
                self.take_reserved();
                Some(self.list(&["fi"])?)
            }
            _ => None,
        };
        self.expect("fi")?;
        Ok(CommandKind::If {
            branches,
            otherwise,
        })
    }

    pub(super) fn do_group(&mut self) -> Result<List, Problem> {
        self.expect("do")?;
        let body = self.list(&["done"])?;
        self.expect("done")?;
        Ok(body)
    }

    pub(super) fn for_command(&mut self) -> Result<CommandKind, Problem> {
        let (line, start) = (self.cursor.line(), self.cursor.offset());
        self.take_reserved();
        self.cursor.blanks();
        if self.bash && self.cursor.eat("((") {
            // How often it runs is unknown, as is what its variables become.
            let kind = CommandKind::Arithmetic(self.arithmetic()?);
            let text = self.cursor.since(start).into();
            self.cursor.blanks();
            self.cursor.eat(";");
            return Ok(CommandKind::While {
                until: false,
                condition: vec![Item::of(Command {
                    line,
                    text,
                    kind,
                    redirects: Vec::new(),
                })],
                body: self.do_group()?,
            });
        }
        let name = self.cursor.take_while(|c| !ends_word(c)).to_owned();
        if !is_name(&name) {
            return match self.bash {
                true => Err("a `for` loop".into()),
                false => refused("a `for` without the name of a variable"),
            };
        }
        self.newlines()?;
        let mut words = None;
        if self.reserved() == Some("in") {
            self.take_reserved();
            words = Some(self.words()?);
        }
        self.cursor.blanks();
        self.cursor.eat(";");
        Ok(CommandKind::For {
            name,
            words,
            body: self.do_group()?,
        })
    }

    /// The words up to an operator.
    pub(super) fn words(&mut self) -> Result<Vec<Word>, Problem> {
        let mut words = Vec::new();
        loop {
            self.separator_blanks();
            let is_end = |c| ends_word(c) && !matches!(c, '<' | '>');
            if self.cursor.peek().is_none_or(is_end) {
                return Ok(words);
            }
            words.push(self.some_word()?);
        }
    }

    /// A word that is not empty.
    pub(super) fn some_word(&mut self) -> Result<Word, Problem> {
        let start = self.cursor.offset();
        let word = self.word(Until::Blank, false)?;
        match self.cursor.offset() == start {
            true => self.unclosed("an operator without a word"),
            false => Ok(word),
        }
    }

    pub(super) fn case_command(&mut self) -> Result<CommandKind, Problem> {
        self.take_reserved();
        self.cursor.blanks();
        let word = self.some_word()?;
        self.expect("in")?;
        let mut arms = Vec::new();
        loop {
            self.newlines()?;
            if self.reserved() == Some("esac") || self.closes() {
                self.take_reserved();
                return Ok(CommandKind::Case { word, arms });
            }
            self.cursor.eat("(");
            let mut patterns = Vec::new();
            loop {
                self.cursor.blanks();
                patterns.push(self.some_word()?);
                self.cursor.blanks();
                if !self.cursor.eat("|") {
                    break;
                }
            }
            if !self.cursor.eat(")") {
                return Err("a pattern of `case`".into());
            }
            let body = self.list(&["esac"])?;
            let ends = [";;&", ";;", ";&"];
            let end = ends.into_iter().find(|end| self.cursor.eat(end));
            arms.push(Arm {
                patterns,
                body,
                end: end.unwrap_or(";;"),
            });
            if end.is_none() && self.reserved() != Some("esac") && !self.closes() {
                return refused("a missing `esac`");
            }
        }
    }

    pub(super) fn test_command(&mut self) -> Result<CommandKind, Problem> {
        self.take_reserved();
        let mut tokens = Vec::new();
        loop {
            self.newlines()?;
            if self.reserved() == Some("]]") {
                self.take_reserved();
                return Ok(CommandKind::Test(tokens));
            }
            if self.reserved() == Some("=~") {
                self.take_reserved();
                self.cursor.blanks();
                let mut quote = None;
                let expression = self.cursor.take_while(|c| match quote {
                    Some(open) => {
                        quote = quote.filter(|_| c != open);
                        true
                    }
                    None => {
                        quote = Some(c).filter(|c| matches!(c, '\'' | '"'));
                        !c.is_whitespace()
                    }
                });
                if expression.contains("$(") || expression.contains('`') {
                    return Err("a command within a regular expression".into());
                }
                tokens.push(TestToken::Regex);
                continue;
            }
            let operator = TEST_OPERATORS.into_iter().find(|it| self.cursor.eat(it));
            tokens.push(match operator {
                Some(operator) => TestToken::Operator(operator),
                None => TestToken::Word(self.some_word()?),
            });
        }
    }
}
