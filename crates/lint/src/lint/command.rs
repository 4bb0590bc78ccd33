//! The commands of a shell script, and whether each of them always runs.

use super::blocks::{Block, Case, If};
use super::condition::Condition;
use super::shell::{Script, Token, Word};

/// A command.
#[derive(Debug, Default)]
pub struct Command<'s> {
    /// Its words, the program first, without keywords such as `then`.
    pub words: Vec<Word<'s>>,
    /// The files that its output is redirected to.
    pub outputs: Vec<Word<'s>>,
    /// Whether it may not run: it is in a loop, after `||`, or depends on a condition that cannot be decided.
    pub conditional: bool,
    /// The conditions under which it runs.
    pub conditions: Vec<Condition<'s>>,
    /// Whether its output is piped to the next command.
    pub piped: bool,
    /// Whether a here-document is its standard input.
    pub here_document: bool,
    /// The `for` loops around it: their variable and words.
    pub loops: Vec<(Word<'s>, Vec<Word<'s>>)>,
}

/// Keywords before a program.
const BEFORE: &[&str] = &["do", "!"];

/// Programs that only test something.
const TESTS: &[&str] = &[
    "[", "[[", "test", "grep", "command", "which", "type", "hash", "false",
];

/// The maximum nesting of parentheses, and of blocks that are told apart.
const MAX_DEPTH: usize = 64;

/// The maximum number of loops around a command whose words are followed.
const MAX_LOOPS: usize = 3;

/// The maximum number of conditions of a command that are followed.
const MAX_CONDITIONS: usize = 16;

/// Whether the next command always runs.
#[derive(Debug, Clone, Default)]
struct Chain<'s> {
    /// It is after `||`, in a function, or after a test that cannot be decided.
    is_open: bool,
    /// The tests before `&&`.
    tests: Vec<Condition<'s>>,
}

#[derive(Default)]
struct Reader<'s> {
    commands: Vec<Command<'s>>,
    current: Command<'s>,
    chain: Chain<'s>,
    /// The chains outside of open parentheses and braces.
    outside: Vec<Chain<'s>>,
    /// Open `if`, `for`, `while` and `case` blocks.
    blocks: Vec<Block<'s>>,
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
    reader.end(";");
    reader.commands
}

impl<'s> Reader<'s> {
    fn word(&mut self, word: Word<'s>) {
        if let Some(Block::Case(case)) = self.blocks.last_mut()
            && self.deeper == 0
            && case.reads_patterns
            && word.raw != "esac"
        {
            case.word(word);
            return;
        }
        let opens_body = self.in_function && word.raw == "{";
        if !self.current.words.is_empty() && !opens_body {
            self.current.words.push(word);
            return;
        }
        match word.raw {
            "function" => self.in_function = true,
            "if" => self.open_block(Block::If(If::default())),
            "case" => self.open_block(Block::Case(Case::new())),
            "for" | "while" | "until" | "select" => {
                self.open_block(Block::Other);
                // The condition or list is read as an unknown command.
                self.current.words.push(word);
            }
            "fi" | "done" | "esac" if self.deeper > 0 => self.deeper -= 1,
            "fi" | "done" | "esac" => drop(self.blocks.pop()),
            "then" | "elif" | "else" => {
                if let Some(Block::If(block)) = self.blocks.last_mut()
                    && self.deeper == 0
                {
                    block.keyword(word.raw);
                }
            }
            "{" => {
                self.current = Command::default();
                self.open();
            }
            "}" => self.close(),
            "!" if matches!(self.blocks.last(), Some(Block::If(it)) if it.reads_condition()) => {
                self.current.words.push(word);
            }
            raw if BEFORE.contains(&raw) => {}
            _ => self.current.words.push(word),
        }
    }

    fn open_block(&mut self, block: Block<'s>) {
        match self.blocks.len() < MAX_DEPTH {
            true => self.blocks.push(block),
            false => self.deeper += 1,
        }
    }

    fn operator(&mut self, operator: &str) {
        if let Some(Block::Case(case)) = self.blocks.last_mut()
            && self.deeper == 0
        {
            if case.reads_patterns {
                case.reads_patterns = operator != ")";
                return;
            }
            if operator == ";;" {
                self.end(";");
                if let Some(Block::Case(case)) = self.blocks.last_mut() {
                    case.next();
                }
                self.chain = Chain::default();
                return;
            }
        }
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
        let words = &self.current.words;
        let test = words.first().is_some_and(|it| TESTS.contains(&it.raw));
        let test = test.then(|| words.clone());
        self.end(operator);
        match operator {
            "&&" => match test {
                Some(words) if self.chain.tests.len() < MAX_CONDITIONS => {
                    self.chain.tests.push(Condition::test(words, true));
                }
                Some(_) => self.chain.is_open = true,
                None => {}
            },
            "||" => {
                self.chain = Chain {
                    is_open: true,
                    tests: Vec::new(),
                }
            }
            "(" => self.open(),
            ")" => self.close(),
            ";" | ";;" | "&" => self.chain = Chain::default(),
            _ => {}
        }
    }

    fn open(&mut self) {
        if self.outside.len() < MAX_DEPTH {
            // Whether a function is called is unknown.
            let in_function = std::mem::take(&mut self.in_function);
            self.outside.push(Chain {
                is_open: self.chain.is_open || in_function,
                tests: self.chain.tests.clone(),
            });
        }
    }

    fn close(&mut self) {
        if let Some(chain) = self.outside.pop() {
            self.chain = chain;
        }
    }

    /// Ends a command; `operator` is what follows it.
    fn end(&mut self, operator: &str) {
        let mut command = std::mem::take(&mut self.current);
        if self.deeper == 0 {
            match self.blocks.last_mut() {
                Some(Block::If(block)) => block.command(&command.words, operator),
                Some(block) => block.loop_over(&command.words),
                None => {}
            }
            let loops = self.blocks.iter().filter_map(Block::words);
            if loops.clone().count() > MAX_LOOPS
                && let Some(block) = self.blocks.last_mut()
            {
                *block = Block::Other;
            }
        }
        let chains = || self.outside.iter().chain([&self.chain]);
        let conditions: Option<Vec<_>> = self.blocks.iter().map(Block::conditions).collect();
        let is_open = self.deeper > 0 || conditions.is_none() || chains().any(|it| it.is_open);
        let of_blocks = conditions.into_iter().flatten().flatten();
        let tests = chains().flat_map(|chain| chain.tests.iter().cloned());
        let mut conditions: Vec<_> = of_blocks.chain(tests).take(MAX_CONDITIONS + 1).collect();
        command.conditional = is_open || conditions.len() > MAX_CONDITIONS;
        if command.conditional {
            conditions.clear();
        }
        command.conditions = conditions;
        command.loops = self.blocks.iter().filter_map(Block::words).collect();
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
            let is_certain = !command.conditional && command.conditions.is_empty();
            (words.join(" "), !is_certain)
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
            certain("(case $x in (a|b) c;; esac)\nd; case $x in\na) b\n;;\nesac; e"),
            ["d", "e"]
        );
        assert_eq!(
            certain("for x in a b; do c $x; done\nd"),
            ["for x in a b", "c $x", "d"]
        );
        assert_eq!(certain("for x; do c; done; while a; do b; done; d"), ["d"]);
        assert_eq!(certain("{ a; b; } && sudo c"), ["a", "b", "sudo c"]);
    }

    #[test]
    fn conditions_are_decided_if_their_words_are_known() {
        let runs = |text: &str| {
            let script = Script {
                text,
                offset: 0,
                escape: '\\',
                instruction: true,
            };
            let values = |name: &str| match name {
                "ARCH" => Some("amd64".to_owned()),
                "EMPTY" => Some(String::new()),
                _ => None,
            };
            let value = |word: &Word<'_>| Some(script.value(word, &values)).filter(|it| it.known);
            let commands = commands(&script).into_iter();
            let answers = commands.map(|command| {
                let answers = command.conditions.iter();
                let answer = answers.map(|it| it.holds(&|word| Some(value(word)?.text)));
                let all: Vec<_> = answer.collect();
                let runs = match all.contains(&Some(false)) {
                    true => Some(false),
                    false => (!all.contains(&None) && !command.conditional).then_some(true),
                };
                (command.words[0].raw.to_owned(), runs)
            });
            let mut found: Vec<_> = answers.filter(|(name, _)| name.len() == 1).collect();
            found.retain(|(name, _)| !["[", "!"].contains(&name.as_str()));
            found
                .into_iter()
                .map(|(name, runs)| match runs {
                    Some(true) => format!("+{name}"),
                    Some(false) => format!("-{name}"),
                    None => format!("?{name}"),
                })
                .collect::<Vec<_>>()
                .join(" ")
        };
        for (text, expected) in [
            (
                "if [ \"$ARCH\" = amd64 ]; then a; else b; fi; c",
                "+a -b +c",
            ),
            (
                "if [ $ARCH != amd64 ]; then a; elif [ $ARCH = amd64 ]; then b; else d; fi",
                "-a +b -d",
            ),
            ("if [[ $ARCH == arm* ]]; then a; fi", "?a"),
            ("if [ \"$X\" = y ]; then a; else b; fi", "?a ?b"),
            (
                "if [ -n \"$EMPTY\" ]; then a; fi; if [ -z \"$EMPTY\" ]\nthen\nb\nfi",
                "-a +b",
            ),
            ("if ! [ $ARCH = amd64 ]; then a; else b; fi", "-a +b"),
            ("if [ $ARCH = amd64 ] && x; then a; fi", "?x ?a"),
            ("if [ $ARCH = amd64 -a 1 = 2 ]; then a; fi", "?a"),
            ("[ $ARCH = arm64 ] && a; b", "-a +b"),
            ("[ $ARCH = arm64 ] && a || b", "-a ?b"),
            (
                "case $ARCH in arm64) a;; amd64|x86) b; c;; *) d;; esac; e",
                "-a +b +c -d +e",
            ),
            ("case $X in arm64) a;; *) d;; esac", "?a ?d"),
            (
                "if [ $ARCH = amd64 ]; then if [ $ARCH = arm64 ]; then a; fi; b; fi",
                "-a +b",
            ),
            ("f() { [ $ARCH = amd64 ] && a; }; f", "?a +f"),
        ] {
            assert_eq!(runs(text), expected, "{text}");
        }
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
