"""`memlake completion`: the shell's own completion of commands and options."""

from typing import Annotated, Literal

from cyclopts import Parameter


def completion(shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="The shell.")], /) -> None:
    """Print a script that a shell evaluates."""
    from memlake.flows.cli.main import build

    print(build().generate_completion(shell=shell))
