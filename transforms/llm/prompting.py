"""The prompts, each a file of this folder: they are read as they stand and filled by joining texts, never by a format."""

from functools import cache
from importlib import resources

from memlake.transforms.base.errors import NotFoundError


def prompt_names() -> list[str]:
    """The names of the prompts that there are."""
    found = (entry.name for entry in resources.files("memlake").joinpath("transforms", "llm", "prompts").iterdir())
    return sorted(name.removesuffix(".md") for name in found if name.endswith(".md"))


@cache
def prompt(name: str) -> str:
    """The text of a prompt, without white space around it.

    Raises:
        NotFoundError: there is none of that name; says which there are.
    """
    names = prompt_names()
    # Looked up in the list, so that a name is never a path.
    if name not in names:
        raise NotFoundError(f"prompt={name!r} is not one of {', '.join(names)}", hint="leave the setting `prompt` out")
    file = resources.files("memlake").joinpath("transforms", "llm", "prompts", f"{name}.md")
    return file.read_text(encoding="utf-8").strip()
