//! Scripts that somebody wrote.

use super::bench::bench;

/// Scripts of the forms that entrypoints have.
const SCRIPTS: &[&str] = &[
    "exec \"$@\"",
    "set -e\nexport LD_LIBRARY_PATH=/x:$LD_LIBRARY_PATH\nexec \"$@\"",
    "export LD_LIBRARY_PATH=\"/x${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}\"; exec \"$@\"",
    "unset LD_LIBRARY_PATH\nLD_LIBRARY_PATH=/y\nexec \"$@\"",
    "LD_LIBRARY_PATH=/y \"$@\"",
    "LD_PRELOAD= env LD_AUDIT=/a -u SET \"$@\"",
    "cd \"$(dirname \"$0\")/d\" && exec \"$@\"",
    "cd d/e; cd ..; export P=$PWD; exec \"$@\"",
    "cd /nowhere 2>/dev/null || export A=failed\nexec \"$@\"",
    "if [ -d d ] && [ ! -f d/none ]; then export A=\"is there\"; else export A=no; fi\nexec \"$@\"",
    "if [ \"$SET\" = yes ]; then export A=1; elif [ -z \"$SET\" ]; then export A=2; fi; exec \"$@\"",
    "case \"$1\" in -*) export A=option;; */probe) export A=probe;; *) export A=other;; esac\nexec \"$@\"",
    "for f in d/*.sh; do . \"./$f\"; done\nexec \"$@\"",
    "for f in a b 'c d'; do export L=\"$L:$f\"; done; exec \"$@\"",
    "f() { local x=1; export A=\"$1$x\"; shift; export B=$#; }\nf q r s\nexec \"$@\"",
    "set -- \"$@\" three; shift 0; exec \"$@\"",
    "program=$1; shift; exec \"$program\" \"$@\"",
    "(export A=lost; cd d); exec \"$@\"",
    "A=x; { A=y; export A; }; exec \"$@\"",
    "set -a; A=1; . ./d/one.sh; set +a; exec \"$@\"",
    "X=a/b.tar.gz; export A=${X%.*} B=${X%%.*} C=${X#*/} D=${X##*.} E=${#X}; exec \"$@\"",
    ": \"${A:=default}\"; export A; exec \"$@\"",
    "export A=`basename \"$0\" .sh`; exec \"$@\"",
    "cat <<EOF >/dev/null\n$(echo x) ) fi\nEOF\nexport A=1\nexec \"$@\"",
    "while [ $# -gt 2 ]; do last=$1; shift; set -- \"$@\" ; break; done; exec \"$last\" \"$@\"",
    "false || true && export A=1; exec \"$@\"",
    "set -e; false; exec \"$@\"",
    "set -e; if false; then :; fi; ! true; exec \"$@\"",
    "eval 'export A=\"$SET\"'; eval exec '\"$@\"'",
    "sh -c 'export A=1; exec \"$@\"' sh \"$@\"",
    "nice -n 5 \"$@\"",
    "exec env -i A=1 \"$@\"",
    "A='a  b'; export B=\"$A\"; set -- $A; export C=$#; exec \"$D\"",
    "IFS=:; set -- $PATH; export A=$1 N=$#; unset IFS; exec \"$0x\"",
    "trap 'echo bye' TERM; exec \"$@\"",
    "command -v cat >/dev/null && export A=has; command -v nothing-here >/dev/null || export B=none; exec \"$@\"",
    "[ -n \"$NONE\" ] || export A=${NONE-unset}; exec \"$@\"",
    "x=$(cd d && pwd); export A=$x; exec \"$@\"",
    "[[ $1 == */probe && -n $SET ]] && export A=bash; exec \"$@\"",
    "cmd=(\"$@\"); cmd+=(three); exec \"${cmd[@]}\"",
    "export PATH=~/bin:$PATH; exec \"$@\"",
    "A=$(readlink -f \"$0\"); export A; exec \"$@\"",
    "test -e /dev/nvidia0 && export LD_PRELOAD=/x; exec \"$@\"",
    "export LD_LIBRARY_PATH=$(date); exec \"$@\"",
    "\"$@\"; exit $?",
    "echo \"$@\" | cat; exec \"$@\"",
    "until false; do break; done; export A=after; exec \"$@\"",
    "if [ \"$(cat d/one.sh)\" = 'ONE=1' ]; then export A=read; fi; exec \"$@\"",
    "exit 0; exec \"$@\"",
    "exec \"$@\" || exec /nowhere\n)",
    "export A=1\nif true; then\nexec \"$@\"",
    "shopt -s nullglob extglob\ndeclare -a parts=( d/*@(.sh|.txt) d/none/* )\nshopt -u nullglob extglob\nfor p in \"${parts[@]}\"; do export L=\"$L:$p\"; done\nexec \"$@\"",
    "here=\"$(dirname \"$(readlink -f \"${BASH_SOURCE[0]}\")\")\"\nexport A=\"$here\"; exec \"$@\"",
    "f() { local -r char=\"$1\" count=\"$2\"; local i; for ((i=1; i<=$count; i++)); do echo -n \"$char\"; done; echo; }\nf = 3 >/dev/null; export A=after; exec \"$@\"",
    "export A=$'\\033[0;1m\\t\\'x'; exec \"$@\"",
    "export A=\"x${SET:+\":${SET} $#\"}\"; exec \"$@\"",
    "f() { :; }\nif ! declare -F g >/dev/null; then export A=none; fi\ndeclare -F f >/dev/null && export B=there\nexec \"$@\"",
    "x=\"$(cat d/one.sh | sed 's/ONE/TWO/g')\"; export A=\"$x\"; exec \"$@\"",
    "eval \"$(echo 'export A=1; drop' | sed 's/drop//')\"; exec \"$@\"",
    "case \"$-\" in *e*) w=yes;; *) w=no;; esac; set +e; false; export A=$w; exec \"$@\"",
    "f() ( export A=lost; echo \"$1\" )\nB=\"$(f got)\" || exit 1; export B; exec \"$@\"",
    "bash -m found.sh \"$@\"",
    "if [ -e /dev/nvidia0 ]; then export LD_LIBRARY_PATH=/nowhere/compat:$LD_LIBRARY_PATH; fi; exec \"$@\"",
    "export A=${1:0:1} B=${SET:1} C=${SET: -2:1} D=\"${*:2}\"; exec \"$@\"",
    "export A=\"$1\"; set -- \"${@:1:2}\"; exec \"$@\"",
    "n=SET m=UNSET; export A=${!n} B=\"${!m:-x}\"; if [ \"${!n:-}\" ]; then export C=is; fi; exec \"$@\"",
    "exec > >(cat); export A=1; exec \"$@\"",
    "trap 'true' EXIT; export A=1; exec \"$@\"",
];

/// Scripts that do more than it seems. The model may have a gap, but must not be wrong.
const ODD_SCRIPTS: &[&str] = &[
    "readonly LD_LIBRARY_PATH=/a; unset LD_LIBRARY_PATH; exec \"$@\"",
    "readonly A=/a; export A; A=/b; exec \"$@\"",
    "f() { local A=2; export A; exec \"$@\"; }; readonly A=1; f \"$@\"",
    "declare -l A=/X; A=/Y; export A; exec \"$@\"",
    "declare -u A; A=x; export A; exec \"$@\"",
    "declare -i A; A=1+1; export A; exec \"$@\"",
    "declare +x LD_LIBRARY_PATH; exec \"$@\"",
    "unset A; export A; PS4='${A:=/q}'; set -x; :; exec \"$@\"",
    "unset A; export A; PS4='$((A=7))'; set -x; :; exec \"$@\"",
    "export A; cat <<EOF >/dev/null\n${A:=child}\nEOF\nexec \"$@\"",
    "LD_LIBRARY_PATH=1; export X=$((LD_LIBRARY_PATH+=7)); exec \"$@\"",
    "export A; : $((A=7)); exec \"$@\"",
    "export A; : $[A=7]; exec \"$@\"",
    "export A; [[ A=7 -eq 7 ]]; exec \"$@\"",
    "export A; V='A=7'; [[ V -eq 7 ]]; exec \"$@\"",
    "export A; V='A=7'; (( V )); exec \"$@\"",
    "export A; x=abc; B=${x:A=1}; exec \"$@\"",
    "export A; a=(1 2); a[A=1]=5; exec \"$@\"",
    "export A; a=(1 2); B=${a[A=1]}; exec \"$@\"",
    "export A; a=(1 2); [ -v 'a[A=1]' ]; exec \"$@\"",
    "export A; a=(1 2); unset 'a[A=1]'; exec \"$@\"",
    "export A; a=(1 2); printf -v 'a[A=1]' x; exec \"$@\"",
    "export A; a=(1 2); n='a[A=1]'; B=${!n}; exec \"$@\"",
    "export A; x=abc; B=${x/b/$((A=1))}; exec \"$@\"",
    "export A; echo {${A:=x},b} >/dev/null; exec \"$@\"",
    "hash -p /usr/bin/env cat; cat A=7 \"$@\"",
    "export A; mapfile -c 1 -C 'A=7; :' X < d/one.sh; exec \"$@\"",
    "export A; trap 'A=7' CHLD; cat /dev/null; exec \"$@\"",
    "export A; trap 'A=7' DEBUG; :; exec \"$@\"",
    "export A; trap 'A=7' 65; :; exec \"$@\"",
    "export A; trap 'A=7' USR1; bash -c 'kill -USR1 $PPID'; exec \"$@\"",
    "trap 'exec \"$P\" more' EXIT; P=$1; exit 0",
    "GLOBIGNORE='*one*'; for f in d/*.sh; do export L=$L:$f; done; exec \"$@\"",
    "BASH_CMDS[cat]=/usr/bin/env; cat A=7 \"$@\"",
    "BASH_ARGV0=x; export A=$0; exec \"$@\"",
    "shopt -so noglob; set -- d/*; export A=$1; exec \"$2\"",
    "unset -n A; n=A; declare -n r=A; r=7; export A; exec \"$@\"",
    "f() { local -; set -a; B=1; }; f; C=2; exec \"$@\"",
];

#[test]
fn odd_scripts_are_understood_or_a_gap() {
    let mut wrong = Vec::new();
    for script in ODD_SCRIPTS {
        let bench = bench(script);
        for shell in ["bash", "dash"] {
            if let Err(difference) = bench.compare(shell) {
                wrong.push(format!("{script}\n{difference}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
}

#[test]
fn the_model_never_differs_from_shells_where_it_has_no_gap() {
    let mut understood = 0;
    let mut wrong = Vec::new();
    for script in SCRIPTS {
        let bench = bench(script);
        for shell in ["bash", "dash"] {
            match bench.compare(shell) {
                Ok(is_understood) => understood += usize::from(is_understood),
                Err(difference) => wrong.push(format!("{script}\n{difference}")),
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ\n{}",
        wrong.len(),
        wrong.join("\n\n")
    );
    let all = 2 * SCRIPTS.len();
    assert!(
        understood * 10 >= all * 8,
        "{understood} of {all} are understood"
    );
}
