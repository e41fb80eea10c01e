"""The client against the real program, in a project of its own. Started by the tests of the program."""

import asyncio
import os
import signal
import subprocess
import threading
import unittest

import cofferdam
from cofferdam import aio


class Commands(unittest.TestCase):
    def test_status_and_streams_are_the_commands_own(self):
        ended = cofferdam.run(["sh", "-c", "cat; echo err >&2; exit 7"], input=b"in")
        self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (7, b"in", b"err\n"))
        self.assertEqual(cofferdam.run("cat note").stdout, b"a note")
        self.assertEqual(cofferdam.run("sleep 100", timeout=0.3).returncode, 124)

    def test_no_credential_reaches_a_command(self):
        self.assertIn("OPENAI_API_KEY", os.environ)
        seen = cofferdam.run("env; cat /proc/*/environ 2>/dev/null").stdout
        self.assertIn(b"PATH=", seen)
        self.assertNotIn(os.environ["OPENAI_API_KEY"].encode(), seen)
        self.assertEqual(cofferdam.run("echo $COLOUR", env={"COLOUR": "blue"}).stdout, b"blue\n")
        self.assertNotIn("OPENAI_API_KEY", cofferdam.subprocess_env())
        self.assertIn("PATH", cofferdam.subprocess_env())

    def test_a_process_that_is_ended_ends_everything(self):
        process = cofferdam.popen(["sleep", "1000"])
        process.send_signal(signal.SIGTERM)
        # By the signal itself if it comes before the launcher has taken it over.
        self.assertIn(process.wait(30), (143, -signal.SIGTERM))

    def test_a_session_keeps_its_directory_and_is_gone_afterwards(self):
        with cofferdam.session() as session:
            session.exec("mkdir -p sub && cd sub && export COLOUR=green")
            self.assertEqual(session.exec("basename $PWD; echo $COLOUR").stdout, b"sub\ngreen\n")
        self.assertNotEqual(session.exec("true").returncode, 0)

    def test_mistakes_are_exceptions(self):
        with self.assertRaises(cofferdam.CofferdamError):
            cofferdam.session(workspace="/no/such/place")


class Guards(unittest.TestCase):
    def test_commands_are_judged(self):
        self.assertTrue(cofferdam.check_command("ls").allowed)
        asked = cofferdam.check_command("git push --force", directory="/tmp")
        self.assertEqual(asked.decision, "ask")
        self.assertTrue(asked.findings[0].sentence)
        self.assertEqual(cofferdam.check_command("rm -rf /").decision, "deny")

    def test_files_are_guarded(self):
        self.assertEqual(cofferdam.read_guard("note"), b"a note")
        with self.assertRaises(cofferdam.Refused) as refused:
            cofferdam.read_guard("/proc/self/environ")
        self.assertIn("procfs", str(refused.exception))


class Code(unittest.TestCase):
    def test_a_script_with_tools(self):
        code = "import cofferdam_tools as t\nprint(t.read_file('note')['content'])\nraise SystemExit(4)"
        result = cofferdam.execute_code(code, tools=["read_file"])
        self.assertEqual((result.status, result.output, result.exit_code), ("error", "a note\n", 4))
        self.assertEqual(result.calls[0]["tool"], "read_file")
        self.assertFalse(result.ok)

    def test_tools_of_the_host_run_here_and_many_at_once(self):
        together = threading.Barrier(20)

        def lookup(key: str, times: int = 1) -> dict:
            """Look something up."""
            together.wait(30)
            return {"value": key * times, "process": os.getpid()}

        def refuse(path: str) -> None:
            raise PermissionError(path)

        code = """
import cofferdam_tools as t, concurrent.futures
print(t.TOOLS, t.lookup.__doc__.splitlines()[0])
with concurrent.futures.ThreadPoolExecutor(20) as pool:
    print({r['process'] for r in pool.map(lambda n: t.lookup(str(n), times=2), range(20))})
for act in [lambda: t.refuse('x'), lambda: t.lookup(3)]:
    try: act()
    except t.ToolError as error: print(error.kind)
"""
        events = []
        result = cofferdam.execute_code(code, host_tools=[lookup, refuse], on_event=events.append)
        self.assertEqual(
            result.output,
            f"['lookup', 'refuse'] Look something up.\n{{{os.getpid()}}}\ndenied\nbad-arguments\n",
            result.stderr,
        )
        self.assertEqual([event["event"] for event in events][:2], ["script", "start"])

    def test_the_same_over_the_socket(self):
        socket = os.path.join(os.environ["COFFERDAM_HOME"], "run", "code.sock")
        serving = subprocess.Popen([os.environ["COFFERDAM"], "exec-code", "--serve"], stderr=subprocess.PIPE)
        with serving as server:
            try:
                self.assertIn(b"code.sock", server.stderr.readline())
                code = "import cofferdam_tools as t\nprint(t.twice(word='a'), t.read_file('note')['content'])"
                events = []
                result = cofferdam.execute_code(
                    code,
                    tools=["read_file"],
                    host_tools=[cofferdam.HostTool(lambda word: word * 2, "twice")],
                    on_event=events.append,
                    via=socket,
                )
                self.assertEqual((result.status, result.output), ("success", "aa a note\n"), result.stderr)
                self.assertEqual([event["event"] for event in events][::6], ["script", "result"])
                with self.assertRaises(cofferdam.CofferdamError) as error:
                    cofferdam.execute_code("", tools=["no_such_tool"], via=socket)
                self.assertEqual(error.exception.status, 64)
            finally:
                server.kill()

    def test_what_cannot_start_is_an_exception(self):
        with self.assertRaises(cofferdam.CofferdamError) as error:
            cofferdam.execute_code("", tools=["no_such_tool"])
        self.assertEqual(error.exception.status, 64)


class Asynchronous(unittest.TestCase):
    def test_the_same_functions(self):
        async def all_of_them():
            ended = await asyncio.gather(*[aio.run(["echo", str(n)]) for n in range(5)])
            self.assertEqual([end.stdout for end in ended], [f"{n}\n".encode() for n in range(5)])
            self.assertEqual((await aio.check_command("rm -rf /")).decision, "deny")
            self.assertEqual(await aio.read_guard("note"), b"a note")
            self.assertNotIn("OPENAI_API_KEY", await aio.subprocess_env())
            self.assertEqual((await aio.execute_code("print(6 * 7)")).output, "42\n")
            process = await aio.popen(["cat"])
            stdout, _ = await process.communicate(b"through")
            self.assertEqual(stdout, b"through")
            async with await aio.session() as session:
                self.assertEqual((await session.exec("echo hi")).stdout, b"hi\n")

        asyncio.run(all_of_them())

    def test_cancelling_ends_the_command(self):
        async def cancelled():
            task = asyncio.create_task(aio.run(["sleep", "1000"]))
            await asyncio.sleep(0.3)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(cancelled())


if __name__ == "__main__":
    unittest.main()
