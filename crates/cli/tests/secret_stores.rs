//! Secrets that are kept in a store: the configuration names it, `secrets check` says whether it can be had.

use cofferdam_testkit::{Cofferdam, Home};

const CANARY: &str = "canary-5e1f0c77a9";

fn cofferdam(home: &Home) -> Cofferdam {
    Cofferdam::new(env!("CARGO_BIN_EXE_cofferdam"), home)
}

fn configured(secret: &str, stores: &str) -> Home {
    let home = Home::new();
    let config = format!(
        "[[provider]]\nname = \"acme\"\nhosts = [\"api.acme.example\"]\nvariables = [\"ACME_API_KEY\"]\n\
         scheme = {{ header = \"x-api-key\" }}\nsecret = {secret}\n{stores}"
    );
    home.write("cofferdam/config.toml", config);
    home
}

/// A real keyring, on a bus of its own: its value is found by its attributes, and gone when it is cleared.
#[test]
fn req_e10_the_keyring_of_the_desktop_is_a_source() {
    let home = configured("{ keyring = { service = \"acme\", account = \"me\" } }", "");
    let binary = env!("CARGO_BIN_EXE_cofferdam");
    let script = format!(
        "set -e; export XDG_RUNTIME_DIR=$PWD XDG_DATA_HOME=$PWD/data
        printf password | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
        printf {CANARY} | secret-tool store --label=test service acme account me
        {binary} secrets check
        secret-tool clear service acme account me
        {binary} secrets check && exit 9; true"
    );
    let outcome = Cofferdam::new("/usr/bin/dbus-run-session", &home)
        .args(["--", "/bin/sh", "-c", &script])
        .env("PATH", "/usr/bin:/bin")
        .run()
        .expect_status(0);
    let shown = outcome.stdout();
    assert!(shown.contains("ok: acme from keyring item account=me service=acme"), "{shown}");
    assert!(shown.contains("failed: acme from keyring item"), "{shown}");
    assert!(!shown.contains(CANARY) && !outcome.stderr().contains(CANARY));
}

#[test]
fn req_e10_a_store_that_cannot_be_asked_is_told_with_what_to_do() {
    let vault = "[secrets.vault]\naddress = \"http://127.0.0.1:1\"\n";
    let home = configured("{ vault = \"secret/acme\", key = \"token\" }", vault);
    let outcome = cofferdam(&home).args(["secrets", "check"]).run().expect_status(1);
    let shown = outcome.stdout();
    assert!(
        shown.contains("the credential of Vault itself cannot be had: the variable VAULT_TOKEN is not set"),
        "{shown}"
    );
    assert!(shown.contains("hint: set VAULT_TOKEN"), "{shown}");
    let outcome =
        cofferdam(&home).env("VAULT_TOKEN", CANARY).args(["secrets", "check"]).run().expect_status(1);
    assert!(outcome.stdout().contains("Vault: it cannot be reached"), "{}", outcome.stdout());
    assert!(!outcome.stdout().contains(CANARY));
    let outcome = cofferdam(&home).args(["secrets", "list"]).run().expect_status(0);
    assert!(outcome.stdout().contains("token in Vault secret/acme"), "{}", outcome.stdout());
}

#[test]
fn req_e10_a_store_that_is_described_wrongly_is_a_mistake_of_the_configuration() {
    for (secret, stores, expected) in [
        (format!("{{ bitwarden = \"{CANARY}\" }}"), "", "is not the id of a secret"),
        (format!("{{ onepassword = \"{CANARY}\" }}"), "", "is not a secret reference"),
        ("{ vault = \"acme\" }".to_owned(), "", "is not the path of a secret"),
        ("{ keyring = {} }".to_owned(), "", "at least one attribute"),
        (
            "{ env = \"A\" }".to_owned(),
            "[secrets.vault]\naddress = \"http://vault.example\"\n",
            "in the clear",
        ),
        (
            "{ env = \"A\" }".to_owned(),
            "[secrets.vault]\ntoken = { vault = \"a/b\" }\n",
            "must have one source",
        ),
        ("{ env = \"A\" }".to_owned(), "[secrets.valut]\n", "did you mean"),
    ] {
        let home = configured(&secret, stores);
        let outcome = cofferdam(&home).args(["secrets", "check"]).run().expect_status(78);
        let shown = outcome.stderr();
        assert!(shown.contains(expected), "{expected}: {shown}");
        assert!(!shown.contains(CANARY), "{shown}");
    }
}
