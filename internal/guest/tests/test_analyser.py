"""What the analyser says of small programs.

Run from internal/guest: ``python3 -m unittest discover tests``.
"""

from __future__ import annotations

import sys
import unittest
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gearbox_guest.analyser import MAX_SOURCE, analyse


def facts(source: str) -> set[str]:
    """The facts of a program in the written form of permissions."""
    tree, head = analyse(source)
    assert tree is not None, head
    return {f"{fact['kind']}({fact['target']})" for fact in head["facts"]}


class Check(unittest.TestCase):
    def says(self, source: str, *expected: str) -> None:
        """The program has exactly these facts, imports aside."""
        found = {fact for fact in facts(source) if not fact.startswith("import(")}
        self.assertEqual(found, set(expected), source)


class Imports(Check):
    def test_a_submodule_is_named_however_it_is_imported(self) -> None:
        for source in ("import urllib.parse", "from urllib import parse", "from urllib.parse import quote"):
            self.assertEqual(facts(source), {"import(urllib.parse)"}, source)

    def test_a_package_is_named_beside_its_submodules(self) -> None:
        self.assertEqual(facts("from json import dumps, decoder"), {"import(json)", "import(json.decoder)"})

    def test_constant_import_calls_are_imports(self) -> None:
        source = "import importlib\nimportlib.import_module('js' + 'on')\n__import__('csv')"
        self.assertEqual(facts(source), {"import(importlib)", "import(json)", "import(csv)"})

    def test_future_statements_import_nothing(self) -> None:
        self.assertEqual(facts("from __future__ import annotations"), set())

    def test_reexported_modules_are_told_from_attributes_of_the_same_name(self) -> None:
        self.says(
            "import datetime, copy, time, os, shutil\ndatetime.time; copy.copy; time.time; os.stat; shutil.copy"
        )
        self.says(
            "import collections, calendar\ncollections.abc.Sized; calendar.calendar; collections.deque.copy"
        )
        self.says("import calendar\ncalendar.sys", "unsafe(reexport)")


class Tools(Check):
    def test_importing_the_package_needs_nothing(self) -> None:
        for source in (
            "import tools",
            "import tools.github as g",
            "from tools import github, ToolError",
            "from tools import *",
        ):
            self.assertEqual(facts(source), set(), source)
        self.assertEqual(facts("import toolset"), {"import(toolset)"})

    def test_calls_are_named_as_python_names_them(self) -> None:
        for source in (
            "from tools import github as g\ng.get_issue(number=1)",
            "import tools\ntools.github.get_issue()",
            "import tools.github\ntools.github.get_issue()",
            "import tools.github as g\nf = g.get_issue\nf()",
            "from tools.github import get_issue as f\nf()",
            "from tools import *\ngithub.get_issue()",
            "from tools import github\nawait github.aio.get_issue()",
            "from tools.github import aio\nawait aio.get_issue()",
            "from tools import github\nlist(map(github.get_issue, [1]))",
            "from tools import github\nimport tools\ntools.parallel([(github.get_issue, {})])",
            "from tools import github\ngetattr(github, 'get_issue')()",
            "import importlib\nimportlib.import_module('tools.github').get_issue()",
            "from tools import github\ngithub.get_issue()['title'].upper()",
        ):
            self.says(source, "tool(github.get_issue)")

    def test_looking_at_a_function_calls_nothing(self) -> None:
        self.says(
            "from tools import github\nhelp(github.get_issue)\nprint(github.get_issue.__doc__)\ndir(github)"
        )
        self.says("from tools.github import get_issue\nhelp(get_issue)\nget_issue.__signature__")
        self.says("import tools\ntools.search('x')\ntools.describe('a.b')\nhelp(tools)\ntools.ToolError.args")
        self.says("tools = {}\ntools.github.get_issue()\ndef f(tools): tools.a.b()")

    def test_help_on_tools_is_no_alarm_and_on_all_else_is(self) -> None:
        self.says("import tools\nhelp(tools.github)\nhelp(tools)\nhelp(tools.github.get_issue)")
        self.says("import tools\nhelp()", "unsafe(site_builtins)")
        self.says("import tools\nx = tools if y else print\nhelp(x)", "unsafe(site_builtins)")

    def test_calls_by_raw_name(self) -> None:
        self.says("import tools\ntools.call('s', 'raw-name', {})", "tool(s.raw-name)")
        self.says("from tools import call\ncall(tool='t', server='s')", "tool(s.t)")
        self.says("import tools\nname = 'a.b/c'\nawait tools.aio.call('s', name)", "tool(s.a.b/c)")
        self.says("import tools, sys\ntools.call('s', sys.argv[0], {})")
        via = [f["via"] for f in analyse("import tools\ntools.call('s', 't')")[1]["facts"]]
        self.assertEqual(via, ["tools.call"])


class Names(Check):
    def test_methods_that_are_called_like_builtins_are_no_alarm(self) -> None:
        self.says(
            "import re\nre.compile('x')\nframe.eval('a')\nsession.execute('q')\nmodel.compile()\nq.exec()"
        )

    def test_names_of_the_programs_own_hide_builtins(self) -> None:
        self.says("def compile(x): return x\ncompile('a')")
        self.says("def f(eval): return eval('a')")
        self.says("def f():\n    exec = print\n    exec('a')")
        self.says("[eval('1') for eval in [print]]")

    def test_a_builtin_is_hidden_only_where_it_is_hidden_for_certain(self) -> None:
        self.says("if x:\n    def eval(t): ...\neval('1')", "unsafe(eval)")
        self.says("class C:\n    eval = print\n    def m(self): eval('1')", "unsafe(eval)")
        self.says("eval('1')\ndef eval(t): ...", "unsafe(eval)")

    def test_aliases_are_followed(self) -> None:
        self.says("import os as o\nrun = o.system\nrun('ls')", "run(ls)")
        self.says("from os import system as s\ns('ls')", "run(ls)")
        self.says("def f():\n    global g\n    g = eval\nf()\n", "unsafe(eval)")
        self.says("import os\nwith os as p, x as y:\n    p.getenv('K')", "env(K)")

    def test_names_that_lean_on_themselves_keep_all_meanings(self) -> None:
        self.says("import json\na = None\na = b or 1\nb = a\nb = json\nb\na.codecs", "unsafe(reexport)")
        self.says("import json\n" + "x = 1\n" * 300 + "x = json\nx.codecs", "unsafe(reexport)")
        self.says("import json\nfor m in [" + "1, " * 100 + "json]: m.codecs", "unsafe(reexport)")

    def test_long_programs_that_rebind_one_name_are_no_alarm(self) -> None:
        self.says(
            "import pandas\ndf = pandas.DataFrame()\n" + "df = df.dropna().head(3)\n" * 200 + "df.format(1)"
        )
        self.says("out = ''\n" + "out += 'x'\n" * 200 + "out.format(1)\nopen(out)")
        self.says("s = " + " + ".join(["'a'"] * 90) + "\ns.format(1)")

    def test_words_in_texts_and_comments_never_count(self) -> None:
        self.says(
            "# import os; eval('1')\nx = 'os.system(\"rm -rf /\") http://example.com __globals__'\nprint(x)"
        )

    def test_own_classes_may_be_walked(self) -> None:
        self.says("class A: ...\nA.__subclasses__(); A.__mro__; A.__bases__; type(A()).__mro__")
        self.says("object.__subclasses__()", "unsafe(dunder)")

    def test_dispatch_on_own_objects_is_no_alarm(self) -> None:
        self.says("class A:\n    def run(self, name): return getattr(self, 'do_' + name)(1)")
        self.says("for name in ['a', 'b']:\n    getattr(thing, name)")
        self.says("for k, v in options.items():\n    setattr(thing, k, v)")
        self.says(
            "getattr(thing, name.lower()); getattr(thing, f'{kind}_handler'); getattr(thing, '_get_' + kind)"
        )
        self.says("getattr(thing, '%s_open' % kind); getattr(thing, '{}_open'.format(kind))")

    def test_names_that_are_put_together_are_an_alarm(self) -> None:
        for name in (
            "'_' + rest",
            "'%s__' % kind",
            "f'{a}{b}'",
            "chr(n) + rest",
            "''.join(parts)",
            "data.decode()",
        ):
            self.says(f"getattr(thing, {name})", "unsafe(dynamic_attribute)")

    def test_attribute_hooks_may_call_their_base(self) -> None:
        self.says("class P:\n    def __getattribute__(self, name): return super().__getattribute__(name)")
        self.says("class P:\n    def get(self, name): return object.__getattribute__(self, name)")
        self.says("look = object.__getattribute__", "unsafe(dunder)")

    def test_attributes_of_modules_are_not_chosen_by_variables(self) -> None:
        self.says("import json\ngetattr(json, name)", "unsafe(dynamic_attribute)")
        self.says("import math\ngetattr(math, name)")

    def test_format_fields_are_read(self) -> None:
        self.says("'{0.name} {1[key]:>{width}}'.format(a, b)")
        self.says("'{0.__class__.__name__}({self.size})'.format(a, self=b)")
        self.says("'{0:{1.__globals__}}'.format(a, f)", "unsafe(dunder)")

    def test_text_annotations_are_code(self) -> None:
        self.says("def f(x: 'list[int]') -> 'C': ...")
        self.says("x: Literal['a.b(c)'] = 1")
        self.says("def f(x: 'eval(1)'): ...", "unsafe(eval)")

    def test_the_facts_do_not_depend_on_what_is_loaded(self) -> None:
        source = "import statistics\nstatistics.sys"
        before = analyse(source)[1]
        sys.modules.pop("statistics", None)
        self.assertEqual(analyse(source)[1], before)


class Effects(Check):
    def test_modes_decide_between_read_and_write(self) -> None:
        for mode, kind in {
            "r": "read",
            "rb": "read",
            "w": "write",
            "a": "write",
            "x": "write",
            "r+": "write",
        }.items():
            self.says(f"open('/data/x', {mode!r})", f"{kind}(/data/x)")
        self.says("open('/data/x', mode)", "write(/data/x)")
        self.says("open(3); open(name); open(f'/data/{name}')")

    def test_paths_are_put_together(self) -> None:
        self.says("import os\nopen(os.path.join('/etc', 'hosts'))", "read(/etc/hosts)")
        self.says("from pathlib import Path\n(Path('/etc') / 'hosts').read_text()", "read(/etc/hosts)")
        self.says(
            "from pathlib import Path\nBASE = Path('/a')\n(BASE / 'b').parent.joinpath('c').touch()",
            "write(/a/c)",
        )

    def test_addresses_are_named_by_host_and_port(self) -> None:
        self.says("import requests\nrequests.get('https://user:pw@Example.COM/x?y')", "net(example.com:443)")
        self.says("import requests\nrequests.get('http://[2001:db8::1]/')", "net([2001:db8::1]:80)")
        self.says(
            "import httpx\nc = httpx.Client(base_url='https://a.example/v1')\nc.get('/x')",
            "net(a.example:443)",
        )
        self.says(
            "import aiohttp\nasync def f():\n async with aiohttp.ClientSession() as s:\n  await s.get('ws://a.b:9/')",
            "net(a.b:9)",
        )
        self.says("import smtplib\nsmtplib.SMTP('mail.example')", "net(mail.example:25)")
        self.says("import psycopg2\npsycopg2.connect('postgresql://u@db.example/x')", "net(db.example:5432)")

    def test_an_open_address_is_not_guessed(self) -> None:
        self.says(
            "import requests\nrequests.get(f'https://api.{host}/x'); requests.get('https://api' + rest); requests.get(u)"
        )
        self.says("import requests\nrequests.get('https://api.example/' + rest)", "net(api.example:443)")

    def test_every_command_of_a_shell_text_is_named(self) -> None:
        self.says(
            "import os\nos.system('A=1 cat x | sort > /tmp/y && if true; then ls; fi')",
            "run(cat)",
            "run(sort)",
            "run(true)",
            "run(ls)",
        )
        self.says("import os\nos.system('echo $(id)')", "run(echo)", "run(id)")
        self.says("import os\nos.system('echo \"$(id)\" $x')", "run(echo)", "run(*)")
        self.says("import os\nos.system(f'ls {folder}')", "run(ls)", "run(*)")
        self.says("import os\nos.system('echo \"open')", "run(*)")

    def test_a_program_is_named_with_its_directory(self) -> None:
        self.says("import subprocess\nsubprocess.run(['/usr/bin/git', 'status'])", "run(/usr/bin/git)")
        self.says("import subprocess\nsubprocess.run(['git'] + rest)", "run(git)")
        self.says("import os\nos.execvp('ls', ['ls'])", "run(ls)")

    def test_installations_are_found(self) -> None:
        self.says("import os\nos.system('pip install -r x.txt -U \"A_b[c]>=1\"')", "run(pip)", "install(a-b)")
        head = analyse("!pip install Foo\nimport foo")[1]
        self.assertEqual([f["target"] for f in head["facts"]], ["foo"])
        self.assertIn("failure", head)

    def test_reading_a_variable_is_told_from_setting_it(self) -> None:
        self.says(
            "import os\nos.environ['A'] = '1'\ndict(os.environ)\nos.environ['B']\nos.getenv('C', 'd')",
            "env(B)",
            "env(C)",
        )


class Places(unittest.TestCase):
    def test_columns_count_characters(self) -> None:
        fact = analyse("é = '日本'; eval('1')")[1]["facts"][0]
        self.assertEqual((fact["line"], fact["column"]), (1, 11))

    def test_the_first_place_is_named(self) -> None:
        found = analyse("x = 1\nif x:\n    eval('1')\neval('2')")[1]["facts"]
        self.assertEqual([(f["line"], f["column"]) for f in found], [(3, 5)])

    def test_facts_come_in_the_order_of_the_source(self) -> None:
        found = analyse("def f():\n    eval('1')\nimport json\nimport csv")[1]["facts"]
        self.assertEqual([f["line"] for f in found], [2, 3, 4])


class Failures(unittest.TestCase):
    def test_a_syntax_error_is_told_as_cpython_tells_it(self) -> None:
        tree, head = analyse("x = 1\ny = (\n")
        self.assertIsNone(tree)
        failure = head["failure"]
        self.assertEqual((failure["class"], failure["line"], failure["column"]), ("SyntaxError", 2, 5))
        self.assertIn('File "<cell>", line 2\n    y = (\n        ^\n', failure["text"])

    def test_indentation_errors_keep_their_class(self) -> None:
        self.assertEqual(analyse("if x:\ny")[1]["failure"]["class"], "IndentationError")

    def test_coding_cookies_are_ignored(self) -> None:
        tree, head = analyse("# coding: idna\nx = 'é'")
        self.assertIsNotNone(tree)
        self.assertEqual(head, {"facts": []})

    def test_a_very_long_line_is_shown_in_part(self) -> None:
        failure = analyse("x = [" + "1, " * 50_000 + "2 3]")[1]["failure"]
        self.assertLess(len(failure["text"]), 1_000)

    def test_nul_and_lone_surrogates_fail_to_parse(self) -> None:
        for source in ("x = '\0'", "x = '\ud800'"):
            self.assertIn("failure", analyse(source)[1])

    def test_top_level_await_parses(self) -> None:
        self.assertIsNotNone(analyse("await x")[0])

    def test_warnings_are_left_to_the_caller(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            analyse("x = '\\d'")
        self.assertEqual(len(caught), 1)


class Bounds(unittest.TestCase):
    def test_what_is_too_much_is_unanalysable(self) -> None:
        for name, source in {
            "long": "#" * MAX_SOURCE + "\nx = 1",
            "statements": "x\n" * 125_000,
            "facts": "\n".join(f"import m{i}" for i in range(3_000)),
        }.items():
            with self.subTest(name):
                self.assertIn("unsafe(unanalysable)", facts(source))

    def test_deep_and_wide_expressions_end(self) -> None:
        doubling = "a0 = 'x'\n" + "\n".join(f"a{i + 1} = a{i} + a{i}" for i in range(200)) + "\nopen(a200)"
        attributes = "x" + ".a" * 900
        circle = "a = b\nb = a\nopen(a); a()"
        for source in (doubling, attributes, circle):
            tree, head = analyse(source)
            self.assertTrue(tree is not None or "failure" in head)


if __name__ == "__main__":
    unittest.main()
