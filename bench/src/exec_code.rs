//! Scripts with tools: what `exec-code` adds to a script, and how fast a script calls.

use std::path::Path;

use crate::harness::{Bench, Case, Unit};
use crate::peer::{self, Call};

const OVERHEAD: &str = "a Python script";
const CALLS: &str = "calls of a tool by one script";
const COUNT: u32 = 4_000;

pub fn run(bench: &mut Bench) {
    let (Some(cofferdam), Some(python)) = (peer::cofferdam(), peer::on_path("python3")) else {
        bench.skip(OVERHEAD, "python3 or the program is not there; use `cargo xtask bench`");
        return;
    };
    let home = bench.cache().join("exec-code");
    if let Err(error) = prepare(&home) {
        bench.skip(OVERHEAD, &format!("no workspace: {error}"));
        return;
    }
    let project = home.join("project");
    let exec = |arguments: &[&str]| exec_code(&cofferdam, &home, arguments);
    let plain = || {
        let mut command = peer::command(&python);
        command.current_dir(&project).arg("empty.py");
        command
    };
    if !exec(&["empty.py"]).status().is_ok_and(|status| status.success()) {
        bench.skip(OVERHEAD, "no sandbox can be made here; `cofferdam doctor` says why");
        return;
    }
    let cases = vec![case("python3 empty.py", plain), case("exec-code empty.py", || exec(&["empty.py"]))];
    bench.side_by_side(OVERHEAD, Unit::Seconds, 1.0, cases);
    let many = ["--tools", "read_file", "--max-calls", "1000000"];
    let with = |script: &'static str| [&many[..], &[script]].concat();
    let cases = vec![
        case("files opened by the script itself", || {
            let mut command = peer::command(&python);
            command.current_dir(&project).arg("opens.py");
            command
        }),
        case("read_file, one after the other", || exec(&with("calls.py"))),
        case("read_file, from eight threads", || exec(&with("threads.py"))),
    ];
    bench.side_by_side(CALLS, Unit::OperationsPerSecond, f64::from(COUNT), cases);
}

fn prepare(home: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let (own, project) = (home.join("cofferdam"), home.join("project"));
    std::fs::create_dir_all(&own)?;
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o700))?;
    std::fs::create_dir_all(&project)?;
    std::fs::write(own.join("config.toml"), "[approval]\nmode = \"off\"\n")?;
    std::fs::write(project.join("note"), "a note\n")?;
    std::fs::write(project.join("empty.py"), "")?;
    std::fs::write(project.join("opens.py"), format!("for _ in range({COUNT}): open('note').read()\n"))?;
    let import = "import cofferdam_tools as t\n";
    std::fs::write(
        project.join("calls.py"),
        format!("{import}for _ in range({COUNT}): t.read_file('note')\n"),
    )?;
    let threads = "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(8) as pool:\n";
    let body = format!("    list(pool.map(lambda _: t.read_file('note'), range({COUNT})))\n");
    std::fs::write(project.join("threads.py"), format!("{import}{threads}{body}"))
}

fn exec_code(cofferdam: &Path, home: &Path, arguments: &[&str]) -> Call {
    let mut command = peer::command(cofferdam);
    command.env("HOME", home).env("COFFERDAM_HOME", home.join("cofferdam"));
    command.current_dir(home.join("project")).arg("exec-code").args(arguments);
    command
}

fn case<'a>(name: &str, command: impl Fn() -> Call + 'a) -> Case<'a> {
    Case { name: name.to_owned(), round: Box::new(move || peer::finish(&mut command())) }
}
