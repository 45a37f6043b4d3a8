"""Where things stand in a TOML text, held against tomllib's own reading of the same text."""

import tomllib
from collections.abc import Iterator

import pytest

from memlake.transforms.study.lines import toml_lines
from memlake.transforms.study.parse import study_names, study_path

HOSTILE = """\
# [no] = 1
top = 1 # x = [
"quo\\"ted.key" = "a ] # }"
'lit.eral' . "b\\u00e9" . c = [ 1, [ 2,
   3 ], # ] comment
 { x = 1, "y z".w = [
   "q", 'r' ] } ,
]
m = @@
[not]
x = "1" ""\\"@@"
l = '''
[[no]]
'''''
d = 1979-05-27 07:32:00
3.14 = "pi"
"" = 2
[ a . "b.c" ]
[[ a.list ]]
n.m = 1
n.o = 2
  [[a.list.inner]]
  z = {}
[a.list.sub]
e=[]
[[a.list]]
[[a.list.inner]]
[[a.list.inner]]
q = [[],[[{}]],
[
1,
]]
[other]
x = -inf
""".replace("@@", '"' * 3)


def paths(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        yield from paths(part, (*path, key))


@pytest.mark.parametrize("text", [HOSTILE, HOSTILE.replace("\n", "\r\n")], ids=["lf", "crlf"])
def test_everything_that_a_text_holds_has_its_line_and_nothing_else_has(text):
    assert set(toml_lines(text)) == set(paths(tomllib.loads(text)))


def test_the_studies_that_come_along_are_placed_whole():
    for name in study_names():
        text = study_path(name).read_text(encoding="utf-8")
        assert set(toml_lines(text)) == set(paths(tomllib.loads(text)))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("top",), 'top = 1 # x = ['),
        (('quo"ted.key',), '"quo\\"ted.key" = "a ] # }"'),
        (("lit.eral", "bé", "c", 1, 0), """'lit.eral' . "b\\u00e9" . c = [ 1, [ 2,"""),
        (("lit.eral", "bé", "c", 1, 1), "   3 ], # ] comment"),
        (("lit.eral", "bé", "c", 2, "y z", "w", 1), """   "q", 'r' ] } ,"""),
        (("d",), "d = 1979-05-27 07:32:00"),
        (("3", "14"), '3.14 = "pi"'),
        (("",), '"" = 2'),
        (("a",), '[ a . "b.c" ]'),
        (("a", "list", 0, "n", "o"), "n.o = 2"),
        (("a", "list", 0, "inner", 0, "z"), "  z = {}"),
        (("a", "list", 0, "sub", "e"), "e=[]"),
        (("a", "list", 1, "inner", 1, "q", 1, 0, 0), "q = [[],[[{}]],"),
        (("a", "list", 1, "inner", 1, "q", 2, 0), "1,"),
        (("other", "x"), "x = -inf"),
    ],
)  # fmt: skip
def test_a_place_has_the_line_on_which_it_begins(path, line):
    assert HOSTILE.splitlines()[toml_lines(HOSTILE)[path] - 1] == line


def test_tables_of_an_array_are_counted_whatever_stands_between():
    text = "[[x]]\n[y]\n[[x]]\n[x.z]\nw = 1\n"
    assert toml_lines(text) == {
        ("x",): 1, ("x", 0): 1, ("y",): 2, ("x", 1): 3, ("x", 1, "z"): 4, ("x", 1, "z", "w"): 5,
    }  # fmt: skip
