//! Parses commands: the grammar of POSIX shells, and what bash adds.

use super::parser::{Parser, Problem, Until, refused};
use super::recovery::MAX_REPARSED;
use super::syntax::{CommandKind, Connective, Item, List, Piece, Pipeline, Word};
use super::words::ends_word;

/// A script, of which a shell runs the lines before what cannot be parsed.
pub(super) struct Script {
    pub lines: List,
    /// What cannot be parsed, and its line.
    pub problem: Option<(usize, Problem)>,
}

/// Parses a script.
pub(super) fn script(text: &str, bash: bool, extglob: bool) -> Script {
    let mut parser = Parser::new(text, bash, extglob);
    let mut lines = List::new();
    let problem = parser.lines(&mut lines).err();
    Script {
        lines,
        problem: problem.map(|it| (parser.cursor.line(), it)),
    }
}

/// Parses a script as bash does, except that it goes on behind what cannot be parsed: that is an unknown command of one word, or an
/// unknown word. What is still open at the end is closed there.
///
/// # Errors
/// Too much cannot be parsed: the position, and what is wrong.
pub fn tolerant(text: &str) -> Result<List, (usize, String)> {
    let mut parser = Parser {
        reparsable: MAX_REPARSED,
        ..Parser::new(text, true, false)
    };
    let mut lines = List::new();
    match parser.lines(&mut lines) {
        Ok(()) => Ok(lines),
        Err(problem) => Err((parser.cursor.offset(), problem.to_string())),
    }
}

/// Whether a command is `shopt` that turns `extglob` on or off, which changes how bash reads the lines behind it.
fn sets_extglob(item: &Item) -> Option<bool> {
    let CommandKind::Simple { words, .. } = &item.first.commands.first()?.kind else {
        return None;
    };
    let words: Vec<&str> = words.iter().filter_map(Word::plain).collect();
    match words.as_slice() {
        ["shopt", option @ ("-s" | "-u"), names @ ..] if names.contains(&"extglob") => {
            Some(*option == "-s")
        }
        _ => None,
    }
}

impl Parser<'_> {
    fn lines(&mut self, lines: &mut List) -> Result<(), Problem> {
        while let Some(line) = self.line()? {
            if let Some(on) = line.iter().rev().find_map(sets_extglob) {
                self.extglob = on;
            }
            lines.extend(line);
        }
        Ok(())
    }

    /// The commands up to the end of a line, as a shell reads them; `None` at the end.
    pub(super) fn line(&mut self) -> Result<Option<List>, Problem> {
        self.newlines()?;
        if self.cursor.peek().is_none() {
            return Ok(None);
        }
        let mut list = List::new();
        loop {
            list.push(self.item()?);
            self.separator_blanks();
            match self.cursor.peek() {
                None => break,
                Some('\n') => {
                    self.newline()?;
                    break;
                }
                _ => {}
            }
        }
        Ok(Some(list))
    }

    /// The list of a whole text.
    pub fn whole(&mut self) -> Result<List, Problem> {
        let list = self.list(&[])?;
        match self.cursor.peek() {
            None => Ok(list),
            Some(c) => refused(format!("an unexpected `{c}`")),
        }
    }

    /// A list and the `)` behind it.
    pub fn list_in_parentheses(&mut self) -> Result<List, Problem> {
        let list = self.list(&[])?;
        match self.cursor.eat(")") || self.closes() {
            true => Ok(list),
            false => refused("a parenthesis that is not closed"),
        }
    }

    /// Commands up to one of these reserved words, a `)`, `;;` or the end, which is not passed.
    pub(super) fn list(&mut self, ends: &[&str]) -> Result<List, Problem> {
        self.check_blocks()?;
        let mut list = List::new();
        loop {
            self.newlines()?;
            let rest = self.cursor.rest();
            let at_end = rest.is_empty()
                || rest.starts_with(')')
                || rest.starts_with(";;")
                || rest.starts_with(";&")
                || self.reserved().is_some_and(|word| ends.contains(&word));
            if at_end {
                return Ok(list);
            }
            list.push(self.item()?);
        }
    }

    /// Passes blanks, comments and ends of lines.
    pub(super) fn newlines(&mut self) -> Result<(), Problem> {
        loop {
            self.separator_blanks();
            match self.cursor.peek() {
                Some('\n') => self.newline()?,
                _ => return Ok(()),
            }
        }
    }

    pub(super) fn separator_blanks(&mut self) {
        self.cursor.blanks();
        if self.cursor.peek() == Some('#') {
            self.cursor.take_while(|c| c != '\n');
        }
    }

    /// Passes the end of a line, and the here-documents behind it.
    pub(super) fn newline(&mut self) -> Result<(), Problem> {
        self.cursor.skip(1);
        for here in std::mem::take(&mut self.here) {
            let mut body = String::new();
            let mut span = self.cursor.offset()..self.cursor.offset();
            while let Some(line) = self.cursor.take_line() {
                let line = match here.strip_tabs {
                    true => line.trim_start_matches('\t'),
                    false => line,
                };
                if line == here.delimiter {
                    break;
                }
                body.push_str(line);
                body.push('\n');
                span.end = self.cursor.offset();
            }
            let word = match here.literal {
                true => Word {
                    pieces: vec![Piece::Literal {
                        text: body,
                        quoted: true,
                    }],
                    ..Word::default()
                },
                false => {
                    let mut parser = self.of(&body, self.cursor.line());
                    let word = parser.word(Until::End, false);
                    // Shells differ in when they parse it.
                    word.map_err(|problem| Problem::NotModeled(problem.to_string()))?
                }
            };
            let _ = here.body.set(Word { span, ..word });
        }
        Ok(())
    }

    pub(super) fn item(&mut self) -> Result<Item, Problem> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.cursor.blanks();
            let connective = if self.cursor.eat("&&") {
                Connective::And
            } else if self.cursor.eat("||") {
                Connective::Or
            } else {
                break;
            };
            self.newlines()?;
            rest.push((connective, self.pipeline()?));
        }
        self.cursor.blanks();
        let text = self.cursor.rest();
        let background = text.starts_with('&');
        if background
            || (text.starts_with(';') && !text.starts_with(";;") && !text.starts_with(";&"))
        {
            self.cursor.skip(1);
        }
        Ok(Item {
            first,
            rest,
            background,
        })
    }

    pub(super) fn pipeline(&mut self) -> Result<Pipeline, Problem> {
        self.cursor.blanks();
        if self.bash && self.reserved() == Some("time") {
            self.take_reserved();
            self.cursor.blanks();
            if self.reserved() == Some("-p") {
                self.take_reserved();
            }
        }
        self.cursor.blanks();
        let negated = self.reserved() == Some("!");
        if negated {
            self.take_reserved();
        }
        let mut commands = vec![self.command_or_unknown()?];
        loop {
            self.cursor.blanks();
            let text = self.cursor.rest();
            if !text.starts_with('|') || text.starts_with("||") {
                break;
            }
            self.cursor.skip(1);
            if self.bash {
                self.cursor.eat("&");
            }
            self.newlines()?;
            commands.push(self.command_or_unknown()?);
        }
        Ok(Pipeline { negated, commands })
    }

    /// The word here, if it is written without quotes and may be reserved.
    pub(super) fn reserved(&self) -> Option<&str> {
        let rest = self.cursor.rest();
        let end = rest.find(ends_word).unwrap_or(rest.len());
        let word = &rest[..end];
        (!word.is_empty() && !word.contains(['\'', '"', '\\', '$', '`'])).then_some(word)
    }

    pub(super) fn take_reserved(&mut self) {
        self.cursor.take_while(|c| !ends_word(c));
    }

    pub(super) fn expect(&mut self, word: &str) -> Result<(), Problem> {
        self.newlines()?;
        match self.reserved() == Some(word) {
            true => {
                self.take_reserved();
                Ok(())
            }
            false if self.closes() => Ok(()),
            // Undocumented: bash takes braces for `do` and `done`.
            false if self.bash && word == "do" => Err("a loop without `do`".into()),
            false => refused(format!("a missing `{word}`")),
        }
    }
}
