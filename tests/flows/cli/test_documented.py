"""Nothing undocumented: every command is in the README, has an example, and its examples parse."""

import re
import shlex
import tomllib
from pathlib import Path

import pytest
from cyclopts import App

from memlake.flows.cli.catalogue import COMMANDS
from memlake.flows.cli.main import build

REPOSITORY = Path(__file__).parents[3]
README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
README_COMMANDS = [
    shlex.join(shlex.split(line, comments=True))
    for block in re.findall(r"```(?:sh|text)\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if line.strip().startswith("memlake ")
]
EXAMPLES = [example for command in COMMANDS for example in command.examples]


def commands() -> list[str]:
    """Every command and subcommand, as a user types it."""
    app = build()
    found = []
    for command in COMMANDS:
        part = app[command.name]
        inner = [name for name in part if not name.startswith("-")] if command.is_group else []
        found += [f"{command.name} {name}" for name in inner] or [command.name]
    return found


def parse(line: str) -> None:
    """Parse a command line as the shell would hand it over, and run nothing."""
    app: App = build()
    words = shlex.split(line.partition(" > ")[0])
    app.parse_args(words[1:], exit_on_error=False, print_error=False)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_has_an_example_and_a_line_of_help(command):
    assert command.help.endswith(".")
    assert command.examples
    assert all(
        example.startswith(f"memlake {command.name} ") or example == f"memlake {command.name}"
        for example in command.examples
    )


@pytest.mark.parametrize("line", EXAMPLES)
def test_every_example_in_the_help_parses(line: str):
    parse(line)


@pytest.mark.parametrize("line", README_COMMANDS)
def test_every_command_in_the_readme_parses(line: str):
    parse(line)


@pytest.mark.parametrize("command", commands())
def test_every_command_is_in_the_readme_or_in_its_group_s_examples(command: str):
    shown = [line for line in [*README_COMMANDS, *EXAMPLES] if line.startswith(f"memlake {command}")]
    group = command.split()[0]
    listed = re.search(rf"memlake {group} .*also: .*\b{command.split()[-1]}\b", README)
    assert shown or listed, f"memlake {command} is in neither README.md nor flows/cli/catalogue.py"


def test_every_option_and_argument_is_explained():
    app = build()
    for command in commands():
        part = app
        for name in command.split():
            part = part[name]
        for argument in part.assemble_argument_collection():
            if argument.show:
                assert argument.parameter.help, f"memlake {command} {argument.name}"


def test_every_setting_is_explained():
    from memlake.flows.run.config import SETTINGS

    assert all(setting.mark.help.endswith(".") for setting in SETTINGS.values())


def test_the_installed_command_is_this_one():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["scripts"]["memlake"] == "memlake.flows.cli.main:main"


def test_the_exit_codes_of_the_readme_are_those_of_the_errors():
    from memlake.transforms.base import errors

    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", README, re.MULTILINE)}
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert documented == {kind.exit_code for kind in kinds} | {0, 130}
