//! Calls that install packages: `subprocess.run([sys.executable, "-m", "pip", "install", "x"])`, `os.system("pip install x")`.

use memchr::memmem;
use ruff_python_ast::{Expr, ExprCall};

/// Functions that start a program, or that of pip.
const FUNCTIONS: [&str; 10] = [
    "run",
    "call",
    "check_call",
    "check_output",
    "Popen",
    "getoutput",
    "getstatusoutput",
    "system",
    "popen",
    "main",
];

/// Programs that install packages.
const INSTALLERS: [&str; 6] = ["pip", "pip3", "uv", "conda", "mamba", "micromamba"];

/// What each of them says.
const INSTALL: &str = "install";

/// Whether a source may have such a call: few have.
pub(crate) fn may_install(source: &str) -> bool {
    let has = |word: &&str| memmem::find(source.as_bytes(), word.as_bytes()).is_some();
    has(&INSTALL) && INSTALLERS.iter().any(has)
}

/// Whether a call starts a program that installs packages.
pub(crate) fn installs(call: &ExprCall) -> bool {
    let name = match &*call.func {
        Expr::Name(it) => it.id.as_str(),
        Expr::Attribute(it) => it.attr.as_str(),
        _ => return false,
    };
    if !FUNCTIONS.contains(&name) {
        return false;
    }
    let mut texts = Vec::new();
    call.arguments
        .args
        .iter()
        .for_each(|it| add_texts(it, &mut texts));
    let words = texts.iter().flat_map(|it| it.split_whitespace());
    let words: Vec<&str> = words.collect();
    let is_installer = |it: &str| INSTALLERS.contains(&it.rsplit('/').next().unwrap_or(it));
    let is_pip = matches!(&*call.func, Expr::Attribute(it) if name == "main" && is_pip(&it.value));
    words.contains(&INSTALL) && (is_pip || words.iter().any(|it| is_installer(it)))
}

/// Whether an expression is `pip`, or a module of it.
fn is_pip(expression: &Expr) -> bool {
    match expression {
        Expr::Name(it) => it.id == "pip",
        Expr::Attribute(it) => is_pip(&it.value),
        _ => false,
    }
}

/// The literal texts of an argument: of a list, of parts that are put together, and of what is split.
fn add_texts<'a>(expression: &'a Expr, texts: &mut Vec<&'a str>) {
    match expression {
        Expr::StringLiteral(it) => texts.push(it.value.to_str()),
        Expr::FString(it) => {
            let literals = it.value.elements().filter_map(|it| it.as_literal());
            texts.extend(literals.map(|it| &*it.value));
        }
        Expr::List(it) => it.elts.iter().for_each(|it| add_texts(it, texts)),
        Expr::Tuple(it) => it.elts.iter().for_each(|it| add_texts(it, texts)),
        Expr::BinOp(it) => {
            add_texts(&it.left, texts);
            add_texts(&it.right, texts);
        }
        Expr::Call(it) => {
            if let Expr::Attribute(method) = &*it.func {
                add_texts(&method.value, texts);
            }
            it.arguments.args.iter().for_each(|it| add_texts(it, texts));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use crate::ModuleFacts;

    #[test]
    fn a_program_that_installs_packages_may_bring_any_module() {
        for (call, expected) in [
            (
                "subprocess.check_call([sys.executable, '-m', 'pip', 'install', 'a'])",
                true,
            ),
            ("subprocess.run(['/usr/bin/pip3', 'install', 'a'])", true),
            ("os.system('pip install a')", true),
            ("os.system(f'{sys.executable} -m pip install {a}')", true),
            ("Popen(shlex.split('uv pip install --system a'))", true),
            ("pip.main(['install', 'a'])", true),
            ("os.system('conda ' + 'install a')", true),
            ("raise ImportError('pip install a')", false),
            ("os.system('pip list')", false),
            ("subprocess.run(['apt-get', 'install', 'a'])", false),
            ("print('pip install a')", false),
        ] {
            let changes = |source: &str| ModuleFacts::of(source).unwrap().changes_search;
            assert_eq!(changes(&format!("{call}\n")), expected, "{call}");
            let function = format!("def f():\n    {call}\nf()\n");
            assert_eq!(changes(&function), expected, "{function}");
            let unused = format!("def f():\n    {call}\n");
            assert!(!changes(&unused), "{unused}");
        }
    }
}
