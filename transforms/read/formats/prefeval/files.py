"""What PrefEval keeps once for all forms of a topic: the chats in between and the options of each row."""

from dataclasses import dataclass, field

from memlake.transforms.base.conversation import DeadLetter
from memlake.transforms.read.common.choices import Choices, shuffled
from memlake.transforms.read.common.draft import Letters
from memlake.transforms.read.common.json_items import items_of
from memlake.transforms.read.common.side_files import beside, first_readable
from memlake.transforms.text.clean import as_answer

FILLERS = "filtered_inter_turns.json"
_OPTIONS = "mcq_options"
_ROLES = ("user", "assistant")
# The row's folder is one or two below the one that has both.
_UP = (1, 2, 0)


@dataclass(slots=True)
class Beside:
    """The files beside a topic's rows.

    Attributes:
        fillers: (role, text) of the messages in between.
        options: (question, options) of each row, in the order of the rows; the right option stands first.
        letters: what was missing or could not be read.
    """

    fillers: list[tuple[str, str]] = field(default_factory=list)
    options: list[tuple[object, list[str]]] = field(default_factory=list)
    letters: list[DeadLetter] = field(default_factory=list)

    def choices(self, topic: str, row: int, question: str) -> Choices:
        """The options of a row, shuffled; none where its file has none or asks another question in that row."""
        asked, options = self.options[row] if row < len(self.options) else (None, [])
        return shuffled(options, 0, f"{topic}|{row}") if options and asked == question else Choices()


def files_beside(uri: str, topic: str, exchanges: int) -> Beside:
    """Read the files that belong to a topic's rows; a missing one is a kept letter."""
    found = Beside()
    if fillers := _find(uri, FILLERS, found):
        _read_fillers(fillers, 2 * exchanges, found)
    if options := _find(uri, f"{_OPTIONS}/{topic}.json", found):
        _read_options(options, found)
    return found


def _find(uri: str, path: str, found: Beside) -> str | None:
    held = first_readable(beside(uri, path, up) for up in _UP)
    if held is None:
        error = f"no {path} in the folders above: ingest the folder as the benchmark ships it"
        found.letters.append(DeadLetter("side_file_missing", error, uri, None, "file", "kept"))
    return held


def _read_fillers(uri: str, messages: int, found: Beside) -> None:
    for item in items_of(uri, found.letters):
        talk = item.value.get("conversation") if isinstance(item.value, dict) else None
        for place, message in enumerate(talk if isinstance(talk, list) else [talk]):
            if len(found.fillers) == messages:
                return
            what = f"message {place} of chat {item.index}"
            letters = Letters(uri, item.index, found.letters)
            role = message.get("role") if isinstance(message, dict) else None
            if not isinstance(message, dict) or role not in _ROLES:
                letters.report("malformed_record", f"{what} is not an object with the role user or assistant")
            elif letters.is_text(message.get("content"), what):
                found.fillers.append((str(role), message["content"]))


def _read_options(uri: str, found: Beside) -> None:
    for item in items_of(uri, found.letters):
        row = item.value if isinstance(item.value, dict) else {}
        given = row.get("classification_task_options")
        options = [as_answer(option) for option in given] if isinstance(given, list) else []
        texts = [text for text in options if text is not None]
        if not texts or len(texts) < len(options):
            error = f"row {item.index} has no list of options"
            found.letters.append(DeadLetter("malformed_record", error, uri, item.index, "question"))
            texts = []
        found.options.append((row.get("question"), texts))
