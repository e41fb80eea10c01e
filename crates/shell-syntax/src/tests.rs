use super::*;

fn run(text: &str) -> Parsed {
    let surroundings =
        Surroundings { home: "/home/me".into(), directory: "/home/me/project".into(), user: "me".into() };
    parse(text, surroundings)
}

/// The commands as lines, and no doubt about any of them.
#[track_caller]
fn lines(text: &str) -> Vec<String> {
    let parsed = run(text);
    assert_eq!(parsed.doubts, [], "{text}");
    parsed
        .commands
        .iter()
        .filter(|command| !command.argv.is_empty())
        .map(|command| command.argv.iter().map(Word::text).collect::<Vec<_>>().join(" "))
        .collect()
}

#[track_caller]
fn ends_with(text: &str, last: &str) {
    let lines = lines(text);
    assert!(lines.iter().any(|line| line == last), "{text} gave {lines:?}");
}

#[test]
fn req_a10_words_are_folded_to_what_the_program_gets() {
    let target = "rm -rf /";
    for text in [
        "rm -rf /",
        "r\\m -rf /",
        "'r'm \"-rf\" /",
        "$'\\x72m' -rf /",
        "a=rm; $a -rf /",
        "a=r; b=m; $a$b -rf /",
        "r$@m -rf /",
        "{rm,-rf,/}",
        "rm${IFS}-rf${IFS}/",
        "IFS=,; x=rm,-rf,/; $x",
        "$(echo rm) -rf /",
        "`echo rm` -rf /",
        "$(printf '\\162\\155') -rf /",
        "set -- rm -rf /; \"$@\"",
        "a=(rm -rf /); \"${a[@]}\"",
        "a=xrm; ${a#x} -rf /",
        "a=rmx; ${a%x} -rf /",
        "a=rXm; ${a/X/} -rf /",
        "a=RM; ${a,,} -rf /",
        "${nothing:-rm} -rf /",
        "x=foormbar; ${x:3:2} -rf /",
        "eval 'rm -rf /'",
        "eval rm -rf /",
        "eval \"$(echo cm0gLXJmIC8= | base64 -d)\"",
        "f() { rm \"$@\"; }; f -rf /",
        "alias x='rm -rf'; x /",
        "for i in rm; do $i -rf /; done",
        "trap 'rm -rf /' EXIT",
        "read x <<< 'rm -rf /'; $x",
        "declare -n r=t; t=rm; $r -rf /",
        "if true; then rm -rf /; fi",
        "echo $(rm -rf /)",
        "echo ${x:-$(rm -rf /)}",
        "[[ -n $(rm -rf /) ]]",
        "cat <<E\n$(rm -rf /)\nE",
        "cat <<E; rm -rf /\nhi\nE",
        "echo / | while read d; do rm -rf $d; done",
        "cp /bin/rm ./x; /bin/true; rm -rf /",
        "a=rm;b=-rf;c=/;$a $b $c",
        "x=rm y=$x; $x -rf ${PATH:0:1}",
        "a[0]=rm; a[1]=-rf; ${a[0]} ${a[1]} /",
        "printf -v c 'r%s' m; $c -rf /",
        "PROMPT_COMMAND='rm -rf /'",
        "echo 'rm -rf /' > x; . ./x",
        "v=rm; n=v; ${!n} -rf /",
    ] {
        ends_with(text, target);
    }
}

#[test]
fn req_a10_what_is_not_known_is_a_hole() {
    for text in ["$X -rf /", "$(curl x) -rf /", "a=ls; test x || a=$b; $a -rf /", "\"$(date)\" -rf /"] {
        let parsed = run(text);
        let last = parsed.commands.iter().rev().find(|command| !command.argv.is_empty()).unwrap();
        assert!(last.argv[0].is_unknown(), "{text}: {last:?}");
    }
}

#[test]
fn req_a10_a_variable_of_a_few_values_stands_for_each_of_them() {
    for text in [
        "a=ls; test -e x && a=rm; $a -rf /",
        "if test -e x; then a=rm; else a=ls; fi; $a -rf /",
        "case $1 in x) a=ls;; y) a=rm;; *) a=cat;; esac; $a -rf /",
        "a=ls; false || a=rm; $a -rf /",
        "a=rm; false && a=ls; $a -rf /",
        "b=/tmp/x; test -e x && b=/; rm -rf $b",
        "test -e x && a=echo; $a rm -rf /",
    ] {
        ends_with(text, "rm -rf /");
    }
    assert_eq!(lines("a=ls; false && a=rm; $a x"), ["false", "ls x"]);
    assert_eq!(lines("a=ls; true || a=rm; $a x"), ["true", "ls x"]);
    assert_eq!(lines("a=ls; true && a=rm; $a x"), ["true", "rm x"]);
    // Every such variable multiplies the commands, so that there is an end to it.
    let many: String = (0..12).map(|at| format!("v{at}=a; test x && v{at}=b; ")).collect();
    let all: String = (0..12).map(|at| format!("$v{at} ")).collect();
    assert!(run(&format!("{many} echo {all}")).commands.len() < 100);
}

/// What is plain has one reading however long it is; of anything else the second parser is given only so much.
#[test]
fn req_a10_long_plain_text_is_read_as_a_whole() {
    let many = |line: fn(usize) -> String| (0..3000).map(line).collect::<Vec<_>>().join("\n");
    let plain = many(|at| format!("echo line{at} > out{at}.txt && cat out{at}.txt"));
    assert!(plain.len() > 2 * 64 * 1024);
    assert_eq!(run(&plain).doubts, []);
    assert_eq!(lines(&format!("{plain}\nreboot")).last().map(String::as_str), Some("reboot"));
    let words = (0..15_000).map(|at| format!("w{at}")).collect::<Vec<_>>().join(" ");
    assert_eq!(run(&format!("echo {words}")).doubts, []);
    let other = many(|at| format!("x{at}=(a \"${{y{at}[@]/a/b}}\" <(ls {at}))"));
    assert!(run(&other).doubts.contains(&Doubt::Disagreement));
}

#[test]
fn quotes_are_respected() {
    assert_eq!(lines("echo 'rm -rf /' \"$(true)\" \\$x"), ["true", "echo rm -rf /  $x"]);
    assert_eq!(lines("cat <<'E'\n$(rm x)\nE"), ["cat"]);
    let parsed = run("ls '*' *");
    assert!(!parsed.commands[0].argv[1].is_glob() && parsed.commands[0].argv[2].is_glob());
}

#[test]
fn a_fork_bomb_is_seen() {
    for text in [":(){ :|:& };:", "b() { b | b & }; b", "f(){ f & f; }; f"] {
        assert!(run(text).doubts.contains(&Doubt::SelfReplication), "{text}");
    }
    assert!(!run("f(){ echo x; }; f | f & f").doubts.contains(&Doubt::SelfReplication));
}

#[test]
fn req_a10_a_function_may_be_a_subshell() {
    for text in ["f() (rm -r a); f", "f() ( # why\n  rm -r a\n)\nf", "f() ((rm -r a); rm -r b); f"] {
        ends_with(text, "rm -r a");
    }
}

#[test]
fn hostile_texts_end_in_a_doubt() {
    let texts = [
        // The second parser panics at this one.
        "x=$(echo ${\n)\ncat <<EOF\n}\nEOF\n".to_owned(),
        "\"unterminated".to_owned(),
        "(".repeat(100_000),
        "$(".repeat(5_000),
        "{ ".repeat(5_000),
        "if ".repeat(5_000),
        "a\0b".to_owned(),
        "x".repeat(LONGEST + 1),
        // The second parser would take years over these.
        format!("{}true{}", "(".repeat(44), ";true)".repeat(44)),
        format!("{}true", "for ((".repeat(14)),
        format!("{}true", "( \")\" ( ')' ".repeat(22)),
        "`\\`".repeat(1_000),
        "( echo \\) ; ".repeat(3_000),
        "fi done esac )".to_owned(),
        "cat <<A <<B\n".to_owned(),
    ];
    for text in texts {
        let parsed = run(&text);
        assert!(!parsed.doubts.is_empty(), "{}", text.chars().take(20).collect::<String>());
    }
}

#[test]
fn doubling_does_not_explode() {
    let texts = [
        format!("a=xx; {} $a", "a=$a$a; ".repeat(60)),
        format!("a=xx; {} echo $a", "a+=$a; ".repeat(60)),
        format!("set -- x y; {} echo $#", "set -- \"$@\" \"$@\"; ".repeat(40)),
        format!("a=(x y); {} echo ${{#a[@]}}", "a=(\"${a[@]}\" \"${a[@]}\"); ".repeat(40)),
        format!("echo x > f; {} . ./f", "cat f f > g; cat g g > f; ".repeat(30)),
    ];
    for text in texts {
        let longest = run(&text)
            .commands
            .iter()
            .flat_map(|command| command.argv.iter())
            .map(|word| word.text().len())
            .max();
        assert!(longest.is_none_or(|longest| longest <= 128 * 1024), "{longest:?}");
    }
}

#[test]
fn many_braces_do_not_explode() {
    let text = format!("echo {}", "{a,b}".repeat(200));
    assert!(run(&text).commands[0].argv[0].text() == "echo");
    let text = format!("echo {}", "{a,b}".repeat(30));
    assert!(run(&text).commands[0].argv.len() <= 257);
}

proptest::proptest! {
    #[test]
    fn never_panics(text in "[ -~\\n]{0,80}") {
        run(&text);
    }

    #[test]
    fn never_panics_on_shell_like_text(parts in proptest::collection::vec(proptest::sample::select(vec![
        "$(", ")", "`", "\"", "'", "{", "}", "${", "a", "=", ";", "|", "&", "<<E", "\n", "E\n", "[", "]", "#", "%", "/",
        "if ", "then ", "fi", "for ", "in ", "do ", "done", "((", "))", " ", "\\", "$", "@", "*", "x", "é",
    ]), 0..40)) {
        run(&parts.concat());
    }
}

#[test]
fn letters_of_several_bytes_around_nested_commands_end_nothing() {
    for text in [
        "${]if \n${{]${${}`é${[``\\if E\naE\nE",
        "]if \n${{]${${}`é${[``\\if E\naE\nE",
        "echo \"→ $(rm é)\" `é` ${é} <(é)",
    ] {
        run(text);
    }
}

#[test]
fn paths_are_cleaned_whether_much_or_nothing_is_to_do() {
    for (directory, path, whole) in [
        ("/a/b", "c", "/a/b/c"),
        ("/a/b", "", "/a/b"),
        ("", "", "/"),
        ("", "a", "/a"),
        ("/", "a", "/a"),
        ("/", "/", "/"),
        ("a", "b", "/a/b"),
        ("/a", "/b/c", "/b/c"),
        ("/a/", "b", "/a/b"),
        ("/a", "b/", "/a/b"),
        ("/a", "b//c", "/a/b/c"),
        ("/a", "./b", "/a/b"),
        ("/a", "../b", "/b"),
        ("/a", "../../..", "/"),
        ("/a", "b/..", "/a"),
        ("/a", "b/.c", "/a/b/.c"),
        ("/a", "..b", "/a/..b"),
        ("/a", "b.c", "/a/b.c"),
        ("/a/../b", "c", "/b/c"),
    ] {
        assert_eq!(normalise(directory, path), whole, "{directory} {path}");
    }
}
