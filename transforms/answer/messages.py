"""One message of instructions and data: a prompt file around blocks that what is in them cannot leave."""

from memlake.transforms.llm.prompting import prompt
from memlake.transforms.llm.protocol.model import Message

_CUT = "\n---\n"


def user_message(name: str, *blocks: str) -> tuple[Message, ...]:
    """The one user message of a prompt file and its data: what stands above the file's line `---`, the blocks, the rest.

    Joined, never formatted. A file without the line stands above its data as a whole.

    Args:
        blocks: of `data_block`.

    Raises:
        NotFoundError: there is no prompt of that name.
    """
    above, _, below = prompt(name).partition(_CUT)
    return (Message("user", "\n\n".join(part for part in (above.strip(), *blocks, below.strip()) if part)),)
