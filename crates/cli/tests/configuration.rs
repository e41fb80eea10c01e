//! The configuration is read as written, or refused with everything that is wrong with it.

use std::os::unix::fs::{lchown, symlink};

use cofferdam_testkit::{Cofferdam, Home, Outcome};

const CONFIG: &str = "cofferdam/config.toml";

fn check(home: &Home, args: &[&str]) -> Outcome {
    Cofferdam::new(env!("CARGO_BIN_EXE_cofferdam"), home).args(["config", "check"]).args(args).run()
}

fn check_text(text: &str) -> (String, Outcome) {
    let home = Home::new();
    let path = home.write(CONFIG, text);
    (path.display().to_string(), check(&home, &[]))
}

const FIVE: &str = r#"[egress]
enabled = true
allow_hosts = ["github.com"]
listen = "127.0.0.1:0"

[egress.limits]
request_body = 64

[[egress.allow]]
hosts = ["github.com"]
prots = [443]

[approval]
mode = "yolo"
"#;

#[test]
fn req_e27_five_mistakes_show_five_each_at_its_line() {
    let (path, outcome) = check_text(FIVE);
    let outcome = outcome.expect_status(78);
    let expected = format!(
        "\
{path}:3:1: “egress.allow_hosts” is not a key here
hint: write [[egress.allow]] with hosts = […]
{path}:4:10: “127.0.0.1:0” in “egress.listen” has port 0
hint: write an address and a port from 1 to 65535, such as \"127.0.0.1:9191\"
{path}:7:16: “egress.limits.request_body” must be a size in quotes, with a unit, not a number
hint: write a number and one of B, KB, MB, GB, TB (thousands) or KiB, MiB, GiB, TiB (1024s), such as \"64MiB\"
{path}:11:1: “egress.allow.prots” is not a key here
hint: did you mean “ports”?
{path}:14:8: “yolo” is not a value of “approval.mode”
hint: it is called \"off\"
cofferdam: 5 mistakes in {path}
"
    );
    assert_eq!(outcome.stderr(), expected);
    assert_eq!(outcome.stdout(), "");
}

#[test]
fn req_e27_the_same_mistakes_as_json() {
    let home = Home::new();
    home.write(CONFIG, FIVE);
    let outcome = check(&home, &["--json"]).expect_status(78);
    let report: serde_json::Value = serde_json::from_slice(outcome.stdout_bytes()).expect("JSON");
    assert_eq!(report["valid"], false);
    let mistakes = report["mistakes"].as_array().expect("a list");
    let lines: Vec<u64> = mistakes.iter().map(|mistake| mistake["line"].as_u64().expect("a line")).collect();
    assert_eq!(lines, [3, 4, 7, 11, 14]);
    assert_eq!(outcome.stderr(), "");
}

#[test]
fn req_e27_port_zero_and_ports_out_of_range_are_refused_and_others_are_not() {
    for wrong in ["0", "65536", "-1", "99999999999999999999"] {
        let (_, outcome) =
            check_text(&format!("[[egress.allow]]\nhosts = [\"a.example\"]\nports = [{wrong}]\n"));
        let stderr = outcome.expect_status(78).stderr();
        assert!(stderr.contains(":3:10: ") && stderr.contains("is not a port"), "{stderr}");
    }
    check_text("[[egress.allow]]\nhosts = [\"a.example\"]\nports = [1, 65535]\n").1.expect_status(0);
}

#[test]
fn a_valid_configuration_is_summed_up_and_a_missing_one_means_the_defaults() {
    let text = "[[egress.allow]]\nhosts = [\"a.example\"]\n[[provider]]\nname = \"acme\"\nhosts = [\"b.example\"]\n\
                variables = [\"ACME_KEY\"]\nscheme = { header = \"x-api-key\" }\n";
    let (path, outcome) = check_text(text);
    let outcome = outcome.expect_status(0);
    assert_eq!(outcome.stdout(), format!("{path} is valid: 1 allow rule, 1 provider of your own\n"));

    let outcome = check(&Home::new(), &[]).expect_status(0);
    assert!(
        outcome.stdout().ends_with("config.toml does not exist, so the defaults hold\n"),
        "{}",
        outcome.stdout()
    );
}

#[test]
fn a_syntax_error_is_shown_alone_at_its_line() {
    let (path, outcome) = check_text("[egress]\nunknown = 1\nlisten = \"127.0.0.1:9191\n");
    let stderr = outcome.expect_status(78).stderr();
    assert!(stderr.starts_with(&format!("{path}:3:")), "{stderr}");
    assert!(!stderr.contains("unknown"), "{stderr}");
}

#[test]
fn a_named_file_is_checked_instead() {
    let home = Home::new();
    home.write(CONFIG, "wrong");
    home.write("other.toml", "[audit]\non_write_failure = \"continue\"\n");
    check(&home, &["other.toml"]).expect_status(0);
    let stderr = check(&home, &["missing.toml"]).expect_status(69).stderr();
    assert!(stderr.contains("missing.toml") && stderr.contains("hint: "), "{stderr}");
}

#[test]
fn a_project_file_may_only_narrow() {
    let home = Home::new();
    home.write(".cofferdam.toml", "[egress]\nenforce = false\n[sandbox]\nhide = [\"keys\"]\n");
    let stderr = check(&home, &[".cofferdam.toml"]).expect_status(78).stderr();
    assert!(stderr.contains(".cofferdam.toml:2:1: a project may not set “egress.enforce”"), "{stderr}");
    home.write(".cofferdam.toml", "[sandbox]\nhide = [\"keys\"]\n");
    let stdout = check(&home, &[".cofferdam.toml"]).expect_status(0).stdout();
    assert_eq!(stdout, ".cofferdam.toml is valid for a project: nothing about hosts, 1 hidden path\n");
}

#[test]
fn a_configuration_that_others_can_change_is_refused_with_the_chmod_to_run() {
    let home = Home::new();
    let path = home.write(CONFIG, "");
    for mode in [0o620, 0o602, 0o666] {
        home.chmod(CONFIG, mode);
        let stderr = check(&home, &[]).expect_status(78).stderr();
        assert!(stderr.contains(&format!("hint: run: chmod go-w {}", path.display())), "{stderr}");
    }
    home.chmod(CONFIG, 0o644);
    check(&home, &[]).expect_status(0);
}

#[test]
fn a_link_of_ones_own_is_followed_and_one_that_leads_nowhere_is_a_failure() {
    let home = Home::new();
    home.write("dotfiles/config.toml", "[approval]\nmode = \"smart\"\n");
    home.write("cofferdam/other", "");
    symlink("../dotfiles/config.toml", home.path().join(CONFIG)).expect("a link");
    let stdout = check(&home, &[]).expect_status(0).stdout();
    assert!(stdout.contains("is valid"), "{stdout}");
    std::fs::remove_file(home.path().join("dotfiles/config.toml")).expect("the target goes");
    check(&home, &[]).expect_status(69);
}

#[test]
fn what_belongs_to_another_user_is_refused() {
    let home = Home::new();
    home.write("dotfiles/config.toml", "");
    let config = home.write(CONFIG, "");
    // Only root can give files away; an ordinary user cannot make this situation.
    if lchown(&config, Some(12345), None).is_err() {
        return;
    }
    let stderr = check(&home, &[]).expect_status(78).stderr();
    assert!(stderr.contains("owned by another user (uid 12345)"), "{stderr}");
    std::fs::remove_file(&config).expect("the file goes");
    symlink("../dotfiles/config.toml", &config).expect("a link");
    lchown(&config, Some(12345), None).expect("root may");
    let stderr = check(&home, &[]).expect_status(78).stderr();
    assert!(stderr.contains("a link of another user (uid 12345)"), "{stderr}");
}

#[test]
fn what_is_no_text_file_is_refused_at_once() {
    let home = Home::new();
    std::fs::create_dir_all(home.path().join(CONFIG)).expect("a directory in its place");
    let stderr = check(&home, &[]).expect_status(78).stderr();
    assert!(stderr.contains("is not a regular file"), "{stderr}");
    check(&home, &["/dev/zero"]).expect_status(78);

    let home = Home::new();
    home.write(CONFIG, b"[egress]\n# \xff\n");
    let stderr = check(&home, &[]).expect_status(78).stderr();
    assert!(stderr.contains("is not UTF-8 text (line 2)"), "{stderr}");
}

#[test]
fn a_secret_in_the_configuration_is_not_repeated() {
    let text = "[[provider]]\nname = \"acme\"\nhosts = [\"b.example\"]\nvariables = [\"ACME_KEY\"]\n\
                scheme = { header = \"x-api-key\" }\nsecret = \"sk-live-canary\"\n";
    let (_, outcome) = check_text(text);
    let stderr = outcome.expect_status(78).stderr();
    assert!(stderr.contains(":6:") && !stderr.contains("canary"), "{stderr}");
}
