"""The prompts, each a file beside this one: they are read as they stand and filled by joining texts, never by a format."""

import json
from collections.abc import Sequence
from functools import cache
from importlib import resources

from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.base.ids import content_id
from memlake.transforms.llm.protocol.model import Message

_CUT = "\n---\n"


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


def user_message(name: str, *blocks: str) -> tuple[Message, ...]:
    """The only user message of a prompt file and its data: what stands above the file's line `---`, the blocks, the rest.

    Joined, never formatted. A file without the line stands above its data, blocks of `data_block`, as a whole.

    Raises:
        NotFoundError: there is no prompt of that name.
    """
    above, _, below = prompt(name).partition(_CUT)
    return (Message("user", "\n\n".join(part for part in (above.strip(), *blocks, below.strip()) if part)),)


def data_block(name: str, lines: Sequence[object]) -> str:
    """Values as JSON lines between marks `<NAME-digits>` and `</NAME-digits>` whose digits occur nowhere in them."""
    body = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    tries = 0
    while (digits := content_id(name, body, tries)[:16]) in body:
        tries += 1
    return f"<{name}-{digits}>\n{body}\n</{name}-{digits}>"
