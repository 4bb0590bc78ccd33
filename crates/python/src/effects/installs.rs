//! Calls that install packages: `subprocess.run([sys.executable, "-m", "pip", "install", "x"])`, `os.system("pip install x")`.

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

/// Text of which a module with such a call has one.
pub(super) const TEXTS: [&str; 7] = ["\"pip", "'pip", " pip", "/pip", "pip.", "conda", "\"uv"];

/// Whether a call starts a program that installs packages.
pub(super) fn installs(call: &ExprCall) -> bool {
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
    words.contains(&"install") && (is_pip || words.iter().any(|it| is_installer(it)))
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
