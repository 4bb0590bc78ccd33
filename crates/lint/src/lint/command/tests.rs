#![allow(clippy::unwrap_used)]
use super::super::script::Script;
use super::*;

fn instruction(text: &str) -> Script<'_> {
    Script::instruction(text, 0, '\\')
}

fn read(text: &str) -> Vec<(String, bool)> {
    let script = instruction(text);
    let words = |command: &Command| {
        let assigned = command.assignments.iter().map(|it| &it.span);
        let spans = assigned.chain(command.words.iter().map(|it| &it.span));
        let words: Vec<&str> = spans.map(|it| script.written(it.clone())).collect();
        let is_certain = !command.conditional && command.conditions.is_empty();
        (words.join(" "), !is_certain)
    };
    let list = script.parse().unwrap_or_default();
    commands(&list).iter().map(words).collect()
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
    assert_eq!(certain("function f {\n a\n}\nx=(a b); c"), ["x=(a b)", "c"]);
    assert_eq!(certain("case $x in cu118) a;; *) b;; esac && c"), ["c"]);
    assert_eq!(
        certain("(case $x in (a|b) c;; esac)\nd; case $x in\na) b\n;;\nesac; e"),
        ["d", "e"]
    );
    assert_eq!(certain("for x in a b; do c $x; done\nd"), ["c $x", "d"]);
    assert_eq!(certain("for x; do c; done; while a; do b; done; d"), ["d"]);
    assert_eq!(certain("{ a; b; } && sudo c"), ["a", "b", "sudo c"]);
}

#[test]
fn commands_that_may_fail_are_recognized() {
    for (text, expected) in [
        ("a && b || c; d", "a b"),
        ("a || b && c", "a"),
        ("a || b || c", "a b"),
        ("a || exit 1", ""),
        ("a || { echo x; exit 1; }", ""),
        ("a || (b; false)", ""),
        ("a || b || exit 1", ""),
        ("{ a; b; } || true; c", "a b"),
        ("a; b && c", ""),
    ] {
        let script = instruction(text);
        let list = script.parse().unwrap_or_default();
        let all = commands(&list);
        let found = all.iter().filter(|it| it.may_fail);
        let found: Vec<&str> = found.filter_map(|it| it.words[0].plain()).collect();
        assert_eq!(found.join(" "), expected, "{text}");
    }
}

#[test]
fn what_cannot_be_parsed_hides_nothing_behind_it() {
    for (text, expected) in [
        (
            "make -j$(( $(nproc) / 2 )) && a",
            vec!["make -j$(( $(nproc) / 2 ))", "a"],
        ),
        ("a \"${X:-'y z'}\" b; c", vec!["a \"${X:-'y z'}\" b", "c"]),
        ("a b (c; d", vec!["a b", "c", "d"]),
        ("a b 'c; d", vec!["a b", "d"]),
        ("coproc a; b", vec!["a", "b"]),
        ("{ if a; then b; fi; c", vec!["c"]),
    ] {
        assert_eq!(certain(text), expected, "{text}");
    }
}

#[test]
fn conditions_are_decided_if_their_words_are_known() {
    let runs = |text: &str| {
        let script = instruction(text);
        let list = script.parse().unwrap();
        let values = |name: &str| match name {
            "ARCH" => Some("amd64".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let value = |word: &Word| Some(script.value(word, &values)).filter(|it| it.known);
        let commands = commands(&list).into_iter();
        let answers = commands.map(|command| {
            let answers = command.conditions.iter();
            let answer = answers.map(|it| it.holds(&|word| Some(value(word)?.text)));
            let all: Vec<_> = answer.collect();
            let runs = match all.contains(&Some(false)) {
                true => Some(false),
                false => (!all.contains(&None) && !command.conditional).then_some(true),
            };
            (
                script.written(command.words[0].span.clone()).to_owned(),
                runs,
            )
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
            "case $ARCH in amd64) a;& arm64) b;; x86) c;; esac",
            "+a +b -c",
        ),
        ("case $ARCH in amd64) a;;& arm64) b;; esac", "+a ?b"),
        ("! [ $ARCH = arm64 ] && a; (( 1 )) && b", "+a ?b"),
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
    let script = instruction("echo a | tee /x; echo b 2>/dev/null >> /y; cat <<E > /z\nf\nE\n");
    let list = script.parse().unwrap();
    let found = commands(&list);
    let outputs = |at: usize| -> Vec<&str> {
        let outputs = found[at].outputs();
        outputs.filter_map(Word::plain).collect()
    };
    assert!(found[0].piped && outputs(0).is_empty());
    assert_eq!(outputs(2), ["/dev/null", "/y"]);
    assert_eq!(script.here_document(&found[3]).unwrap().text, "f\n");
    assert_eq!(outputs(3), ["/z"]);
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
