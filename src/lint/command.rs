//! The commands of a shell script, and whether each of them always runs.

use super::shell::{Script, Token, Word};

/// A command.
#[derive(Debug, Default)]
pub struct Command<'s> {
    /// Its words, the program first, without keywords such as `then`.
    pub words: Vec<Word<'s>>,
    /// The files that its output is redirected to.
    pub outputs: Vec<Word<'s>>,
    /// Whether it may not run: it is in an `if`, a loop or a `case`, after `||`, or after a test.
    pub conditional: bool,
    /// Whether its output is piped to the next command.
    pub piped: bool,
    /// Whether a here-document is its standard input.
    pub here_document: bool,
}

/// Keywords before a program.
const BEFORE: &[&str] = &["then", "do", "else", "!"];

/// Programs that only test something.
const TESTS: &[&str] = &[
    "[", "[[", "test", "grep", "command", "which", "type", "hash", "false",
];

/// The maximum nesting of parentheses.
const MAX_DEPTH: usize = 64;

/// Whether the next command always runs.
#[derive(Debug, Clone, Copy, Default)]
struct Chain {
    after_or: bool,
    after_test: bool,
}

#[derive(Default)]
struct Reader<'s> {
    commands: Vec<Command<'s>>,
    current: Command<'s>,
    chain: Chain,
    /// The chains outside of open parentheses and braces.
    outside: Vec<Chain>,
    /// Number of open `if`, `for`, `while` and `case` blocks.
    blocks: usize,
}

/// The commands of a script, in order.
pub fn commands<'s>(script: &Script<'s>) -> Vec<Command<'s>> {
    let mut reader = Reader::default();
    let mut tokens = script.tokens().into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            Token::Word(word) => reader.word(word),
            Token::Operator(operator @ (">" | ">>" | ">&" | "<" | "<<")) => {
                let target = tokens.next_if(|next| matches!(next, Token::Word(_)));
                match (operator, target) {
                    (">" | ">>", Some(Token::Word(word))) => reader.current.outputs.push(word),
                    ("<<", _) => reader.current.here_document = true,
                    _ => {}
                }
            }
            Token::Operator(operator) => reader.operator(operator),
        }
    }
    reader.end();
    reader.commands
}

impl<'s> Reader<'s> {
    fn word(&mut self, word: Word<'s>) {
        if !self.current.words.is_empty() {
            self.current.words.push(word);
            return;
        }
        match word.raw {
            "if" | "for" | "while" | "until" | "case" | "select" => {
                self.blocks += 1;
                // The condition or list is read as an unknown command.
                if word.raw != "if" {
                    self.current.words.push(word);
                }
            }
            "fi" | "done" | "esac" => self.blocks = self.blocks.saturating_sub(1),
            "{" => self.open(),
            "}" => self.close(),
            "elif" => {}
            raw if BEFORE.contains(&raw) => {}
            _ => self.current.words.push(word),
        }
    }

    fn operator(&mut self, operator: &str) {
        self.current.piped = operator == "|";
        let test = self
            .current
            .words
            .first()
            .is_some_and(|word| TESTS.contains(&word.raw));
        self.end();
        match operator {
            "&&" => self.chain.after_test |= test,
            "||" => self.chain.after_or = true,
            "(" => self.open(),
            ")" => self.close(),
            ";" | "&" => self.chain = Chain::default(),
            _ => {}
        }
    }

    fn open(&mut self) {
        if self.outside.len() < MAX_DEPTH {
            self.outside.push(self.chain);
        }
    }

    fn close(&mut self) {
        if let Some(chain) = self.outside.pop() {
            self.chain = chain;
        }
    }

    fn end(&mut self) {
        let outer = self
            .outside
            .iter()
            .any(|chain| chain.after_or || chain.after_test);
        let chain = self.chain;
        let mut command = std::mem::take(&mut self.current);
        command.conditional = self.blocks > 0 || outer || chain.after_or || chain.after_test;
        if !command.words.is_empty() || !command.outputs.is_empty() {
            self.commands.push(command);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(String, bool)> {
        let script = Script {
            text,
            offset: 0,
            escape: '\\',
            instruction: true,
        };
        let words = |command: &Command| {
            let words: Vec<&str> = command.words.iter().map(|word| word.raw).collect();
            (words.join(" "), command.conditional)
        };
        commands(&script).iter().map(words).collect()
    }

    fn certain(text: &str) -> Vec<String> {
        let commands = read(text).into_iter();
        commands
            .filter(|(_, conditional)| !conditional)
            .map(|(words, _)| words)
            .collect()
    }

    #[test]
    fn conditional_commands_are_recognized() {
        assert_eq!(certain("a && b; c || d; e"), ["a", "b", "c", "e"]);
        assert_eq!(certain("if [ x ]; then a; else b; fi; c"), ["c"]);
        assert_eq!(certain("[ x ] && a; b"), ["[ x ]", "b"]);
        assert_eq!(certain("(a || b) && c"), ["a", "c"]);
        assert_eq!(certain("case $x in cu118) a;; *) b;; esac && c"), ["c"]);
        assert_eq!(certain("for x in a b; do c $x; done\nd"), ["d"]);
        assert_eq!(certain("{ a; b; } && sudo c"), ["a", "b", "sudo c"]);
    }

    #[test]
    fn outputs_and_pipes_are_recognized() {
        let script = Script {
            text: "echo a | tee /x; echo b 2>/dev/null >> /y; cat <<E > /z",
            offset: 0,
            escape: '\\',
            instruction: true,
        };
        let found = commands(&script);
        assert!(found[0].piped && found[0].outputs.is_empty());
        assert_eq!(
            found[2]
                .outputs
                .iter()
                .map(|word| word.raw)
                .collect::<Vec<_>>(),
            ["/dev/null", "/y"]
        );
        assert!(found[3].here_document);
        assert_eq!(found[3].outputs[0].raw, "/z");
    }

    #[test]
    fn deep_nesting_is_limited() {
        assert!(read(&"(".repeat(100_000)).is_empty());
        assert_eq!(read(&format!("{}a", "if ".repeat(10_000))).len(), 1);
    }
}
