//! The Python client against the real program: its own tests, run as a user of it would run them.

use std::path::Path;

use cofferdam_testkit::{Cofferdam, Home};

#[test]
fn the_tests_of_the_python_client_pass() {
    let home = Home::new();
    home.write("cofferdam/config.toml", "[approval]\nmode = \"off\"\n");
    home.chmod("cofferdam", 0o700);
    home.write("project/note", "a note");
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/python");
    let outcome = Cofferdam::new("/usr/bin/env", &home)
        .args(["python3", "-W", "error::ResourceWarning", "-m", "unittest", "discover", "-v", "-s"])
        .arg(client.join("tests"))
        .env("PYTHONPATH", client.join("src"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("COFFERDAM", env!("CARGO_BIN_EXE_cofferdam"))
        .env("OPENAI_API_KEY", "sk-proj-T3stT3stT3stT3stT3stT3stT3stT3st")
        .current_dir(&home.path().join("project"))
        .run()
        .expect_status(0);
    assert!(outcome.stderr().contains("\nOK"), "{}", outcome.stderr());
    // What a host's tool was called for is in the record like any other call.
    let record =
        Cofferdam::new(env!("CARGO_BIN_EXE_cofferdam"), &home).args(["audit", "export", "--format", "json"]);
    let record = record.run().expect_status(0).stdout();
    assert!(record.contains("\"tool\":\"lookup\""), "{record}");
}
