//! Open blocks of a shell script: `if`, `case`, and loops.

use super::condition::Condition;
use super::shell::Word;

/// An open block.
#[derive(Debug)]
pub enum Block<'s> {
    If(If<'s>),
    Case(Case<'s>),
    /// `for` over words: its variable and the words.
    For(Word<'s>, Vec<Word<'s>>),
    /// Another loop, whose commands may not run.
    Other,
}

impl<'s> Block<'s> {
    /// The conditions under which its current commands run; `None` if these cannot be decided.
    pub fn conditions(&self) -> Option<Vec<Condition<'s>>> {
        match self {
            Block::If(block) => block.conditions(),
            Block::Case(case) => Some(case.condition().into_iter().collect()),
            Block::For(..) => Some(Vec::new()),
            Block::Other => None,
        }
    }

    /// The variable and the words of a `for`.
    pub fn words(&self) -> Option<(Word<'s>, Vec<Word<'s>>)> {
        match self {
            Block::For(name, words) => Some((name.clone(), words.clone())),
            _ => None,
        }
    }

    /// Takes the words of `for NAME in WORD…`.
    pub fn loop_over(&mut self, words: &[Word<'s>]) {
        if let (Block::Other, [keyword, name, inside, words @ ..]) = (&*self, words)
            && (keyword.raw, inside.raw) == ("for", "in")
            && !words.is_empty()
        {
            *self = Block::For(name.clone(), words.to_vec());
        }
    }
}

/// An `if` and its branches.
#[derive(Debug, Default)]
pub struct If<'s> {
    /// The conditions of earlier branches.
    earlier: Vec<Vec<Word<'s>>>,
    /// The condition of the current branch: its one command.
    condition: Option<Vec<Word<'s>>>,
    /// Whether a condition is more than one command.
    is_complex: bool,
    /// Whether the condition has ended.
    in_branch: bool,
}

impl<'s> If<'s> {
    /// `then`, `elif` or `else`.
    pub fn keyword(&mut self, word: &str) {
        if word != "then" {
            self.is_complex |= self.condition.is_none();
            self.earlier.extend(self.condition.take());
        }
        self.in_branch = word != "elif";
    }

    /// Whether what comes next is a condition.
    pub fn reads_condition(&self) -> bool {
        !self.in_branch
    }

    /// Takes the command of a condition.
    pub fn command(&mut self, words: &[Word<'s>], operator: &str) {
        if self.in_branch || words.is_empty() {
            return;
        }
        self.is_complex |= self.condition.is_some() || operator != ";";
        self.condition = Some(words.to_vec());
    }

    fn conditions(&self) -> Option<Vec<Condition<'s>>> {
        if self.is_complex || !self.in_branch {
            return None;
        }
        let earlier = self.earlier.iter().cloned();
        let earlier = earlier.map(|words| Condition::test(words, false));
        let own = self.condition.iter().cloned();
        let own = own.map(|words| Condition::test(words, true));
        Some(earlier.chain(own).collect())
    }
}

/// A `case` and its branches.
#[derive(Debug)]
pub struct Case<'s> {
    subject: Option<Word<'s>>,
    /// The patterns of the current branch.
    patterns: Vec<Word<'s>>,
    /// Those of earlier branches.
    earlier: Vec<Word<'s>>,
    /// Whether its subject or the patterns of a branch are being read.
    pub reads_patterns: bool,
}

impl<'s> Case<'s> {
    /// Nothing was read after the keyword.
    pub fn new() -> Self {
        Case {
            subject: None,
            patterns: Vec::new(),
            earlier: Vec::new(),
            reads_patterns: true,
        }
    }

    /// A word before a branch.
    pub fn word(&mut self, word: Word<'s>) {
        let is_in = word.raw == "in" && self.patterns.is_empty() && self.earlier.is_empty();
        match self.subject {
            None => self.subject = Some(word),
            Some(_) if is_in => {}
            Some(_) => self.patterns.push(word),
        }
    }

    /// `;;`: the next branch.
    pub fn next(&mut self) {
        self.earlier.append(&mut self.patterns);
        self.reads_patterns = true;
    }

    fn condition(&self) -> Option<Condition<'s>> {
        let subject = self.subject.clone()?;
        Some(Condition::Case {
            subject,
            patterns: self.patterns.clone(),
            earlier: self.earlier.clone(),
        })
    }
}
