"""A setting is one field: option, variable, line of a file, doctor's row, form and flow's settings come from it."""

import io
from contextlib import redirect_stdout
from dataclasses import KW_ONLY, dataclass, fields, is_dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

import pytest
from cyclopts import App
from pydantic import Field

from memlake.flows.cli.catalogue import COMMANDS
from memlake.flows.cli.main import build
from memlake.flows.cli.options import configured
from memlake.flows.run import config, settings
from memlake.flows.run.config import SETTINGS, load
from memlake.flows.run.settings import LakeSettings
from memlake.transforms.base.errors import UsageError
from memlake.transforms.base.setting import Option, Setting, declared

KINDS = [kind for kind in vars(settings).values() if is_dataclass(kind) and isinstance(kind, type) and declared(kind)]
FLOWS = ("ingest", "represent", "embed", "link", "study", "forget")


@pytest.fixture(autouse=True)
def bare_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in SETTINGS:
        monkeypatch.delenv(f"MEMLAKE_{name.upper()}", raising=False)


def test_every_setting_is_one_field_of_one_class():
    places: dict[str, set[str]] = {name: set() for name in SETTINGS}
    for kind in KINDS:
        for base in kind.__mro__:
            own = vars(base).get("__annotations__", {})
            for part in declared(kind):
                if isinstance(part.mark, Setting) and part.path[-1] in own and len(part.path) == 1:
                    places[part.name].add(base.__qualname__)
    assert {name: found for name, found in places.items() if len(found) != 1} == {}


def test_the_configuration_and_the_doctor_have_every_setting_that_a_class_declares():
    marked = {part.name for kind in KINDS for part in declared(kind) if isinstance(part.mark, Setting)}
    rows = load().rows()
    assert marked == set(SETTINGS) == {row["setting"] for row in rows}
    assert {row["setting"]: row["is"] for row in rows} == {name: part.mark.help for name, part in SETTINGS.items()}


def test_every_option_of_a_command_that_is_a_setting_says_its_help_and_its_default():
    app = build()
    seen = set()
    for command in COMMANDS:
        part = app[command.name]
        group = command.is_group
        inner = [part[name] for name in part if not name.startswith("-")] if group else [part]
        for argument in (argument for subcommand in inner for argument in subcommand.assemble_argument_collection()):
            name = argument.name.removeprefix("--").replace("-", "_")
            name = {"runner_option": "runner_options"}.get(name, name)
            if name in SETTINGS and argument.parameter.help.startswith(SETTINGS[name].mark.help.removesuffix(".")):
                seen.add(name)
                if SETTINGS[name].default not in (None, "", (), False):
                    assert "(default " in argument.parameter.help
    assert seen == {name for name, part in SETTINGS.items() if part.mark.flag is not None}


@pytest.mark.parametrize("name", FLOWS)
def test_the_form_of_a_deployment_has_every_field_with_its_help(name: str):
    from memlake.flows import deployments

    flow = getattr(deployments, name)
    schemas = flow.parameters.definitions
    kind = next(iter(flow.fn.__annotations__.values()))
    for part in declared(kind):
        place = kind
        for step in part.path[:-1]:
            place = next(field.type.__origin__ for field in fields(place) if field.name == step)
        assert schemas[place.__name__]["properties"][part.path[-1]]["description"] == part.mark.help


@dataclass(frozen=True)
class Kettle(LakeSettings):
    _: KW_ONLY
    cups: Annotated[int, Field(ge=1), Setting("Cups that are boiled.")] = 2
    loud: Annotated[bool, Option("Whistle.")] = False


def boil(monkeypatch: pytest.MonkeyPatch, *words: str) -> SimpleNamespace:
    """What a command with the settings of a kettle gets for a command line, and what its help says."""
    settings = {part.name: part for part in declared(Kettle) if isinstance(part.mark, Setting)}
    monkeypatch.setattr(config, "SETTINGS", settings)
    config._model.cache_clear()
    app = App(result_action="return_value", help_formatter="plain", help_format="plaintext")
    app.default(configured(make))
    with redirect_stdout(io.StringIO()) as shown:
        made = app(list(words), exit_on_error=False, print_error=False)
    config._model.cache_clear()
    return SimpleNamespace(made=made, shown=shown.getvalue())


def make(kettle: Kettle) -> Kettle:
    """Boil."""
    return kettle


def test_a_field_alone_makes_an_option_a_variable_and_a_line_of_the_file(tmp_path: Path, monkeypatch):
    assert boil(monkeypatch).made == Kettle("./lake", cups=2)
    assert boil(monkeypatch, "--cups", "3", "--lake", "x", "--loud").made == Kettle("x", cups=3, loud=True)
    (tmp_path / "memlake.toml").write_text("cups = 4\n")
    assert boil(monkeypatch).made.cups == 4
    monkeypatch.setenv("MEMLAKE_CUPS", "5")
    assert boil(monkeypatch).made.cups == 5
    assert "--cups INT: Cups that are boiled (default 2)." in boil(monkeypatch, "--help").shown


def test_a_value_that_its_field_refuses_is_refused_wherever_it_comes_from(monkeypatch):
    with pytest.raises(UsageError, match=r"cups=0 \(from flag\) is not allowed") as caught:
        boil(monkeypatch, "--cups", "0")
    assert caught.value.hint == "cups: Cups that are boiled."
    monkeypatch.setenv("MEMLAKE_CUPS", "none")
    with pytest.raises(UsageError, match=r"cups='none' \(from MEMLAKE_CUPS\) is not allowed"):
        boil(monkeypatch)


def test_an_option_that_is_no_setting_is_not_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("MEMLAKE_LOUD", "true")
    assert boil(monkeypatch).made.loud is False
