"""Programs that call tools, with a host at the other end that answers."""

from __future__ import annotations

import base64
import unittest
from typing import Any

from gearbox_guest import bridge, tools_values
from toolhost import Answer, Gathering, ToolHost, error_of, json_of, play, text_of


class Check(unittest.TestCase):
    maxDiff = None

    def value(self, source: str, expected: Any, host: ToolHost | None = None, **how: Any) -> str:
        ended = play(source, host, **how)
        assert ended.result is not None, ended
        self.assertEqual(
            (ended.result.get("outcome"), ended.result.get("value")), ("ok", expected), ended.stderr
        )
        return ended.stderr

    def raises(self, source: str, name: str, *parts: str, host: ToolHost | None = None) -> str:
        ended = play(source, host)
        assert ended.result is not None, ended
        found = ended.result.get("exception") or {}
        self.assertEqual(found.get("class"), name, ended)
        for part in parts:
            self.assertIn(part, found["message"])
        self.assertNotIn("gearbox_guest", found["text"])
        return str(found["message"])


def answering(answer: Answer) -> ToolHost:
    return ToolHost(lambda head, arguments: answer)


class TestImports(Check):
    def test_every_way_of_importing_leads_to_the_same_function(self) -> None:
        for source in (
            "from tools import github\ngithub.create_issue(title='x')['arguments']",
            "import tools\ntools.github.create_issue(title='x')['arguments']",
            "import tools.github\ntools.github.create_issue(title='x')['arguments']",
            "import tools.github as g\ng.create_issue(title='x')['arguments']",
            "from tools.github import create_issue\ncreate_issue(title='x')['arguments']",
            "import importlib\nimportlib.import_module('tools.github').create_issue(title='x')['arguments']",
        ):
            with self.subTest(source):
                self.value(source, {"title": "x"})
        self.value(
            "import tools, sys\nfrom tools import github\n[github is tools.github is sys.modules['tools.github'], tools is sys.modules['tools']]",
            [True, True],
        )

    def test_a_server_is_described_once_and_only_when_it_is_used(self) -> None:
        host = ToolHost()
        self.value("import tools\nfrom tools import ToolError\n1", 1, host)
        self.assertEqual(host.heads, [])
        self.value(
            "from tools import github\nimport tools\n[github.slow(n=1) for _ in range(3)]\ntools.github.odd()\n1",
            1,
            host,
        )
        self.assertEqual([h["want"] for h in host.heads], ["module", "module", *["call"] * 4])

    def test_a_file_of_the_workspace_does_not_stand_in_its_place(self) -> None:
        source = "open('tools.py', 'w').write('helper = 1')\nfrom tools import helper"
        self.raises(source, "ImportError", "no MCP server 'helper'", "a file tools.py")

    def test_a_server_that_is_not_there_is_told_with_those_that_are(self) -> None:
        self.raises("from tools import gitub", "ImportError", "'gitub'", "did you mean github?")
        self.raises("import tools.nothing", "ImportError", "there are: files, github")
        self.raises("import tools\ntools.nothing", "AttributeError", "there are: files, github")
        self.raises(
            "from tools import github\ngithub.create_isue", "ToolNotFound", "did you mean create_issue?"
        )
        self.raises("from tools import github\ngithub.aio.zzz", "ToolNotFound", "dir(github) lists")
        self.value("import tools\n[hasattr(tools, 'x'), hasattr(tools.github, 'x')]", [False, False])

    def test_where_no_server_is_configured_the_program_hears_it(self) -> None:
        class Nobody(ToolHost):
            def of(self, frame: bridge.Frame) -> Answer:
                return error_of("ServerUnavailable", "no MCP servers are configured")

        self.raises("from tools import github", "ServerUnavailable", "no MCP servers", host=Nobody())
        self.raises("import tools.github", "ServerUnavailable", "no MCP servers", host=Nobody())
        self.value("import tools\ntools.ToolError.__module__", "tools", Nobody())
        self.value("import tools\n'search' in dir(tools)", True, Nobody())

    def test_listings(self) -> None:
        self.value("from tools import github\ndir(github)", ["aio", "create_issue", "odd", "slow"])
        self.value("from tools import github\ndir(github.aio)", ["create_issue", "odd", "slow"])
        listed = (
            "import tools\n[n for n in dir(tools) if n in ('github', 'files', 'call', 'ToolError', 'aio')]"
        )
        self.value(listed, ["ToolError", "aio", "call", "files", "github"])


class TestFunctions(Check):
    def test_help_signature_and_documentation(self) -> None:
        ended = play(
            "from tools import github\nhelp(github.create_issue)\nhelp(github)\nimport tools\nhelp(tools)"
        )
        written = (
            'create_issue(*, title: str, body: str = ..., from_: Literal["a", "b"] = ...) -> {"number": int}'
        )
        self.assertIn(written, ended.stdout)
        self.assertIn("Create an issue.\n", ended.stdout)
        self.assertIn("Issues and pull requests.", ended.stdout)
        self.assertIn("from tools import github", ended.stdout)
        self.value(
            "from tools import github, ToolError\nimport inspect\nstr(inspect.signature(github.odd))",
            "(*positional: 'Any', **arguments: 'Any') -> 'Any'",
        )
        source = """
            from tools import github
            import inspect
            f = github.create_issue
            [f.__name__, f.__qualname__, f.__module__, f.__doc__, list(inspect.signature(f).parameters)]
            """
        names = ["create_issue", "github.create_issue", "tools.github", "Create an issue.\n\nMore of it."]
        self.value(source, [*names, ["title", "body", "from_"]])

    def test_names_of_python_become_raw_names(self) -> None:
        source = "from tools import github\nr = github.create_issue(title='x', from_='a', other=1)\n[r['head'], r['arguments']]"
        head = {"want": "call", "server": "git-hub", "tool": "create-issue"}
        self.value(source, [head, {"title": "x", "from": "a", "other": 1}])
        twice = "from tools import github\ngithub.create_issue(from_=1, **{'from': 2})"
        self.raises(twice, "InvalidArguments", "the argument from twice")

    def test_arguments_without_a_name_are_refused_with_the_signature(self) -> None:
        for call in ("github.create_issue('x')", "await github.aio.create_issue('x')"):
            self.raises(
                f"from tools import github\n{call}",
                "InvalidArguments",
                "by name only",
                "create_issue(*, title: str",
            )
        self.value(
            "from tools import github\ntry: github.slow(1)\nexcept TypeError: x = 'caught'\nx", "caught"
        )

    def test_calls_by_raw_name(self) -> None:
        source = "import tools\nr = tools.call('git-hub', 'create-issue', {'a-b': 1}, timeout=2.5)\n[r['head'], r['arguments']]"
        head = {"want": "call", "server": "git-hub", "tool": "create-issue", "timeout": 2.5}
        self.value(source, [head, {"a-b": 1}])
        self.value("import tools\n(await tools.aio.call('s', 't'))['arguments']", {})

    def test_search_and_describe_answer_text(self) -> None:
        host = answering(text_of("found"))
        source = "import tools\n[tools.search('issue', server='s', limit=3), tools.describe('a.b'), tools.describe(['a.b'], detail='brief')]"
        self.value(source, ["found"] * 3, host)
        self.assertEqual(
            host.heads,
            [
                {"want": "search", "query": "issue", "server": "s", "limit": 3, "detail": "signature"},
                {"want": "describe", "names": ["a.b"], "detail": "full"},
                {"want": "describe", "names": ["a.b"], "detail": "brief"},
            ],
        )


class TestValues(Check):
    def test_each_form_of_an_answer(self) -> None:
        call = "from tools import github\ngithub.slow(n=1)"
        self.value(call, {"a": [1, None, "é"]}, answering(json_of({"a": [1, None, "é"]})))
        self.value(call, '{"not": "parsed"}', answering(text_of('{"not": "parsed"}')))
        self.value(call, None, answering(({"form": "none"}, b"")))
        self.value(call, None, answering(({}, b"")))

    def test_parts_are_text_blobs_and_links(self) -> None:
        parts = [
            {"kind": "text", "size": 3},
            {"kind": "image", "size": 4, "mime": "image/png", "name": "p.png"},
            {"kind": "link", "size": 0, "uri": "file:///x", "name": "x", "mime": "text/plain"},
        ]

        def answer(head: dict[str, Any], arguments: Any) -> Answer:
            if head["want"] == "read":
                return text_of(f"{head['server']} {head['uri']}")
            return {"form": "parts", "parts": parts}, "né".encode() + b"\0\1\2\3"

        source = """
            from tools import github, Blob, ResourceLink
            text, picture, link = github.slow(n=1)
            saved = picture.save("out.png")
            [text, isinstance(picture, Blob), list(open(saved, "rb").read()), picture.mime, picture.name, len(picture),
             repr(picture), isinstance(link, ResourceLink), link.uri, link.name, link.mime, link.read()]
            """
        self.value(
            source,
            [
                *("né", True, [0, 1, 2, 3], "image/png", "p.png", 4),
                "Blob(4 bytes, mime='image/png', name='p.png')",
                *(True, "file:///x", "x", "text/plain", "git-hub file:///x"),
            ],
            ToolHost(answer),
        )

    def test_one_part_alone_is_no_list(self) -> None:
        host = answering(({"form": "parts", "parts": [{"kind": "blob", "size": 2, "uri": "u"}]}, b"hi"))
        self.value(
            "from tools import github\nb = github.slow(n=1)\n[b.text(), b.name, bytes(b) == b'hi']",
            ["hi", "u", True],
            host,
        )

    def test_a_large_answer_arrives_whole(self) -> None:
        text = base64.b64encode(bytes(range(256)) * 60_000).decode()
        source = "from tools import github\nimport hashlib\nt = github.slow(n=1)\n[len(t), t[:8], t[-8:]]"
        self.value(source, [len(text), text[:8], text[-8:]], answering(text_of(text)))

    def test_what_python_has_and_json_has_not(self) -> None:
        source = """
            from tools import github
            import pathlib, uuid, enum
            class Color(str, enum.Enum): RED = "red"
            github.create_issue(title=(1, 2), a=pathlib.Path("x/y"), b=uuid.UUID(int=1), c=Color.RED, d={1: None}, e=1e20)["arguments"]
            """
        expected = {
            "title": [1, 2],
            "a": "x/y",
            "b": "00000000-0000-0000-0000-000000000001",
            "c": "red",
            "d": {"1": None},
            "e": 1e20,
        }
        self.value(source, expected)

    def test_what_json_cannot_carry_is_refused_with_what_to_pass(self) -> None:
        for value, part in {
            "b'x'": "value.decode()",
            "tools.Blob(b'x')": "text()",
            "{1, 2}": "sorted(value)",
            "datetime.datetime.now()": "isoformat()",
            "datetime.timedelta(1)": "total_seconds()",
            "decimal.Decimal(1)": "float(value)",
            "Point(1)": "dataclasses.asdict(value)",
            "float('nan')": "no NaN",
            "[float('inf')]": "no infinity",
            "'\\ud800'": "lone surrogate",
            "{(1, 2): 3}": "use text for keys",
            "itself": "contains itself",
            "deep": "nested too deeply",
            "(n for n in [1])": "list(value)",
            "tools.github.aio.slow(n=1)": "write await before it",
            "array.array('b', [1])": "value.tolist()",
            "object()": "object is no JSON value",
        }.items():
            source = f"""
                import array, dataclasses, datetime, decimal, tools
                @dataclasses.dataclass
                class Point:
                    x: int
                itself = []
                itself.append(itself)
                deep = []
                for _ in range(100_000): deep = [deep]
                tools.github.create_issue(title={value})
                """
            with self.subTest(value):
                self.raises(source, "InvalidArguments", part)

    def test_arguments_over_the_limit_are_refused_before_they_are_sent(self) -> None:
        room = tools_values.MAX_ARGUMENTS - len('{"title":""}')
        for size, outcome in ((room, "ok"), (room + 1, "exception")):
            host = answering(json_of(5))
            ended = play(f"from tools import github\ngithub.create_issue(title='x' * {size})", host)
            assert ended.result is not None
            self.assertEqual(ended.result["outcome"], outcome)
            self.assertEqual(len(host.heads), 3 if outcome == "ok" else 2)
        self.raises(
            f"from tools import github\ngithub.create_issue(title='x' * {room + 1})",
            "InvalidArguments",
            "16,777,217 bytes",
        )


class TestQuestions(Check):
    def test_a_question_that_the_host_would_end_the_program_for_is_not_asked(self) -> None:
        calls = [
            "tools.call(5, 't')",
            "tools.call('s', None)",
            "tools.call('s', 't', timeout=-1)",
            "tools.call('s', 't', timeout=float('nan'))",
            "tools.call('s', 't', timeout=10**9)",
            "tools.call('s', 't', timeout='5')",
            "tools.call('s', 't', [1])",
            "tools.call('s', 't', 'x')",
            "tools.call('s', 't', [])",
            "asyncio.run(tools.aio.call('s', 't', [1]))",
            "asyncio.run(tools.aio.call('s', 't', timeout=-1))",
            "tools.search('x', limit=-1)",
            "tools.search('x', limit=True)",
            "tools.search('x', limit=10**30)",
            "tools.search(None)",
            "tools.search('é' * 40_000)",
            "tools.describe(['a'] * 2000)",
            "tools.describe([1])",
        ]
        tries = "".join(f"try: {call}\nexcept tools.InvalidArguments: n += 1\n" for call in calls)
        host = ToolHost()
        self.value(f"import asyncio, tools\nn = 0\n{tries}n", len(calls), host)
        self.assertEqual(host.heads, [])


class TestErrors(Check):
    def test_each_class_is_raised_and_caught(self) -> None:
        for name in "ToolError ToolNotFound ToolTimeout ServerUnavailable ApprovalDenied PolicyDenied CallLimitExceeded".split():
            source = f"""
                from tools import github, ToolError, {name}
                try:
                    github.slow(n=1)
                except {name} as e:
                    caught = [type(e).__name__, str(e), e.message, e.server, e.tool, e.content, e.structured, isinstance(e, ToolError)]
                caught
                """
            host = answering(error_of(name, "no such luck", b'{"a": 1}', form="json"))
            self.value(
                source, [name, "no such luck", "no such luck", "git-hub", "t", [], {"a": 1}, True], host
            )

    def test_an_error_that_is_not_caught_is_shown_at_the_programs_line(self) -> None:
        ended = play(
            "from tools import github\n\ngithub.slow(n=1)", answering(error_of("ToolError", "line 1\nline 2"))
        )
        assert ended.result is not None
        self.assertEqual(ended.result["exception"]["line"], 3)
        self.assertTrue(ended.stderr.endswith("tools.ToolError: line 1\nline 2\n"), ended.stderr)

    def test_content_of_an_error(self) -> None:
        source = "from tools import github, ToolError\ntry: github.slow(n=1)\nexcept ToolError as e: c = e.content\nc"
        self.value(source, ["why"], answering(error_of("ToolError", "m", b"why", form="text")))
        parts = [{"kind": "text", "size": 1}, {"kind": "text", "size": 2}]
        self.value(
            source, ["a", "bc"], answering(error_of("ToolError", "m", b"abc", form="parts", parts=parts))
        )

    def test_problems_of_arguments_stand_in_the_message(self) -> None:
        host = answering(
            error_of("InvalidArguments", "wrong: a is no number", problems=["a is no number", "b is missing"])
        )
        source = "from tools import github, InvalidArguments\ntry: github.slow(n=1)\nexcept InvalidArguments as e: c = [str(e), e.problems]\nc"
        self.value(
            source,
            [
                "wrong: a is no number\n- b is missing\nusage: slow(*, n: int)",
                ["a is no number", "b is missing"],
            ],
            host,
        )

    def test_a_class_that_is_not_known_is_a_tool_error(self) -> None:
        self.raises(
            "from tools import github\ngithub.slow(n=1)",
            "ToolError",
            "m",
            host=answering(error_of("New", "m")),
        )


class TestAtOnce(Check):
    def test_a_hundred_calls_of_gather_are_under_way_together(self) -> None:
        source = """
            from tools import github
            import asyncio
            r = await asyncio.gather(*(github.aio.slow(n=i) for i in range(100)))
            [x["n"] for x in r] == list(range(100))
            """
        self.value(source, True, Gathering(100))

    def test_more_calls_of_gather_than_the_host_takes_wait_for_each_other(self) -> None:
        source = """
            from tools import github
            import asyncio
            r = await asyncio.gather(*(github.aio.slow(n=i) for i in range(1000)))
            [x["n"] for x in r] == list(range(1000))
            """
        self.value(source, True, Gathering(100))

    def test_calls_of_threads_are_under_way_together(self) -> None:
        source = """
            from tools import github
            from concurrent.futures import ThreadPoolExecutor
            with ThreadPoolExecutor(20) as pool:
                r = list(pool.map(lambda i: github.slow(n=i)["n"], range(20)))
            r == list(range(20))
            """
        self.value(source, True, Gathering(20))

    def test_parallel_gives_results_in_order(self) -> None:
        source = """
            from tools import github
            import tools
            r = tools.parallel([(github.slow, {"n": i}) for i in range(50)] + [lambda i=i: github.slow(n=i) for i in range(50, 60)])
            [x["n"] for x in r] == list(range(60))
            """
        self.value(source, True, Gathering(60))
        source = "from tools import github\nimport tools\nr = tools.parallel((github.slow, {'n': i}) for i in range(250))\n[x['arguments']['n'] for x in r] == list(range(250))"
        self.value(source, True)

    def test_parallel_raises_the_first_error_once_all_has_ended(self) -> None:
        def answer(head: dict[str, Any], arguments: Any) -> Answer:
            return (
                error_of("ToolError", f"no {arguments['n']}")
                if arguments["n"] % 2
                else json_of(arguments["n"])
            )

        source = "from tools import github\nimport tools\ntools.parallel([(github.slow, {'n': i}) for i in range(4)])"
        host = ToolHost(answer)
        self.raises(source, "ToolError", "no 1", host=host)
        self.assertEqual(len(host.heads), 6)
        source = "from tools import github\nimport tools\n[str(x) for x in tools.parallel([(github.slow, {'n': i}) for i in range(4)], return_exceptions=True)]"
        self.value(source, ["0", "no 1", "2", "no 3"], ToolHost(answer))
        self.raises("import tools\ntools.parallel([5])", "TypeError", "write lambda:")

    def test_a_blocking_call_works_inside_a_running_loop(self) -> None:
        source = """
            from tools import github
            import asyncio
            async def main():
                other = asyncio.create_task(github.aio.slow(n=1))
                await asyncio.sleep(0)
                return [github.slow(n=2)["n"], (await other)["n"]]
            asyncio.run(main())
            """
        self.value(source, [2, 1], Gathering(2))

    def test_calls_of_several_loops(self) -> None:
        source = "from tools import github\nimport asyncio\n[asyncio.run(github.aio.slow(n=i))['arguments']['n'] for i in range(3)]"
        self.value(source, [0, 1, 2])

    def test_a_call_that_is_not_awaited_is_told(self) -> None:
        never = "RuntimeWarning: coroutine 'github.aio.slow' was never awaited"
        host = ToolHost()
        stderr = self.value("from tools import github\ngithub.aio.slow(n=1)\n1", 1, host)
        self.assertIn(f"<cell>:2: {never}", stderr)
        stderr = self.value("from tools import github\nx = github.aio.slow(n=1)\n1", 1)
        self.assertIn(f"sys:1: {never}", stderr)
        self.assertNotIn("gearbox_guest", stderr)
        self.assertEqual([h["want"] for h in host.heads], ["module", "module"])
        ended = play("from tools import github\ngithub.aio.slow(n=1)")
        assert ended.result is not None
        self.assertIn("write await before it", ended.result["warnings"][0])


class TestEnds(Check):
    def test_a_call_that_a_task_gives_up_is_cancelled(self) -> None:
        source = """
            from tools import github
            import asyncio
            try:
                await asyncio.wait_for(github.aio.slow(n=1), 0.01)
            except TimeoutError:
                github.slow(n=2)
            5
            """
        host = Gathering(2)
        self.value(source, 5, host)
        self.assertEqual(len(host.cancelled), 1)

    def test_a_signal_handler_that_raises_ends_the_wait_and_the_next_call_works(self) -> None:
        source = """
            from tools import github
            import signal
            def ring(*_): raise TimeoutError("rang")
            signal.signal(signal.SIGALRM, ring)
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            try:
                github.slow(n=1)
            except TimeoutError as e:
                caught = str(e)
            [caught, github.slow(n=2)["n"]]
            """
        host = Gathering(2)
        self.value(source, ["rang", 2], host)
        self.assertEqual(len(host.cancelled), 1)

    def test_many_signals_do_not_tear_a_frame(self) -> None:
        source = """
            from tools import github
            import signal
            class Ring(Exception): pass
            def ring(*_): raise Ring
            text = "x" * 300_000
            signal.signal(signal.SIGALRM, ring)
            for n in range(60):
                try:
                    signal.setitimer(signal.ITIMER_REAL, 0.0005 * (1 + n % 20))
                    github.create_issue(title=text)
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except Ring:
                    pass
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
            len(github.create_issue(title=text)["arguments"]["title"])
            """
        self.value(source, 300_000)

    def test_a_program_ends_with_calls_under_way(self) -> None:
        source = """
            from tools import github
            import threading
            threading.Thread(target=lambda: github.slow(n=1), daemon=True).start()
            import time
            time.sleep(0.05)
            print("end")
            5
            """
        ended = play(source, Gathering(2))
        assert ended.result is not None
        self.assertEqual((ended.result["value"], ended.stdout, ended.stderr), (5, "end\n", ""))

    def test_a_forked_process_hears_that_it_cannot_call(self) -> None:
        source = """
            from tools import github, ServerUnavailable
            import os, warnings
            warnings.simplefilter("ignore")
            {first}
            read, write = os.pipe()
            if os.fork() == 0:
                try:
                    github.slow(n=1)
                except ServerUnavailable as e:
                    os.write(write, str(e).encode())
                os._exit(0)
            os.wait()
            os.read(read, 1000).decode()[:64], github.slow(n=2)["arguments"]["n"]
            """
        for first in ("", "github.slow(n=0)"):
            ended = play(source.replace("{first}", first))
            assert ended.result is not None, ended
            expected = ("tools can be called only in the process that the program started", 2)
            self.assertEqual(ended.result["value"], repr((expected[0][:64], 2)))

    def test_where_the_host_is_gone_calls_fail_and_do_not_hang(self) -> None:
        class Hangs(ToolHost):
            def take(self, stream: bridge.Stream, frame: bridge.Frame) -> None:
                if frame.head["want"] == "call":
                    stream.write_frame(bridge.CALL, frame.id, {"form": "none"}, b"")
                    return
                super().take(stream, frame)

        source = """
            from tools import github, ServerUnavailable
            import os, threading
            github.slow(n=1)
            os.closerange(900, 1100)
            try:
                github.slow(n=2)
            except ServerUnavailable as e:
                print(e, flush=True)
            """
        ended = play(source, Hangs())
        self.assertIsNone(ended.result)
        self.assertIn("the bridge to the host is closed", ended.stdout)

    def test_builtins_and_modules_may_be_replaced(self) -> None:
        source = """
            from tools import github
            import builtins, json, os, threading, _thread
            json.dumps = json.loads = json.JSONEncoder = json.JSONDecoder = os.getpid = _thread.allocate_lock = None
            builtins.len = builtins.dict = builtins.str = builtins.isinstance = lambda *a: 1
            github.create_issue(title="x")["arguments"]
            """
        self.value(source, {"title": "x"})


if __name__ == "__main__":
    unittest.main()
