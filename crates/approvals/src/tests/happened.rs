//! Nothing is believed that may not have happened: what a branch, another process or a loop leaves behind.

use super::{Decision, context, decision};
use crate::judge;

#[track_caller]
fn asked_at_least(commands: &[&str]) {
    for command in commands {
        assert_ne!(decision(command), Decision::Allow, "{command}");
    }
}

#[track_caller]
fn allowed(commands: &[&str]) {
    for command in commands {
        let verdict = judge(command, &context());
        assert_eq!(verdict.decision, Decision::Allow, "{command}: {verdict:?}");
    }
}

#[test]
fn req_a10_a_function_hides_a_program_only_where_it_surely_stands() {
    asked_at_least(&[
        "false && rm() { :; }; rm -rf ~",
        "if false; then reboot() { :; }; fi; reboot",
        "(reboot() { :; }); reboot",
        "reboot() { :; } | :; reboot",
        "reboot() { :; } & reboot",
        "case x in y) reboot() { :; };; esac; reboot",
        "while false; do reboot() { :; }; done; reboot",
        "echo $(reboot() { :; }); reboot",
        "f() { reboot; }; (f() { :; }); f",
        "f() { reboot; }; false && f() { :; }; f",
        "f() { reboot; }; unset -v f; f",
        "f() { reboot; }; false && unset -f f; f",
        "(f() { reboot; })",
        "rm() { :; }; sh -c 'rm -rf ~'",
        "rm() { :; }; find . | xargs rm -rf",
        "rm() { :; }; echo 'rm -rf ~' > s; sh s",
        "alias reboot=true; reboot",
        "(alias reboot=true); reboot",
    ]);
    allowed(&[
        "build() { make \"$@\"; }; build all",
        "reboot() { :; }; reboot",
        "if [ -z \"$CI\" ]; then log() { echo \"$@\"; }; else log() { :; }; fi; log hi",
        "log() { echo \"$1\"; }; log a; (log b); log c | cat; log d &",
        "f() { echo hi; }; export -f f; bash -c f",
        "alias ll='ls -l'; ll",
        "die() { echo \"$@\" >&2; exit 1; }; test -f x || die no; ls",
    ]);
}

#[test]
fn req_a10_a_call_within_itself_is_followed() {
    asked_at_least(&[
        "f() { \"$@\"; }; f f rm -rf ~",
        "f() { f() { rm -rf ~; }; f; }; f",
        "f() { f() { f() { f() { f() { f() { reboot; }; f; }; f; }; f; }; f; }; f; }; f",
        "f() { $1; }; f 'f reboot'",
        "f() { case $1 in x) $2;; *) f x reboot;; esac; }; f",
        "f() { \"$@\"; }; f f f f f f f f f f f f reboot",
        "f() { $2; f x$1 ${1/xxxxxxxxx/reboot}; }; f x true",
        "X=true; f() { $X; X=reboot; f; }; f",
        "echo '\"$@\"' > f; sh f sh f reboot",
    ]);
    allowed(&[
        "fact() { if [ $1 -le 1 ]; then echo 1; else echo $(( $1 * $(fact $(( $1 - 1 ))) )); fi; }; fact 5",
        "walk() { for f in \"$1\"/*; do if [ -d \"$f\" ]; then walk \"$f\"; else echo \"$f\"; fi; done; }; walk .",
        "hanoi() { [ $1 -eq 0 ] && return; hanoi $(($1-1)) $2 $4 $3; echo $2 $3; hanoi $(($1-1)) $4 $3 $2; }; hanoi 3 A B C",
        "a() { b $1; c $1; }; b() { a $1; c $1; }; c() { a $1; b $1; }; a 1",
        "retry() { \"$@\" || { sleep 1; retry \"$@\"; }; }; retry make test",
    ]);
}
