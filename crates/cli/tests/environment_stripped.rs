//! Promise: a child gets an environment that was built from nothing, and `env` says why it is as it is.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use cofferdam_testkit::{Cofferdam, Home, Outcome};
use serde_json::Value;

fn cofferdam(home: &Home, args: &[&str]) -> Cofferdam {
    Cofferdam::new(env!("CARGO_BIN_EXE_cofferdam"), home).args(args)
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_slice(outcome.stdout_bytes()).expect("JSON on standard output")
}

/// What is passed, with its value, and what is not, with its rule.
fn shown(outcome: &Outcome) -> (BTreeMap<String, String>, BTreeMap<String, String>) {
    let json = json(outcome);
    let column = |list: &str, field: &str| {
        let text = |value: &Value| value.as_str().unwrap_or("(hidden)").to_owned();
        let rows = json[list].as_array().expect("a list").iter();
        rows.map(|row| (text(&row["name"]), text(&row[field]))).collect()
    };
    (column("passed", "value"), column("dropped", "rule"))
}

/// Each variable with a value and the rule that must keep it out.
const KEPT_OUT: &[(&str, &str, &str)] = &[
    ("OPENAI_API_KEY", "plain-canary", "provider-credential"),
    ("ANTHROPIC_API_KEY", "plain-canary", "provider-credential"),
    ("CLAUDE_CODE_OAUTH_TOKEN", "plain-canary", "provider-credential"),
    ("GITHUB_TOKEN", "plain-canary", "provider-credential"),
    ("HF_TOKEN", "plain-canary", "provider-credential"),
    ("FAL_KEY", "plain-canary", "provider-credential"),
    ("AWS_ACCESS_KEY_ID", "plain-canary", "provider-credential"),
    ("AWS_SECRET_ACCESS_KEY", "plain-canary", "provider-credential"),
    ("AWS_SESSION_TOKEN", "plain-canary", "provider-credential"),
    ("GOOGLE_APPLICATION_CREDENTIALS", "/canary.json", "provider-credential"),
    ("TELEGRAM_BOT_TOKEN", "plain-canary", "provider-credential"),
    ("VERTEX_CREDENTIALS_PATH", "/canary.json", "provider-credential"),
    ("INTERNAL_API_KEY", "plain-canary", "credential-name"),
    ("internal_api_key", "plain-canary", "credential-name"),
    ("VAULT_TOKEN", "plain-canary", "credential-name"),
    ("APP_SECRET", "plain-canary", "credential-name"),
    ("DB_PASSWORD", "plain-canary", "credential-name"),
    ("DB_PASSWD", "plain-canary", "credential-name"),
    ("GCP_CREDENTIALS", "plain-canary", "credential-name"),
    ("SENTRY_DSN", "plain-canary", "credential-name"),
    ("SLACK_WEBHOOK_URL", "plain-canary", "credential-name"),
    ("MINIO_ACCESS_KEY", "plain-canary", "credential-name"),
    ("TLS_PRIVATE_KEY_PEM", "plain-canary", "credential-name"),
    ("PGPASSWORD", "plain-canary", "credential-name"),
    ("MYSQL_PWD", "plain-canary", "credential-name"),
    ("DATABASE_URL", "plain-canary", "credential-name"),
    ("STORAGE_CONNECTION_STRING", "plain-canary", "credential-name"),
    ("SLACK_SIGNING_SECRET", "plain-canary", "credential-name"),
    ("INNOCENT_ONE", "sk-proj-canary0canary0canary0canary", "credential-value"),
    ("INNOCENT_TWO", "x ghp_canary0canary0canary0canary0", "credential-value"),
    ("INNOCENT_THREE", "AKIACANARY0CANARY0CANARY", "credential-value"),
    ("INNOCENT_FOUR", "xoxb-100000000000-canary0canary", "credential-value"),
    ("INNOCENT_FIVE", "eyJhbGciOiJub25lIn0.eyJjYW5hcnkiOjF9.canary", "credential-value"),
    ("INNOCENT_SIX", "-----BEGIN RSA PRIVATE KEY-----\ncanary", "credential-value"),
    ("INNOCENT_SEVEN", "postgres://app:canary@db.example/x", "credential-value"),
    ("INNOCENT_EIGHT", "https://canary@git.example/x.git", "credential-value"),
    ("COLORTERM", "sk-ant-api03-canary0canary0canary0", "credential-value"),
    ("LD_PRELOAD", "/canary.so", "takeover"),
    ("LD_LIBRARY_PATH", "/canary", "takeover"),
    ("DYLD_INSERT_LIBRARIES", "/canary", "takeover"),
    ("GCONV_PATH", "/canary", "takeover"),
    ("PYTHONSTARTUP", "/canary.py", "takeover"),
    ("PYTHONPATH", "/canary", "takeover"),
    ("PYTHONHOME", "/canary", "takeover"),
    ("PYTHONINSPECT", "canary", "takeover"),
    ("BASH_ENV", "/canary", "takeover"),
    ("ENV", "/canary", "takeover"),
    ("PROMPT_COMMAND", "canary", "takeover"),
    ("PS4", "canary", "takeover"),
    ("SHELLOPTS", "canary", "takeover"),
    ("BASH_FUNC_ls%%", "() { canary; }", "takeover"),
    ("NODE_OPTIONS", "--require=/canary", "takeover"),
    ("NODE_PATH", "/canary", "takeover"),
    ("PERL5OPT", "-Mcanary", "takeover"),
    ("PERL5LIB", "/canary", "takeover"),
    ("RUBYOPT", "-rcanary", "takeover"),
    ("RUBYLIB", "/canary", "takeover"),
    ("JAVA_TOOL_OPTIONS", "-javaagent:canary", "takeover"),
    ("_JAVA_OPTIONS", "canary", "takeover"),
    ("CLASSPATH", "/canary", "takeover"),
    ("GIT_SSH_COMMAND", "canary", "takeover"),
    ("GIT_ASKPASS", "/canary", "takeover"),
    ("GIT_EXTERNAL_DIFF", "/canary", "takeover"),
    ("GIT_CONFIG_COUNT", "canary", "takeover"),
    ("SSH_ASKPASS", "/canary", "takeover"),
    ("PAGER", "canary", "takeover"),
    ("EDITOR", "canary", "takeover"),
    ("LESSOPEN", "|canary", "takeover"),
    ("MANPAGER", "canary", "takeover"),
    ("RUSTC_WRAPPER", "/canary", "takeover"),
    ("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER", "/canary", "takeover"),
    ("MAKEFLAGS", "canary", "takeover"),
    ("npm_config_registry", "https://canary.example", "takeover"),
    ("PIP_INDEX_URL", "https://canary.example", "takeover"),
    ("SSH_AUTH_SOCK", "/canary.sock", "takeover"),
    ("GPG_AGENT_INFO", "/canary.sock", "takeover"),
    ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/canary", "takeover"),
    ("XDG_RUNTIME_DIR", "/canary", "takeover"),
    ("DISPLAY", ":canary", "takeover"),
    ("WAYLAND_DISPLAY", "canary", "takeover"),
    ("XAUTHORITY", "/canary", "takeover"),
    ("DOCKER_HOST", "unix:///canary", "takeover"),
    ("KUBECONFIG", "/canary", "takeover"),
    ("COFFERDAM_SOMETHING", "canary", "takeover"),
    ("HTTP_PROXY", "http://me:canary@proxy.example", "takeover"),
    ("https_proxy", "http://canary.example", "takeover"),
    ("NO_PROXY", "canary", "takeover"),
    ("ALL_PROXY", "canary", "takeover"),
    ("OPENAI_BASE_URL", "https://canary.example", "other-base-url"),
    ("SSL_CERT_FILE", "/canary.pem", "not-for-this-child"),
    ("TMPDIR", "canary", "unfit-value"),
    ("USER", "canary0CANARY0canary0CANARY0", "unfit-value"),
    ("TERM", "canary\nLD_PRELOAD=/canary", "unfit-value"),
    ("SOMETHING_ELSE", "canary", "not-on-allowlist"),
    ("LC_MADE_UP", "canary", "not-on-allowlist"),
    ("term", "canary", "not-on-allowlist"),
];

/// Each variable that must be passed as it is.
const LET_IN: &[(&str, &str)] = &[
    ("SHELL", "/bin/bash"),
    ("LOGNAME", "me"),
    ("LC_TIME", "de_DE.UTF-8"),
    ("LANG", "de_DE.UTF-8"),
    ("TZ", "Europe/Berlin"),
    ("NO_COLOR", "1"),
    ("CI", "true"),
    ("COLUMNS", "120"),
    ("CARGO_HOME", "/usr/local/cargo"),
    ("VIRTUAL_ENV", "/work/venv"),
    ("LS_COLORS", "di=01;34:*.tar=01;31"),
    ("XDG_CONFIG_HOME", "/home/me/.config"),
    ("PYTHONUTF8", "0"),
];

fn with_everything(mut cofferdam: Cofferdam) -> Cofferdam {
    for (name, value, _) in KEPT_OUT {
        cofferdam = cofferdam.env(name, value);
    }
    for (name, value) in LET_IN {
        cofferdam = cofferdam.env(name, value);
    }
    cofferdam
}

/// Every value that must stay out has this word in it.
#[track_caller]
fn assert_no_canary(outcome: &Outcome) {
    for printed in [outcome.stdout(), outcome.stderr()] {
        assert!(!printed.to_lowercase().contains("canary"), "{printed}");
    }
}

#[test]
fn req_s02_names_values_and_takeovers_stay_out_by_the_right_rule() {
    let home = Home::new();
    let outcome = with_everything(cofferdam(&home, &["env", "show", "--json"])).run().expect_status(0);
    let (passed, dropped) = shown(&outcome);
    for (name, _, rule) in KEPT_OUT {
        assert_eq!(dropped.get(*name).map(String::as_str), Some(*rule), "{name}");
        assert!(!passed.contains_key(*name), "{name}");
    }
    for (name, value) in LET_IN {
        assert_eq!(passed.get(*name).map(String::as_str), Some(*value), "{name}");
    }
    assert_no_canary(&outcome);
}

#[test]
fn req_s01_nothing_is_passed_that_no_rule_lets_in() {
    let home = Home::new();
    let outcome = with_everything(cofferdam(&home, &["env", "show", "--json"])).run().expect_status(0);
    let (passed, _) = shown(&outcome);
    let mut expected: Vec<&str> = LET_IN.iter().map(|(name, _)| *name).chain(["PATH", "HOME"]).collect();
    expected.sort_unstable();
    assert_eq!(passed.keys().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn req_s01_no_value_of_a_dropped_variable_is_printed_by_any_form() {
    let home = Home::new();
    for args in [&["env", "show"][..], &["env", "show", "--trust", "helper"], &["providers", "list"]] {
        assert_no_canary(&with_everything(cofferdam(&home, args)).run().expect_status(0));
    }
    for (name, _, rule) in KEPT_OUT {
        let outcome =
            with_everything(cofferdam(&home, &["env", "explain", name, "--json"])).run().expect_status(1);
        assert_no_canary(&outcome);
        assert_eq!(json(&outcome)["rule"], *rule, "{name}");
        assert_eq!(json(&outcome)["set"], true, "{name}");
    }
}

/// The command that a secret is read with is a real child of the program; it writes down what it was given.
#[test]
fn req_s01_a_real_child_gets_exactly_what_is_shown() {
    let home = Home::new();
    home.write(
        "cofferdam/config.toml",
        "[[provider]]\nname = \"acme\"\nhosts = [\"api.acme.example\"]\nvariables = [\"ACME_LOGIN\"]\n\
         scheme = { header = \"Authorization\", template = \"Bearer {}\" }\n\
         secret = { command = [\"sh\", \"-c\", \"env -0 > $HOME/seen; echo a-long-value\"] }\n",
    );
    let everything =
        |args: &[&str]| with_everything(cofferdam(&home, args)).env("ACME_LOGIN", "canary").run();
    everything(&["secrets", "check", "acme"]).expect_status(0);

    let bytes = std::fs::read(home.path().join("seen")).expect("what the child wrote");
    let mut child: BTreeMap<String, String> = String::from_utf8(bytes)
        .expect("text")
        .split_terminator('\0')
        .map(|variable| variable.split_once('=').expect("NAME=VALUE"))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    // A shell adds these itself.
    child.retain(|name, _| !["PWD", "OLDPWD", "SHLVL", "_"].contains(&name.as_str()));
    let (passed, _) = shown(&everything(&["env", "show", "--trust", "tool", "--json"]).expect_status(0));
    assert_eq!(child, passed);
    assert!(child.contains_key("PATH") && child.contains_key("OPENAI_BASE_URL"));
    assert!(!child.contains_key("OPENAI_API_KEY") && !child.contains_key("ACME_LOGIN"));
}

/// Names and values out of a small generator, so that not only chosen ones are tried.
#[test]
fn req_s01_generated_variables_leave_no_value_behind() {
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut next = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    let stems = ["X", "NODE", "GIT", "PY", "APP", "lc", "AWS", "é", "A B", "KEY", "PATHS"];
    let tails = ["", "_TOKEN", "_URL", "_OPTIONS", "_KEY", "_HOME", "_PROXY", "_x", "%%", "_DIR"];
    let home = Home::new();
    for _ in 0..20 {
        let mut run = cofferdam(&home, &["env", "show", "--json"]);
        let mut given = BTreeMap::new();
        for _ in 0..40 {
            let pick = |number: u64, list: &[&'static str]| list[(number % list.len() as u64) as usize];
            let name = format!("{}_{}{}", pick(next(), &stems), next() % 7, pick(next(), &tails));
            given.insert(name, format!("v{:016x}w", next()));
        }
        for (name, value) in &given {
            run = run.env(name, value);
        }
        let outcome = run.run().expect_status(0);
        let (passed, dropped) = shown(&outcome);
        for (name, value) in &given {
            assert!(dropped.contains_key(name) && !passed.contains_key(name), "{name}");
            assert!(!outcome.stdout().contains(value.as_str()), "{name}");
        }
    }
}

#[test]
fn req_s03_a_users_passthrough_is_honoured_first_and_shown() {
    let home = Home::new();
    home.write("cofferdam/config.toml", "[sandbox.env]\npass = [\"EDITOR\", \"DATABASE_URL\"]\n");
    let run = |args: &[&str]| {
        cofferdam(&home, args).env("EDITOR", "vi").env("DATABASE_URL", "postgres://a:canary@b/").run()
    };
    let outcome = run(&["env", "show", "--json", "--env", "DEBUG=1", "--env", "ABSENT"]).expect_status(0);
    let (passed, dropped) = shown(&outcome);
    assert_eq!(passed["EDITOR"], "vi");
    assert_eq!(passed["DEBUG"], "1");
    assert_eq!(
        passed["DATABASE_URL"], "(hidden)",
        "a credential is passed when asked for, and still not shown"
    );
    assert_eq!(dropped["ABSENT"], "wished-but-not-set");
    assert_no_canary(&outcome);

    let explained = run(&["env", "explain", "EDITOR"]).expect_status(0).stdout();
    assert_eq!(explained, "EDITOR is passed: passed on by pass in [sandbox.env]\n");
    let explained = run(&["env", "explain", "EDITOR", "--env", "EDITOR=nano"]).expect_status(0).stdout();
    assert_eq!(explained, "EDITOR is passed: set by --env\n");
}

#[test]
fn req_s03_explain_says_what_would_pass_a_variable() {
    let home = Home::new();
    let explain = |name: &str| cofferdam(&home, &["env", "explain", name]).env("PAGER", "less").run();
    assert_eq!(
        explain("PAGER").expect_status(1).stdout(),
        "PAGER is not passed: names a command that other programs run\n\
         To pass it: --env PAGER\n\
         To pass it: pass = [\"PAGER\"] in [sandbox.env] of config.toml\n"
    );
    let key = explain("OPENAI_API_KEY").expect_status(1).stdout();
    assert!(key.contains("holds the credential of openai-api\nIt is not set on this host.\n"), "{key}");
    assert!(key.contains("To pass it: --inherit-credentials openai-api\n"), "{key}");
    assert_eq!(
        explain("PATH").expect_status(0).stdout(),
        "PATH is passed: on the allowlist (what every program needs)\n"
    );
    let term = explain("TERM").expect_status(1).stdout();
    assert_eq!(
        term,
        "TERM would be passed, but is not set on this host: on the allowlist (person and terminal)\n"
    );
}

#[test]
fn req_s04_an_executor_gets_its_own_provider_and_no_other() {
    let home = Home::new();
    let run = |args: &[&str]| {
        let run =
            cofferdam(&home, args).env("OPENAI_API_KEY", "canary-one").env("GROQ_API_KEY", "canary-two");
        run.env("OPENAI_BASE_URL", "https://own.example").env("GROQ_BASE_URL", "https://other.example").run()
    };
    let executor =
        ["env", "show", "--json", "--trust", "executor=openai-api", "--inherit-credentials", "groq"];
    let outcome = run(&executor).expect_status(0);
    let (passed, dropped) = shown(&outcome);
    assert_eq!(passed["OPENAI_API_KEY"], "(hidden)");
    assert_eq!(passed["OPENAI_BASE_URL"], "https://own.example");
    assert_eq!(dropped["GROQ_API_KEY"], "provider-credential");
    assert_eq!(dropped["GROQ_BASE_URL"], "other-base-url");
    assert_no_canary(&outcome);

    let asked = run(&["env", "show", "--json", "--inherit-credentials", "groq"]).expect_status(0);
    let (passed, dropped) = shown(&asked);
    assert_eq!(passed["GROQ_API_KEY"], "(hidden)");
    assert_eq!(dropped["OPENAI_API_KEY"], "provider-credential");

    let helper =
        ["env", "show", "--json", "--trust", "helper", "--inherit-credentials", "groq", "--env", "HOME"];
    let (passed, _) = shown(&run(&helper).expect_status(0));
    assert_eq!(passed.keys().map(String::as_str).collect::<Vec<_>>(), ["LANG", "PATH", "PYTHONUTF8"]);

    let (passed, _) = shown(&run(&["env", "show", "--json", "--trust", "tool"]).expect_status(0));
    assert!(passed.contains_key("OPENAI_BASE_URL") && !passed.contains_key("OPENAI_API_KEY"));

    run(&["env", "show", "--trust", "executor=nobody"]).expect_status(64);
    run(&["env", "show", "--trust", "friend"]).expect_status(64);
}

#[test]
fn req_s06_utf8_is_assured_without_overriding_a_choice() {
    let home = Home::new();
    let (passed, _) = shown(&cofferdam(&home, &["env", "show", "--json"]).run().expect_status(0));
    assert_eq!((passed["LANG"].as_str(), passed["PYTHONUTF8"].as_str()), ("C.UTF-8", "1"));
    let chosen =
        cofferdam(&home, &["env", "show", "--json"]).env("LC_ALL", "POSIX").env("PYTHONUTF8", "0").run();
    let (passed, _) = shown(&chosen.expect_status(0));
    assert_eq!((passed["LC_ALL"].as_str(), passed["PYTHONUTF8"].as_str()), ("POSIX", "0"));
    assert!(!passed.contains_key("LANG"));
}

#[test]
fn a_search_path_is_cleaned_of_what_moves_with_the_directory() {
    let home = Home::new();
    let run = cofferdam(&home, &["env", "show", "--json"]).env("PATH", ".:/usr/bin::bin:/bin");
    assert_eq!(shown(&run.run().expect_status(0)).0["PATH"], "/usr/bin:/bin");
}

#[test]
fn bytes_that_are_no_text_and_names_that_cannot_be_do_no_harm() {
    let home = Home::new();
    let odd = OsStr::from_bytes(b"\xff\xfe\x1b[31m");
    for args in [&["env", "show"][..], &["env", "show", "--json"], &["providers", "list"]] {
        let outcome = cofferdam(&home, args).env(odd, odd).env("TERM", odd).run().expect_status(0);
        assert!(!outcome.stdout().contains('\x1b'));
    }
    let passed = cofferdam(&home, &["env", "show", "--env", "ODD"]).env("ODD", odd).run().expect_status(0);
    assert!(passed.stdout().contains("\\u{1b}[31m") && !passed.stdout().contains('\x1b'));
    for typed in ["", "=x"] {
        let outcome = cofferdam(&home, &["env", "show", "--env", typed]).run().expect_status(64);
        assert!(outcome.stderr().starts_with("cofferdam: --env cannot be used: "), "{}", outcome.stderr());
    }
    cofferdam(&home, &["env", "explain", "A=b"]).run().expect_status(64);
}
