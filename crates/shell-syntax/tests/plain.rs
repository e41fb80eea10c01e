//! What is read without the parsers is what both parsers read: the same commands with the same words, and no doubt that
//! they would have had.

use std::fs;
use std::path::Path;

use cofferdam_shell_syntax::{Parsed, Surroundings, is_plain, parse, parse_by_parsers_alone};
use proptest::prelude::*;

fn surroundings() -> Surroundings {
    Surroundings { home: "/home/me".into(), directory: "/home/me/project".into(), user: "me".into() }
}

/// Whether the text is plain; fails where it is, and the parsers read something else.
fn same(text: &str) -> bool {
    let plain = is_plain(text);
    if plain {
        let (ours, theirs): (Parsed, Parsed) =
            (parse(text, surroundings()), parse_by_parsers_alone(text, surroundings()));
        assert_eq!(ours.commands, theirs.commands, "{text}");
        assert_eq!(ours.doubts, theirs.doubts, "{text}");
    }
    plain
}

const PLAIN: &[&str] = &[
    "",
    "\n",
    "# nothing\n",
    "ls",
    "if exit &> x; then ls; fi",
    "ls -l src/*.c ~/a ?.h\n",
    "git commit -m 'a b' --author=\"$USER <${MAIL}>\"\n",
    "a=1 b= c=\"$a\" d=x$a$b'y' cmd \"$c\"x $1 \"$@\" $# $? \"$*\"\n",
    "a=b; c=d\n",
    "make > log 2>&1; make >>log 2>err </dev/null >&2\n",
    "make &> log\n",
    "cat a | sort | uniq -c && echo ok || exit 1\n",
    "cat a |\n  sort &&\n\n  echo ok\n",
    "sleep 1 & sleep 2 &\nwait\n",
    "! grep -q a b && echo none\n",
    "if [ -f \"$a\" ]; then echo a; elif test -d b; then echo b; else echo c; fi\n",
    "if true\nthen\n  # why\n  exit 3 # now\nfi > log\n",
    "for f in a b \"$c\"; do echo \"$f\"; break 2; continue; done\n",
    "for f in a\ndo\n  cp $f dist/ && echo \"copied $f\" >> log\ndone\n",
    "while read -r line; do echo \"$line\"; done < list.txt\n",
    "until test -f a; do sleep 1; done\n",
    "{ echo a; echo b; } > log\n",
    "build() {\n  cc -o \"$1\" \"$2\" || return 1\n}\nbuild a b; build c d\n",
    "f () { echo f; }; f\n",
    "cc -O2 \\\n  -o a \\\n\tb.c\n",
    "echo if then else fi do done in case\n",
    "echo a=b c= =d 'multi\nline' \"multi\n$line\"\n",
    "awk '{ print $1 }' log | head -5\n",
    "./configure --prefix=/usr CFLAGS=-O2,+x@y%z:w\n",
    "exit\n",
];

/// What looks plain and is not, or not to everybody.
const OTHERS: &[&str] = &[
    "echo `date`\n",
    "echo $(date)\n",
    "echo \"$(date)\"\n",
    "echo \"\\$a\"\n",
    "echo a\\ b\n",
    "echo {a,b}\n",
    "echo ${a:-b}\n",
    "echo ${a[0]}\n",
    "echo $a[0]\n",
    "echo $'a'\n",
    "echo $\"a\"\n",
    "cat <<E\na\nE\n",
    "cat <<<a\n",
    "diff <(a) b\n",
    "a=(b c)\n",
    "a+=b\n",
    "[[ -f a ]]\n",
    "((a))\n",
    "(a)\n",
    "case a in a) b;; esac\n",
    "alias a=b\n",
    "shopt -s expand_aliases\n",
    "export a=b\n",
    "time ls\n",
    "function f { a; }\n",
    "10>a b\n",
    "echo é\n",
    "echo a\r\n",
    "echo a#b\n",
    "if a; then fi\n",
    "if a; then b\n",
    "a;; b\n",
    "a && ; b\n",
    "a | | b\n",
    "& a\n",
    "; a\n",
    "fi\n",
    "}\n",
    "'a\n",
    "\"a\n",
    "a |& b\n",
    "a >| b\n",
    "a > &b\n",
    "for in in a; do b; done\n",
    "while true; do a & done\n",
    "! ! a\n",
    "! if a; then b; fi\n",
    "if a; then b; fi c\n",
    "f() { a; } b\n",
    "f() { a; } > b\n",
    "{ a; }b\n",
    "echo \\\n# a\n",
    "a \\\n",
];

#[test]
fn req_a10_plain_text_is_read_as_both_parsers_read_it() {
    for text in PLAIN {
        assert!(same(text), "this is plain: {text}");
        for next in PLAIN {
            same(&format!("{text}{next}"));
        }
    }
    for text in OTHERS {
        assert!(!is_plain(text), "this is for the parsers: {text}");
    }
}

#[test]
fn req_a10_the_corpus_is_read_as_both_parsers_read_it() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/corpus/gate");
    let mut plain = 0;
    let mut directories = vec![corpus];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("the corpus is part of the tree") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            // JSON is not read here: as it is written, each line is shell text with more quotes than most.
            let text = fs::read_to_string(&path).expect("text");
            for line in text.lines() {
                let command = line.split_once("\"cmd\":").map_or(line, |(_, rest)| rest);
                let command = command.trim_start().trim_start_matches('"');
                let command = command.split("\", \"").next().unwrap_or(command);
                let command = command.replace("\\\"", "\"").replace("\\n", "\n");
                plain += usize::from(same(&command));
            }
        }
    }
    assert!(plain > 1000, "{plain}");
}

/// A piece of a command that is plain, or nearly.
fn token() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => "[a-z0-9_./:=,@%+*?~-]{1,6}",
        2 => "'[a-z $&;|#{}()\n]{0,5}'",
        2 => "\"[a-z '&;|#{}()!\n]{0,4}([$][a-z]{1,2}|[$][{][a-z][}]|[$][1@#?*])?[a-z:/-]{0,3}\"",
        2 => "[$]([a-z_]{1,3}|[{][A-Z][}]|[0-9@*#?])",
        3 => prop::sample::select(&[
            " ", "  ", "\t", "\n", ";", "; ", " && ", " || ", " | ", "|", " &", "&", " # c\n", " \\\n ", " \\\n", "!", "! ",
            ">", " > ", ">>", "<", "2>", "2>&1", ">&2", " 2>&1 ", "&>", " &> ", "a=", "b=c", "[", " ] ", "[ ", "{ ", " }", "; }",
            "f() { ", "(", ")", "()", "if ", "; then ", "; else ", "; elif ", "; fi", "fi", "for x in ", "; do ", "; done",
            "do", "done", "while ", "until ", "in", "exit ", "break", "return 1", "continue", "echo ", "cd ", "read x",
            "eval ", "\\", "$", "\"", "'", "`", "#", "~", "{", "}", "^", "!a", "export ", "time ", "10>", "<<", "time",
        ][..]).prop_map(str::to_owned),
    ]
}

/// Text that is made of plain statements.
fn statement() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        5 => "[a-zA-Z0-9_./:=,@%+*?~-]{1,8}",
        1 => "'[ -&(-~\n]{0,8}'",
        2 => "\"[a-z #&|;<>(){}!*~'-]{0,6}([$][a-z]{1,3}|[$][{][a-z]{1,3}[}])?[a-z /.]{0,4}\"",
        1 => "[$][a-zA-Z_]{1,4}",
        1 => prop::sample::select(&["if", "then", "do", "done", "in", "[", "]", "2", "a=b", "exit", "'a'\"b\"c$d"][..])
            .prop_map(str::to_owned),
    ];
    let file = prop::sample::select(
        &["", "", "", " > log", " 2>&1", " >> 'a b'", " </dev/null", " &> x", " 2>\"$e\""][..],
    );
    let simple = (prop::collection::vec(word, 1..5), file).prop_map(|(words, file)| words.join(" ") + file);
    let leaf = prop_oneof![
        6 => simple,
        1 => prop::sample::select(&["exit 1", "break", "a=1 b=\"$c\" run", "x=$y", "! test -f a", "cd \"$d\" "][..]).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let end = prop::sample::select(&["; ", "\n", "\n\n  ", " # why & how\n", " \n\t"][..]);
        prop_oneof![
            (
                inner.clone(),
                prop::sample::select(&[" && ", " || ", " | ", "|", " &&\n  ", "; ", "\n", " & "][..]),
                inner.clone()
            )
                .prop_map(|(a, by, b)| format!("{a}{by}{b}")),
            (inner.clone(), inner.clone(), end.clone())
                .prop_map(|(a, b, end)| format!("if {a}{end}then {b}{end}fi")),
            (inner.clone(), inner.clone(), inner.clone(), end.clone())
                .prop_map(|(a, b, c, end)| format!("if {a}{end}then\n{b}{end}else\n {c}{end}fi")),
            (inner.clone(), end.clone()).prop_map(|(a, end)| format!("for v in a b \"$c\"; do {a}{end}done")),
            (inner.clone(), inner.clone(), end.clone())
                .prop_map(|(a, b, end)| format!("while {a}{end}do {b}{end}done < in")),
            (inner.clone(), end.clone()).prop_map(|(a, end)| format!("{{ {a}{end}}}")),
            (inner, end).prop_map(|(a, end)| format!("f() {{\n{a}{end}}}\nf x")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn req_a10_any_plain_text_is_read_as_both_parsers_read_it(text in prop::collection::vec(token(), 1..14)) {
        same(&text.concat());
    }

    #[test]
    fn req_a10_any_plain_statement_is_read_as_both_parsers_read_it(text in statement()) {
        same(&text);
    }
}
