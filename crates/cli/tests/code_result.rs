//! The one object at the end: limits, what was cut, what was taken out, and who could look.

mod scripts;

use scripts::{OFF, Project, printed, result};

#[test]
fn req_i08_a_secret_is_taken_out_however_it_is_printed() {
    const SECRET: &str = "sk-proj-T3stT3stT3stT3stT3stT3stT3stT3st";
    let project = Project::new(OFF);
    let text = "
import base64, codecs, json, sys, time, urllib.parse
s = open('given').read().strip()
w = lambda x: (sys.stdout.write(x + '\\n'), sys.stdout.flush())
w(s); w(base64.b64encode(s.encode()).decode()); w(base64.urlsafe_b64encode(('x' + s).encode()).decode())
w(s.encode().hex()); w(s.encode().hex().upper()); w(urllib.parse.quote(s, safe='')); w(''.join('%%%02x' % b for b in s.encode()))
w(json.dumps({'key': s})); w('\\x1b[31m'.join(s)); w('\\b'.join(s)); w(''.join('\\\\u%04x' % ord(c) for c in s))
sys.stdout.buffer.write(s.encode('utf-16-le') + b'\\n'); sys.stdout.flush()
sys.stdout.write(s[:17]); sys.stdout.flush(); time.sleep(0.05); w(s[17:])
print(s, file=sys.stderr)
import cofferdam_tools as t
w(t.terminal('cat given')['output'])
";
    let run = |with: bool| {
        project.home.write("project/given", SECRET);
        let mut call = project.call(&["--tools", "terminal", "--language", "python", "-"]).input(text);
        if with {
            call = call.env("OPENAI_API_KEY", SECRET);
        }
        result(&call.run().stdout())
    };
    let forms = [
        SECRET.to_owned(),
        SECRET[..20].to_owned(),
        "c2stcHJvai1UM3N0".to_owned(),
        "736b2d70726f6a".to_owned(),
        "%73%6b%2d".to_owned(),
        "s\0k\0-\0".to_owned(),
        "\\\\u0073\\\\u006b".to_owned(),
    ];
    let whole = run(true).to_string();
    for form in &forms {
        assert!(!whole.contains(form), "{form}: {whole}");
        assert!(!whole.to_lowercase().contains(&form.to_lowercase()), "{form}: {whole}");
    }
    assert!(whole.matches("[redacted:").count() >= 13, "{whole}");
    // Without being known by its value, most of it stays.
    let whole = run(false).to_string();
    assert!(whole.contains("c2stcHJvai1UM3N0") && whole.contains("736b2d70726f6a"), "{whole}");
}

#[test]
fn output_is_cut_in_the_middle_at_characters_and_has_no_control_sequences() {
    let project = Project::new(OFF);
    let text = "
import sys
print('first')
for _ in range(40000): print('€', end='')
print('last')
for _ in range(20000): print('e', end='', file=sys.stderr)
";
    let result = project.python(&[], text);
    let output = result["output"].as_str().expect("a text");
    assert!(output.starts_with("first\n") && output.ends_with("last\n"), "{}", &output[..80]);
    assert!(!output.contains('\u{fffd}') && output.len() < 50_100);
    let cut = result["cut"]["output_bytes"].as_u64().expect("a number");
    assert!((70_000..70_100).contains(&cut), "{cut}");
    assert!(result["cut"]["stderr_bytes"].as_u64().expect("a number") >= 10_000);
    let text = "print('\\x1b]52;c;aGk=\\x07a\\x1b[2Jb\\rc\\x00d')";
    assert_eq!(printed(&project.python(&[], text)), "ab\ncd\n");
}

#[test]
fn time_and_calls_are_limited_and_said_so() {
    let project = Project::new(OFF);
    let outcome = project
        .call(&["--timeout", "1s", "--language", "python", "-"])
        .input("import time\nprint('begun', flush=True)\ntime.sleep(1000)")
        .run()
        .expect_status(124);
    let timed_out = result(&outcome.stdout());
    assert_eq!((&timed_out["status"], &timed_out["output"]), (&"timeout".into(), &"begun\n".into()));
    let text = "
import cofferdam_tools as t
for n in range(5):
    try: t.terminal('true')
    except t.CallLimit as error: print(error)
try: t.terminal('sleep 100', timeout=0.2)
except t.ToolError as error: print(error.kind)
";
    let limited = project.python(&["--tools", "terminal", "--max-calls", "3"], text);
    assert_eq!(
        printed(&limited),
        "this script may make 3 calls, and has made them\nthis script may make 3 calls, and has made them\ncall-limit\n"
    );
    let text = "
import cofferdam_tools as t
try: t.terminal('echo before; sleep 100', timeout=0.2)
except t.TimedOut as error: print(error)
";
    let printed = printed(&project.python(&["--tools", "terminal"], text));
    assert!(printed.contains("before"), "{printed}");
}

#[test]
fn waiting_for_a_person_takes_none_of_the_scripts_time() {
    let project = Project::new("[approval]\ntimeout = \"4s\"\n");
    project.home.write(
        "cofferdam/approvals.toml",
        "[[allow]]\nid = \"s\"\nrule = \"whole-script\"\nsession = \"gateway\"\n",
    );
    let text = "
import cofferdam_tools as t
try: t.terminal('git push --force')
except t.Denied as error: print('not answered' in str(error))
";
    let args = ["--session-kind", "gateway", "--timeout", "3s", "--tools", "terminal"];
    assert_eq!(printed(&project.python(&args, text)), "True\n");
}

#[test]
fn events_are_one_object_a_line_and_the_last_is_the_result() {
    let project = Project::new(OFF);
    let text = "import cofferdam_tools as t\nt.terminal('true')\n";
    let outcome = project
        .call(&["--json", "--tools", "terminal", "--language", "python", "-"])
        .input(text)
        .run()
        .expect_status(0);
    let events: Vec<serde_json::Value> = outcome.stdout().lines().map(result).collect();
    let names: Vec<&str> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    assert_eq!(names, ["script", "start", "call", "called", "result"]);
    assert_eq!(events[4]["status"], "success");
    assert_eq!(events[3]["verdict"], "ok");
}

#[test]
fn req_i02_a_script_sees_nothing_of_the_processes_outside() {
    let project = Project::new(OFF);
    let text = "
import glob, os
import cofferdam_tools as t
t.read_file('/etc/hostname')
seen = 0
for path in glob.glob('/proc/*/environ') + glob.glob('/proc/*/task/*/environ') + ['/proc/1/environ', f'/proc/{os.getppid()}/environ']:
    try:
        if b'canary-value' in open(path, 'rb').read(): print('found in', path)
        seen += 1
    except OSError: pass
print(seen > 0, 'CANARY' in os.environ, t.terminal('env | grep -c CANARY')['output'].strip())
print(sorted(int(fd) for fd in os.listdir('/proc/self/fd'))[:5])
";
    let call = project
        .call(&["--tools", "terminal,read_file", "--language", "python", "-"])
        .env("CANARY", "canary-value");
    let result = result(&call.input(text).run().stdout());
    assert_eq!(printed(&result), "True False 0\n[0, 1, 2, 3, 4]\n");
}
