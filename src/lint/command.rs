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
    /// The `for` loops around it: their variable and words.
    pub loops: Vec<(Word<'s>, Vec<Word<'s>>)>,
}

/// Keywords before a program.
const BEFORE: &[&str] = &["then", "do", "else", "!"];

/// Programs that only test something.
const TESTS: &[&str] = &[
    "[", "[[", "test", "grep", "command", "which", "type", "hash", "false",
];

/// The maximum nesting of parentheses, and of blocks that are told apart.
const MAX_DEPTH: usize = 64;

/// The maximum number of loops around a command whose words are followed.
const MAX_LOOPS: usize = 3;

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
    /// Open `if`, `for`, `while` and `case` blocks; a `for` over words with its variable and words.
    blocks: Vec<Option<(Word<'s>, Vec<Word<'s>>)>>,
    /// The number of open blocks beyond [`MAX_DEPTH`].
    deeper: usize,
    /// Whether a function was named, whose body comes next.
    in_function: bool,
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
        let opens_body = self.in_function && word.raw == "{";
        if !self.current.words.is_empty() && !opens_body {
            self.current.words.push(word);
            return;
        }
        match word.raw {
            "function" => self.in_function = true,
            "if" | "for" | "while" | "until" | "case" | "select" => {
                match self.blocks.len() < MAX_DEPTH {
                    true => self.blocks.push(None),
                    false => self.deeper += 1,
                }
                // The condition or list is read as an unknown command.
                if word.raw != "if" {
                    self.current.words.push(word);
                }
            }
            "fi" | "done" | "esac" if self.deeper > 0 => self.deeper -= 1,
            "fi" | "done" | "esac" => drop(self.blocks.pop()),
            "{" => {
                self.current = Command::default();
                self.open();
            }
            "}" => self.close(),
            "elif" => {}
            raw if BEFORE.contains(&raw) => {}
            _ => self.current.words.push(word),
        }
    }

    fn operator(&mut self, operator: &str) {
        // `name() {`
        let names = &self.current.words;
        if operator == "(" && names.len() == 1 && !names[0].raw.ends_with('=') {
            self.current = Command::default();
            self.in_function = true;
            return;
        }
        if operator == ")" && self.in_function {
            return;
        }
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
            // Whether a function is called is unknown.
            let in_function = std::mem::take(&mut self.in_function);
            self.outside.push(Chain {
                after_test: self.chain.after_test || in_function,
                ..self.chain
            });
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
        if let [keyword, name, inside, words @ ..] = command.words.as_slice()
            && (keyword.raw, inside.raw) == ("for", "in")
            && !words.is_empty()
            && self.deeper == 0
            && self.blocks.iter().flatten().count() < MAX_LOOPS
            && let Some(block) = self.blocks.last_mut()
        {
            *block = Some((name.clone(), words.to_vec()));
        }
        let in_block = self.deeper > 0 || self.blocks.iter().any(Option::is_none);
        command.conditional = in_block || outer || chain.after_or || chain.after_test;
        command.loops = self.blocks.iter().flatten().cloned().collect();
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
        assert_eq!(certain("f() {\n a\n b\n}\nf; c"), ["f", "c"]);
        assert_eq!(
            certain("function f {\n a\n}\nx=(a b); c"),
            ["x=", "a b", "c"]
        );
        assert_eq!(certain("case $x in cu118) a;; *) b;; esac && c"), ["c"]);
        assert_eq!(
            certain("for x in a b; do c $x; done\nd"),
            ["for x in a b", "c $x", "d"]
        );
        assert_eq!(certain("for x; do c; done; while a; do b; done; d"), ["d"]);
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
        let many = "if a; for x in b; do\n".repeat(20_000);
        assert_eq!(read(&many).len(), 40_000);
        let closed = format!("{}{}c", "if a; then\n".repeat(100), "fi\n".repeat(100));
        assert_eq!(certain(&closed), ["c"]);
    }
}
