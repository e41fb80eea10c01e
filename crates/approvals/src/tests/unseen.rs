//! Nothing is taken for harmless because it was not looked at: files that changed, texts that nobody knows, places that
//! only one branch has left.

use super::*;

#[test]
fn req_a10_a_call_is_judged_again_when_a_file_was_written_since() {
    let python = "import os; os.system(\"rm -rf ~\")";
    let rust = "fn main() { std::process::Command::new(\"rm\").args([\"-rf\", \"/\"]).status(); }";
    let go = "package main; func main() { exec.Command(\"rm\", \"-rf\", \"/\").Run() }";
    let c = "int main() { system(\"rm -rf ~\"); }";
    for (call, file, text) in [
        ("psql -f d.sql", "d.sql", "DROP DATABASE x"),
        ("mysql -e 'source d.sql'", "d.sql", "DROP DATABASE x"),
        ("pip install .", "setup.py", python),
        ("cargo build", "build.rs", rust),
        ("go run x.go", "x.go", go),
        ("gcc x.c", "x.c", c),
        ("tox", "setup.py", python),
    ] {
        let once = decision(&format!("echo '{text}' > {file}; {call}"));
        assert_eq!(decision(&format!("{call}; echo '{text}' > {file}; {call}")), once, "{call}");
        let harmless = format!("{call}; echo 'x = 1' > other; {call}");
        assert_eq!(decision(&harmless), decision(call), "{harmless}");
    }
    asked_at_least(&[
        "psql -f d.sql; echo 'DROP DATABASE x' > d.sql; psql -f d.sql",
        "psql -f d.sql; cp x d.sql; echo 'DROP DATABASE x' >> d.sql; psql -f d.sql",
    ]);
    allowed(&[
        "psql -f d.sql; echo 'SELECT 1' > d.sql; psql -f d.sql",
        "cargo build; echo done >> log; cargo build",
        "gcc x.c; echo 'int main() { return 0; }' > x.c; gcc x.c",
    ]);
}

#[test]
fn req_a10_program_text_that_is_not_known_is_asked_about_however_it_arrives() {
    for program in ["python3", "node", "perl", "ruby", "php"] {
        asked_at_least(&[
            &format!("echo \"$FOO\" | {program}"),
            &format!("printf '%s\\n' \"$FOO\" | {program} -"),
            &format!("{program} <<< \"$FOO\""),
            &format!("{program} <<< \"$FOO; $BAR\""),
            &format!("{program} < f"),
            &format!("{program} /dev/fd/0 <<< \"$FOO\""),
            &format!("{program} < /var/tmp/x/f"),
            &format!("{program} < \"$FOO\""),
            &format!("cat f | {program}"),
            &format!("echo \"$FOO\" > f; {program} f"),
        ]);
    }
    asked_at_least(&["echo \"$FOO\" | psql", "psql <<< \"$FOO\""]);
    allowed(&[
        "echo 'SELECT 1' | psql",
        "psql < schema.sql",
        "echo \"SELECT $FOO\" | psql",
        "python3 <<< 'print(1)'",
        "echo 'print(1)' | python3",
        "python3 <<< \"print('$FOO')\"",
        "python3 < solve.py",
        "python3 solve.py < input",
        "node build.js < data.json",
        "python3 -m json.tool < f",
        "python3 -c 'import sys; print(len(sys.stdin.read()))' < f",
        "perl -ne 'print if /x/' < f",
        "echo \"$FOO\" | python3 -m json.tool",
    ]);
}

#[test]
fn req_a10_program_text_too_long_to_be_kept_is_not_known() {
    let doubled = "X=' '; ".to_owned() + &"X=$X$X; ".repeat(17);
    let long = "x=1;".repeat(50_000);
    let code = "import os; os.system(\"rm -rf ~\")";
    for text in [
        format!("{doubled}python3 <<< \"import os; os.system('rm -rf ~')$X\""),
        format!("{doubled}python3 -c \"import os; os.system('rm -rf ~')$X; x = 1\""),
        format!("{doubled}node -e \"require('child_process').execSync('rm -rf ~')$X; x = 1\""),
        format!("{doubled}bash -c \"rm -rf ~$X; true\""),
        format!("{doubled}bash <<< \"rm -rf ~ $X; true\""),
        format!("{doubled}eval \"rm -rf ~ $X; true\""),
        format!("echo '{long}{code}' | python3"),
        format!("{{ echo '{long}{code}'; echo 'x = 1'; }} | python3"),
        format!("echo '{long}{code}' > f.py; python3 f.py"),
        format!("echo '{long}{code}' > f.py; echo 'x = 1' >> f.py; python3 f.py"),
        format!("cat > f.py <<'E'\n{long}{code}\nE\npython3 f.py"),
        format!("cat > f.c <<'E'\n{long} int main() {{ system(\"rm -rf ~\"); }}\nE\ngcc f.c"),
    ] {
        assert_ne!(decision(&text), Decision::Allow, "{}…", &text[..60]);
    }
    allowed(&[&format!("echo '{long}' > data.txt"), &format!("{doubled}echo \"$X\" | wc -c")]);
}

#[test]
fn req_a10_more_program_text_than_is_looked_at_is_asked_about() {
    let line = "import os as o; ";
    let whole = line.repeat(120 * 1024 / line.len());
    let started = std::time::Instant::now();
    asked_at_least(&[
        &format!("python3 -c '{whole}'"),
        &format!("python3 -c '{}'", line.repeat(60 * 1024 / line.len())),
        &format!("python3 -c '{whole}'; python3 -c '{whole} '"),
        &format!("echo '{whole}' > f.py; python3 f.py"),
    ]);
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
    let some = "x = 1; ".repeat(1000);
    allowed(&[
        &format!("python3 -c '{some}'; python3 -c '{some}'"),
        &format!("echo '{some}' > f.py; for i in 1 2 3 4 5 6; do python3 f.py; done"),
    ]);
}

#[test]
fn req_a10_a_branch_begins_where_its_condition_left_the_shell() {
    for list in [
        "if test a; then cd /tmp/x; else rm -rf *; fi",
        "case $x in a) cd /tmp/x;; b) rm -rf *;; esac",
        "case $x in a) cd /tmp/x;; b) cd /tmp/y;; esac; rm -rf *",
        "case $x in a) cd /tmp/x;; *) ;; esac; rm -rf *",
        "case $x in a) cd /tmp/x;& b) rm -rf *;; esac",
        "if test a; then cd /; else cd /tmp/x; fi; rm -rf *",
        "if test a; then cd /tmp/x; else :; fi; rm -rf *",
        "if test a; then cd /tmp/x; fi && rm -rf *",
        "if test a; then cd /; elif test b; then cd /tmp/x; fi; rm -rf *",
        "if test a; then cd /tmp/x; elif test b; then rm -rf *; fi",
        "if test a; then cd /; (exit 1); else cd /tmp/x; fi; rm -rf *",
        "for i in $(cat l); do cd /tmp/x; done; rm -rf *",
        "for i in $(cat l); do cd /tmp/x; done && rm -rf *",
        "for i in 1 2; do test a && break; cd /tmp/x; done; rm -rf *",
        "for ((i = 0; i < n; i++)); do cd /tmp/x; done; rm -rf *",
        "while test a; do cd /tmp/x; done; rm -rf *",
        "cd /tmp/x && ls || rm -rf *",
        "if ! cd /tmp/x; then rm -rf *; fi",
        "if cd /tmp/x; then :; else rm -rf *; fi",
        "if cd /tmp/x; then :; elif true; then rm -rf *; fi",
        "! cd /tmp/x && rm -rf *",
        "until cd /tmp/x; do rm -rf *; done",
        "while ! cd /tmp/x; do rm -rf *; done",
        "cd /tmp/x || true; rm -rf *",
        "cd /tmp/x || { echo no; }; rm -rf *",
        "! cd /tmp/x && echo no; rm -rf *",
    ] {
        let command = format!("cd /; {list}");
        assert_eq!(decision(&command), Decision::Deny, "{command}");
    }
    for list in [
        "cd /tmp/x; rm -rf *",
        "cd /tmp/x && rm -rf *",
        "cd /tmp/x || exit 1; rm -rf *",
        "cd /tmp/x || { echo no; exit 1; }; rm -rf *",
        "cd /tmp/x || { echo no && exit 1; }; rm -rf *",
        "! cd /tmp/x && exit 1; rm -rf *",
        "if ! cd /tmp/x; then echo no; exit 1; fi; rm -rf *",
        "if ! cd /tmp/x; then exit 1; else rm -rf *; fi",
        "if cd /tmp/x; then rm -rf *; fi",
        "while cd /tmp/x; do rm -rf *; done",
        "until cd /tmp/x; do sleep 1; done",
        "if cd /tmp/x; then rm -rf *; else echo no; fi",
        "if test a; then cd /tmp/x; else cd /tmp/y; fi; rm -rf *",
        "case $x in a) cd /tmp/x;; *) cd /tmp/y;; esac; rm -rf *",
        "case $x in a) cd /tmp/x; rm -rf *;; b) cd /tmp/y; rm -rf *;; esac",
        "for i in 1 2; do cd /tmp/x; done; rm -rf *",
        "f() { if ! cd /tmp/x; then return 1; fi; rm -rf *; }; f",
    ] {
        allowed(&[&format!("cd /; {list}")]);
    }
    allowed(&[
        "if [ -d build ]; then cd build; fi; make",
        "cd web && npm test || echo failed",
        "cd build 2>/dev/null || mkdir build && cd build; cmake ..",
    ]);
}

#[test]
fn req_a10_what_is_set_in_front_of_a_body_reaches_it() {
    asked_at_least(&[
        "X=build; X=/ eval 'rm -rf $X'",
        "f() { rm -rf \"$X\"; }; X=build; X=/ f",
        "echo 'rm -rf $X' > s; X=build; X=/ . ./s",
        "X=build; X=/ sh -c 'rm -rf $X'",
        "X=build; X=/ command eval 'rm -rf $X'",
        "X=/; X=build eval 'ls $X'; rm -rf $X",
        "for X in / build; do break; done; rm -rf $X",
        "for X in / build; do test a && break; done; rm -rf $X",
        "cd /tmp/x; cd -LP /; rm -rf *",
        "cd /tmp/x; cd -P -e -- /; rm -rf *",
    ]);
    allowed(&[
        "X=/; X=build eval 'rm -rf $X'",
        "X=/; X=build sh -c 'rm -rf $X'",
        "f() { rm -rf \"$X\"; }; X=/; X=build f",
        "X=build; X=/ eval 'ls $X'; rm -rf $X",
        "for X in / build; do ls $X; done; rm -rf $X",
        "for X in dist build; do test -d $X && break; done; rm -rf $X",
        "for p in python3 python; do command -v $p && break; done; $p -m pytest",
        "cd /; cd -LP /tmp/x; rm -rf *",
    ]);
}

#[test]
fn req_a10_what_lies_behind_a_link_is_deleted_there() {
    for command in [
        "ln -s / dist; rm -rf dist/*",
        "ln -s ~ /tmp/r; rm -rf /tmp/r/*",
        "ln -s / d; cd d; rm -rf *",
        "ln -s / dist; rm -rf dist/",
        "ln -s / dist; rm -rf dist/etc",
    ] {
        assert_eq!(decision(command), Decision::Deny, "{command}");
    }
    allowed(&[
        "ln -s / dist; rm dist",
        "ln -s / dist; rm -rf dist",
        "ln -s /tmp/x dist; rm -rf dist/*",
        "ln -s ~ /tmp/r; rm -rf /tmp/r2/*",
    ]);
}
