//! What a script can do with its tools, and what a hostile one cannot.

mod scripts;

use cofferdam_testkit::processes::{marker, wait_until, with_argument};
use scripts::{OFF, Project, printed, result};

const FILES: &str = "read_file,write_file,search_files,patch";

#[test]
fn no_tools_granted_means_none() {
    let project = Project::new(OFF);
    let text = "
import cofferdam_tools as t
print(t.TOOLS, hasattr(t, 'terminal'))
try:
    t.call('terminal', command='ls')
except t.UnknownTool as error:
    print(error)
";
    let result = project.python(&[], text);
    assert_eq!(printed(&result), "[] False\nthere is no such tool; granted: no tools\n");
    assert_eq!((&result["calls_made"], &result["frames_refused"]), (&0.into(), &1.into()));
    let outcome =
        project.call(&["--tools", "termnal", "--language", "bash", "-"]).input("").run().expect_status(64);
    assert!(outcome.stderr().contains("did you mean terminal?"), "{}", outcome.stderr());
}

#[test]
fn req_i15_tools_reach_what_the_script_reaches_and_no_more() {
    let project = Project::new(OFF);
    project.home.write(".ssh/id_ed25519", "PRIVATE");
    project.home.write("project/.env", "KEY=hidden-value");
    let text = "
import cofferdam_tools as t, os, pathlib
os.symlink('/etc/shadow', 'link')
for path in ['../.ssh/id_ed25519', '.env', '/etc/shadow', 'link', '/proc/self/environ', '/proc/1/environ', '/dev/zero',
             '../cofferdam/config.toml', '/cofferdam/bin/cofferdam']:
    try:
        print('READ', path, t.read_file(path)['content'][:20])
    except t.ToolError:
        pass
print(t.search_files('hidden-value|PRIVATE', path='..')['matches'])
t.write_file('made/by/tool.txt', 'one\\ntwo\\n')
print(t.patch(path='made/by/tool.txt', old='two', new='three')['replacements'], pathlib.Path('made/by/tool.txt').read_text())
print(t.read_file('made/by/tool.txt', offset=2)['content'], end='')
print([m['path'] for m in t.search_files('*.txt', target='files')['matches']])
try:
    t.write_file('/usr/bin/x', 'x')
except t.ToolError as error:
    print(error.kind)
";
    let result = project.python(&["--tools", FILES], text);
    assert_eq!(
        printed(&result).replace("denied", "failed"),
        "[]\n1 one\nthree\n\nthree\n['made/by/tool.txt']\nfailed\n"
    );
    assert_eq!(
        std::fs::read_to_string(project.workspace.join("made/by/tool.txt")).expect("made"),
        "one\nthree\n"
    );
}

#[test]
fn every_answer_arrives_whether_it_is_waited_for_awake_or_asleep() {
    let project = Project::new(OFF);
    let text = "
import cofferdam_tools as t
def call(n):
    t.write_file('n', str(n))
    return t.read_file('n')['content'], t.terminal(f'sleep 0.002; echo {n}')['output']
assert call(0) == ('0', '0\\n')
# Which of the two it would be depends on the machine.
for awake in [True, False, True]:
    for pace in t._pool.paces.values():
        pace._next(awake=awake, settled=True)
    for n in range(5):
        assert call(n) == (str(n), f'{n}\\n'), n
    try:
        t.read_file('missing')
        assert False
    except t.ToolError as error:
        assert error.kind == 'failed', error
for n in range(100):
    assert t.call('read_file', path='n')['content'] == '4'
print('all')
";
    let tools = ["--tools", "read_file,write_file,terminal", "--max-calls", "1000"];
    assert_eq!(printed(&project.python(&tools, text)), "all\n");
}

#[test]
fn fifty_tools_are_called_at_once_from_threads_asyncio_and_processes() {
    let project = Project::new(OFF);
    let text = "
import asyncio, concurrent.futures, os, subprocess, sys
import cofferdam_tools as t
# Each one waits until all the others run too.
def together(n): return t.terminal(f'touch at-{n}; while [ $(ls at-* | wc -l) -lt 50 ]; do sleep 0.02; done; echo {n}')['output']
with concurrent.futures.ThreadPoolExecutor(50) as pool:
    assert sorted(int(x) for x in pool.map(together, range(50))) == list(range(50))
async def many(): return await asyncio.gather(*[t.aio.read_file(f'at-{n}') for n in range(50)])
assert len(asyncio.run(many())) == 50
for _ in range(4):
    if os.fork() == 0:
        for n in range(20):
            assert t.read_file(f'at-{n}')['content'] == ''
        os._exit(0)
assert all(os.wait()[1] == 0 for _ in range(4))
inner = 'import cofferdam_tools as t; print(t.read_file(\"at-1\")[\"total_lines\"])'
print(subprocess.run([sys.executable, '-c', inner], pass_fds=[t.FD], capture_output=True, text=True).stdout, end='')
print(t.terminal(f\"python3 -c '{inner}'\")['output'], end='')
";
    let result = project.python(&["--tools", "terminal,read_file", "--max-calls", "1000"], text);
    assert_eq!(printed(&result), "0\n0\n");
    assert_eq!(result["calls_made"], 50 + 50 + 80 + 1 + 2);
}

#[test]
fn a_script_that_attacks_its_socket_is_answered_and_the_next_call_is_served() {
    let project = Project::new(OFF);
    let text = "
import array, json, os, socket, struct, threading
import cofferdam_tools as t
def connection():
    ours, theirs = socket.socketpair()
    with socket.socket(fileno=os.dup(t.FD)) as door:
        door.sendmsg([b'open'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [theirs.fileno()]))])
    return ours
def send(s, body): s.sendall(struct.pack('>I', len(body)) + body)
def receive(s):
    read = lambda n: b''.join(iter(lambda: s.recv(1), b'')) if n is None else s.recv(n, socket.MSG_WAITALL)
    return json.loads(read(struct.unpack('>I', read(4))[0]))
s = connection()
for body in [b'', b'null', b'{', b'\\xff' * 100, b'[' * 100000, b'[1,\"read_file\",{}]', b'{\"id\":1,\"tool\":\"read_file\",\"session\":\"other\"}',
             b'{\"id\":18446744073709551616,\"tool\":\"read_file\"}', b'{\"id\":1,\"tool\":\"read_file\",\"arguments\":{\"path\":7}}']:
    send(s, body)
    assert 'error' in receive(s), body
# Forged ids: the same one twice, while the first is under way.
send(s, json.dumps({'id': 5, 'tool': 'terminal', 'arguments': {'command': 'sleep 1'}}).encode())
send(s, json.dumps({'id': 5, 'tool': 'read_file', 'arguments': {'path': 'note'}}).encode())
print(receive(s)['error']['kind'], 'result' in receive(s))
# A gigabyte, all of it.
s.sendall(struct.pack('>I', 1 << 30))
print(receive(s)['error']['kind'])
chunk = bytes(1 << 20)
for _ in range(1 << 10): s.sendall(chunk)
# A flood by one that never reads does not hold up another.
flood = connection()
flood.setblocking(False)
try:
    while True: flood.send(struct.pack('>I', 1) + b'x')
except BlockingIOError: pass
# A connection that is closed in the middle of a frame, things that are no connection, and far too many of them.
half = connection(); half.sendall(struct.pack('>I', 100) + b'{'); half.close()
with socket.socket(fileno=os.dup(t.FD)) as door:
    for _ in range(20):
        door.sendmsg([b'open'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [os.open('note', os.O_RDWR)]))])
        door.send(b'nothing')
many = [connection() for _ in range(400)]
for c in many: c.close()
flood.close()
send(s, json.dumps({'id': 6, 'tool': 'read_file', 'arguments': {'path': 'note'}}).encode())
print(receive(s)['result']['content'])
print(t.read_file('note')['content'])
";
    project.home.write("project/note", "still served");
    let result = project.python(&["--tools", "terminal,read_file"], text);
    assert_eq!(printed(&result), "id-in-use True\ntoo-large\nstill served\nstill served\n");
    assert!(result["frames_refused"].as_u64().expect("a number") > 20, "{result:#}");
}

#[test]
fn req_i03_a_script_that_runs_away_leaves_nothing() {
    let marker = marker();
    let project = Project::new(OFF);
    for (number, end) in [
        "os._exit(3)",
        "os.kill(os.getppid(), 9); os.kill(1, 9); os._exit(3)",
        "[os.close(fd) for fd in (0, 1, 2, 3, 4)]; os._exit(3)",
        "os.abort()",
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!(
            "import os, subprocess, signal
import cofferdam_tools as t
t.terminal('(setsid sleep {marker} &) ; nohup sleep {marker} >/dev/null 2>&1 &')
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)
        os.execvp('sleep', ['sleep', '{marker}'])
    os._exit(0)
{end}
"
        );
        let result = project.python(&["--tools", "terminal"], &text);
        assert_eq!(result["status"], "error", "{number}: {result:#}");
        wait_until("nothing is left", || with_argument(&marker).is_empty());
    }
}

#[test]
fn the_languages_have_their_modules() {
    let project = Project::new(OFF);
    project.home.write("project/note", "a note");
    let node = "
const tools = require('cofferdam_tools');
(async () => {
  const all = await Promise.all(Array.from({ length: 20 }, () => tools.read_file({ path: 'note' })));
  console.log(all.length, all[0].content);
  try { await tools.read_file({ path: 'nowhere' }); } catch (error) { console.log(error.name, error.kind); }
})();
";
    let outcome = project.call(&["--tools", "read_file", "--language", "node", "-"]).input(node).run();
    assert_eq!(printed(&result(&outcome.expect_status(0).stdout())), "20 a note\nToolError failed\n");
    let bash = "echo $0 \"$(cat note)\"; exit 7";
    let outcome = project.call(&["--language", "bash", "-"]).input(bash).run().expect_status(7);
    let result = result(&outcome.stdout());
    assert_eq!((&result["status"], &result["exit_code"]), (&"error".into(), &7.into()));
    assert_eq!(result["output"], "/cofferdam/script.sh a note\n");
}

#[test]
fn the_module_says_what_its_tools_do() {
    let project = Project::new(OFF);
    let text = "
import cofferdam_tools as t, inspect
print(inspect.signature(t.read_file))
print(t.read_file.__doc__.splitlines()[0])
print(inspect.iscoroutinefunction(t.aio.read_file))
try: t.read_file(7)
except ValueError as error: print(error)
";
    let printed = printed(&project.python(&["--tools", "read_file"], text));
    assert!(printed.starts_with("(path: 'str', *, limit: 'int | None' = None, offset: 'int | None' = None) -> 'Any'\nRead a text file."), "{printed}");
    assert!(printed.ends_with("True\nread_file: path is not string\n"), "{printed}");
}

#[test]
fn req_i05_where_namespaces_are_refused_no_script_starts_and_it_is_said_why() {
    let project = Project::new(OFF);
    project.home.write("project/s.py", "open('ran', 'w')\n");
    let refuse = "echo 0 >/proc/sys/user/max_user_namespaces; exec \"$@\"";
    let call = cofferdam_testkit::Cofferdam::new("/usr/bin/unshare", &project.home)
        .current_dir(&project.workspace)
        .args(["--user", "--map-root-user", "sh", "-c", refuse, "sh", scripts::COFFERDAM, "exec-code"])
        .args(["--isolation", "best-effort", "s.py"]);
    let told = call.run().expect_status(125).stderr();
    assert!(told.contains("needs namespaces") && told.contains("\nhint: "), "{told}");
    assert!(!project.workspace.join("ran").exists());
    project.call(&["--isolation", "best-effort", "s.py"]).run().expect_status(0);
    assert!(project.workspace.join("ran").exists(), "with namespaces it runs");
}
