//! A long text that is parsed in pieces is the same text: the same commands with the same words, and the same doubts.
//!
//! All doubts but one: what the second parser makes of `((` depends on what stands far behind it, so that it may refuse a
//! text of which it accepts, and sees as the first one does, every piece.

use cofferdam_shell_syntax::{Doubt, Parsed, Surroundings, parse_in_pieces_from};
use proptest::prelude::*;

fn read(text: &str, cut_from: usize) -> Parsed {
    let surroundings =
        Surroundings { home: "/home/me".into(), directory: "/home/me/project".into(), user: "me".into() };
    parse_in_pieces_from(cut_from, text, surroundings)
}

fn same(text: &str) {
    let (whole, pieces) = (read(text, usize::MAX), read(text, 0));
    assert_eq!(whole.commands, pieces.commands, "{text}");
    let certain = |parsed: &Parsed| {
        let doubts = parsed.doubts.iter().filter(|doubt| **doubt != Doubt::Disagreement);
        doubts.cloned().collect::<Vec<_>>()
    };
    assert_eq!(certain(&whole), certain(&pieces), "{text}");
}

/// Commands, and what looks like the end of one and is not, or is one and does not look like it.
const PARTS: &[&str] = &[
    "echo a\n",
    "a=rm; $a -r b\n",
    "# it's a comment\n",
    "#!/bin/sh\n",
    "\n",
    "  ls -l # \"not open\n",
    "echo a \\\n  b\n",
    "echo a\\\n#b\n",
    "echo a \\\n#'b\n",
    "echo 'a\nb'\n",
    "echo \"a\n# b\n$(echo c\necho d)\"\n",
    "echo \"${x:-'}\" \"it's\"\n",
    "echo ${x#'a }b'} ${#x} ${x//\\\"/}\n",
    "echo \"${x:-\"a b\"}\"\n",
    "echo $'it\\'s\nmore' $\"b\"\n",
    "x=`echo \"a\"`\n",
    "x=`echo \\`echo 'b`\\``\n",
    "cat <<EOF\n$(rm a)\nit's\nEOF\n",
    "cat <<-'E' | sh\n\techo \"\n\tE\n",
    "cat <<A; cat <<B\na\nA\nb\nB\n",
    "cat <<\"E F\"\necho a\nE F\n",
    "cat <<EOF \"\n\"\na\nEOF\n",
    "x=$(cat <<EOF\nit's )\nEOF\n)\n",
    "cat <<<\"a b\"\n",
    "cat << EOF # a comment\nb\nEOF\n",
    "echo $((1<<2)) $((2#10))\necho 2\n",
    "echo $(( (1 + 2) * 3 ))\n",
    "((i++))\n",
    "((x = 1)) && echo a\n",
    "((echo a); echo b)\n",
    "for ((i=0; i<3; i++)); do echo $i; done\n",
    "if true\nthen\n  echo a\nelif false; then echo b\nelse echo c\nfi\n",
    "for x in a b\ndo echo $x\ndone\n",
    "for x do if true; then echo; fi; done\n",
    "while read -r x; do echo $x; done <<E\na\nb\nE\n",
    "until false; do\nbreak\ndone > log\n",
    "select x in a b; do echo $x; done\n",
    "case $x in\n  a|b) echo a;;\n  (c) echo c ;;\n  if) echo d;;\n  *) echo ')'\nesac\n",
    "case a in a) case b in b) echo c;; esac;; esac\n",
    "f() {\n  rm -r \"$1\"\n}\nf x\n",
    "f()\n{\n  echo f\n}\n",
    "f( )\n# between\n(echo g)\nf\n",
    "function g {\n  echo g; }\ng\n",
    "function h\n{ echo h\n}\nh\n",
    "{ echo a\necho b; }\n",
    "(cd /\nls)\n",
    "a=(1 2 # three ' four\n if 'x\ny')\necho ${a[@]}\n",
    "declare -A m=([a]=b\n[c]=d)\n",
    "[[ -f a && ( b == c ||\n $x =~ ^(a|b)$ ) ]] && echo a\n",
    "[[ $x =~ # ]]\n",
    "[ -f a ] &&\n  echo a\n",
    "echo a |\n\n# between\ntr a b\n",
    "echo a || # why\nrm b\n",
    "sleep 1 &\n",
    "echo a |&\ncat\n",
    "echo a 2>&1 >/dev/null\n",
    "diff <(echo a\necho b) <(echo c)#'x'\n",
    "tee >(cat\n) < a\n",
    "!\n",
    "! true\n",
    "time\necho a\n",
    "time ls\n",
    "coproc cat\n",
    "shopt -s extglob\nls !(a|b) @(if|then)\n",
    "alias l='ls \"'\n",
    "shopt -s expand_aliases\nalias l=rm\nl a\n",
    "eval 'echo a\necho b'\n",
    "echo if then fi done }\n",
    "{git commit\n",
    "{<#\"#$ a\" f() {\nrm a\n}\nx=$(rm b\n)\n",
    "<{; a=(1 # '\n '\n)\n",
    "echo {a,b} {'=' a}b\n",
    "echo {$(echo a\n),b}\n",
    "x=1 y='2\n3' cmd\n",
    "trap 'rm a' EXIT\n",
    "echo ${x:-$(echo a\necho b)}\n",
    "echo \"$(echo \"a\nb\" # it's\n)\"\n",
    "echo $[1+2]\n",
    "echo a\r\n",
    "echo é $(echo ü)\n",
    "exit 0\n",
    "EOF\n",
    "fi\n",
    "'\n",
    "\"\n",
    "`\n",
    ")\n",
    "}\n",
    "cat <<EOF\n",
    "if true; then\n",
    "echo \"$(\n",
    "echo ${\n",
    "f()\n",
    "echo a &&\n",
    "echo \\",
];

#[test]
fn req_a10_a_piece_is_read_as_it_is_in_the_whole_text() {
    for part in PARTS {
        for next in ["echo a\n", "# it's\n(echo b)\n", "{ echo c; }\n", "EOF\n", "fi\n", "'\n"] {
            same(&format!("{part}{next}echo \"end\"\n"));
        }
    }
}

#[test]
fn req_a10_a_long_script_is_seen_by_both_parsers() {
    let block =
        "if [ -f \"$SRC\" ]; then\n  cc -o \"build/$NAME\" \"$SRC\" || exit 1\nfi\ncat <<EOF\n$NAME\nEOF\n";
    assert!(!cofferdam_shell_syntax::is_plain(block));
    let script = block.repeat(1 << 11);
    assert!(script.len() > 128 * 1024, "longer than the second parser reads at once");
    assert_eq!(read(&script, 8 * 1024).doubts, [], "but nothing in it is new after the first block");
    assert_eq!(read(&script, usize::MAX).doubts, [Doubt::Disagreement]);
}

fn script() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => prop::sample::select(PARTS).prop_map(str::to_owned),
        1 => "[a-c '\"`$(){}#\\\\\n;&|<=-]{0,12}\n?",
    ];
    let wrapped = part.clone().prop_flat_map(|inner| {
        prop_oneof![
            3 => Just(inner.clone()),
            1 => Just(format!("if true; then\n{inner}fi\n")),
            1 => Just(format!("f() {{\n{inner}}}\n")),
            1 => Just(format!("x=$({inner})\n")),
            1 => Just(format!("echo \"{inner}\"\n")),
            1 => Just(format!("cat <<EOF\n{inner}EOF\n")),
        ]
    });
    prop::collection::vec(wrapped, 1..8).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn req_a10_any_text_is_the_same_in_pieces(text in script()) {
        same(&text);
    }
}
