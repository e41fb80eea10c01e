//! Tools of the user's own: commands, and servers in a sandbox of their own.

mod scripts;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use scripts::{OFF, Project, printed};

fn program(project: &Project, name: &str, text: &str) -> String {
    let path = project.home.write(name, text);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).expect("a mode");
    path.display().to_string()
}

fn configure(project: &Project, tools: &str) {
    project.home.write("cofferdam/config.toml", format!("{OFF}{tools}"));
}

#[test]
fn a_command_gets_json_and_gives_json_and_only_the_credential_that_is_its_own() {
    const OWN: &str = "sk-proj-OwnOwnOwnOwnOwnOwnOwnOwnOwnOwn12";
    const OTHER: &str = "sk-ant-api03-OtherOtherOtherOtherOther12";
    let project = Project::new(OFF);
    let tell = program(
        &project,
        "tell",
        "#!/bin/sh\nprintf '{\"got\": %s, \"own\": \"%s\", \"other\": \"%s\"}' \"$(cat)\" \
         \"${OPENAI_API_KEY:+set} $OPENAI_API_KEY\" \"${ANTHROPIC_API_KEY:+set}\"\n",
    );
    let fail = program(&project, "fail", "#!/bin/sh\necho \"no: $OPENAI_API_KEY\" >&2\nexit 3\n");
    let slow = program(&project, "slow", "#!/bin/sh\nsleep 100\n");
    configure(
        &project,
        &format!(
            "[[tool]]\nname = \"plain\"\ncommand = [\"{tell}\"]\nschema = '{{\"type\": \"object\", \
             \"properties\": {{\"x\": {{\"type\": \"integer\"}}}}, \"required\": [\"x\"]}}'\n\
             [[tool]]\nname = \"executor\"\ncommand = [\"{tell}\"]\ntrust = \"executor\"\nprovider = \"openai-api\"\n\
             [[tool]]\nname = \"fails\"\ncommand = [\"{fail}\"]\ntrust = \"executor\"\nprovider = \"openai-api\"\n\
             [[tool]]\nname = \"slow\"\ncommand = [\"{slow}\"]\ntimeout = \"1s\"\n"
        ),
    );
    let text = "
import cofferdam_tools as t
print(t.plain(3))
print(t.executor())
for act in [lambda: t.plain('x'), t.fails, t.slow]:
    try: print(act())
    except t.ToolError as error: print(error.kind, error)
";
    let call = project
        .call(&["--tools", "plain,executor,fails,slow", "--language", "python", "-"])
        .env("OPENAI_API_KEY", OWN)
        .env("ANTHROPIC_API_KEY", OTHER);
    let result = scripts::result(&call.input(text).run().stdout());
    let printed = printed(&result);
    assert!(printed.contains("{'got': {'x': 3}, 'other': '', 'own': ' '}"), "{printed}");
    assert!(
        printed.contains("'own': 'set [redacted:"),
        "the one that works for a provider has its key: {printed}"
    );
    assert!(printed.contains("bad-arguments plain: x is not integer"), "{printed}");
    assert!(printed.contains("failed the tool ended with status 3: no: [redacted:"), "{printed}");
    assert!(printed.contains("timed-out"), "{printed}");
    assert!(!printed.contains(OWN) && !printed.contains(OTHER), "{printed}");
}

#[test]
fn a_tool_that_is_not_granted_is_not_there_and_mistakes_are_told() {
    let project = Project::new(OFF);
    configure(&project, "[[tool]]\nname = \"mine\"\ncommand = [\"/bin/true\"]\nschema = '['\n");
    let text = "import cofferdam_tools as t\nprint(t.TOOLS)\n";
    assert_eq!(printed(&project.python(&[], text)), "[]\n");
    let outcome = project.call(&["--tools", "mine", "--language", "bash", "-"]).run().expect_status(78);
    assert!(outcome.stderr().contains("is no JSON"), "{}", outcome.stderr());
    configure(&project, "[[tool]]\nname = \"mine\"\ncommand = [\"/bin/true\"]\nprovider = \"opnai-api\"\n");
    let outcome = project.call(&["--tools", "mine", "--language", "bash", "-"]).run().expect_status(78);
    assert!(outcome.stderr().contains("did you mean openai-api?"), "{}", outcome.stderr());
    let outcome = project.call(&["--tools", "mine.x", "--language", "bash", "-"]).run().expect_status(64);
    assert!(outcome.stderr().contains("there is no tool"), "{}", outcome.stderr());
}

/// The packages that `cargo xtask test` has put into the project's cache.
fn packages() -> PathBuf {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/test/python");
    let packages = packages.canonicalize().unwrap_or(packages);
    assert!(
        packages.join("mcp").is_dir(),
        "the package mcp is not in {}: `cargo xtask test` installs it",
        packages.display()
    );
    packages
}

#[test]
fn a_server_from_a_registry_is_a_tool_and_has_a_sandbox_of_its_own() {
    let project = Project::new(OFF);
    let packages = packages();
    project.home.write("notes/private", "the home is not shown");
    project.home.write(
        "project/server.py",
        "
import os
from mcp.server.fastmcp import FastMCP
app = FastMCP('demo')

@app.tool()
def add(a: int, b: int) -> int:
    'Add two numbers.'
    return a + b

@app.tool()
def look() -> list[str]:
    seen = [name for name in os.environ if 'KEY' in name]
    seen += [path for path in ['/cofferdam/script.py', os.path.expanduser('~/notes/private')] if os.path.exists(path)]
    return seen

@app.tool()
def fail() -> str:
    raise ValueError('on purpose')

app.run()
",
    );
    configure(
        &project,
        &format!(
            "[[tool]]\nname = \"demo\"\nmcp = [\"env\", \"PYTHONPATH={0}\", \"python3\", \"server.py\"]\n\
             read = [\"{0}\"]\n",
            packages.display()
        ),
    );
    let text = "
import cofferdam_tools as t
print(sorted(t.TOOLS), t.demo_add.__doc__.splitlines()[0])
print(t.demo_add(1, 2)['result'], t.demo_look()['result'])
try: t.demo_fail()
except t.ToolError as error: print(error.kind, 'on purpose' in str(error))
";
    let call = project
        .call(&["--tools", "demo", "--language", "python", "-"])
        .env("OPENAI_API_KEY", "sk-secret-secret-secret");
    let result = scripts::result(&call.input(text).run().stdout());
    assert_eq!(
        printed(&result),
        "['demo.add', 'demo.fail', 'demo.look'] Add two numbers.\n3 []\nfailed True\n"
    );
    let text = "import cofferdam_tools as t\nprint(t.TOOLS)\n";
    assert_eq!(printed(&project.python(&["--tools", "demo.add"], text)), "['demo.add']\n");
    let outcome =
        project.call(&["--tools", "demo.nothing", "--language", "bash", "-"]).run().expect_status(64);
    assert!(outcome.stderr().contains("has no tool"), "{}", outcome.stderr());
}
