"""Every error a user can meet. Each says what was wrong, the value, what is allowed, and what to run next."""

from collections.abc import Sequence
from dataclasses import dataclass


class MemlakeError(Exception):
    """Something a user can mend; `code` is stable for scripts, `hint` is the next command to run."""

    code = "failed"
    exit_code = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong in one place of a document: `path` are the keys and positions that lead to it, code and hint an error's."""

    path: tuple[str | int, ...]
    message: str
    code: str = "usage"
    hint: str = ""


class UsageError(MemlakeError):
    """A wrong argument, setting or name; `problems` are those of a document, each with its place."""

    code = "usage"
    exit_code = 2

    def __init__(self, message: str, *, hint: str = "", problems: Sequence[Problem] = ()) -> None:
        super().__init__(message, hint=hint)
        self.problems = tuple(problems)


class NotFoundError(UsageError):
    """A named thing that does not exist; says which ones do."""

    code = "not_found"


class LakeBusyError(MemlakeError):
    """Another writer holds the lake's lock."""

    code = "lake_busy"


class LakeConflictError(MemlakeError):
    """A commit was fenced off: the lake moved under this writer, which published nothing."""

    code = "lake_conflict"


class LakeCorruptError(MemlakeError):
    """Files that a snapshot names are missing or unreadable."""

    code = "lake_corrupt"


class JobFailedError(MemlakeError):
    """A Beam job failed in a worker process."""

    code = "job_failed"


class EmbedderMismatchError(UsageError):
    """Stored vectors were made by another model, revision or dimension."""

    code = "embedder_mismatch"


class _FinishedError(MemlakeError):
    """A command that did its work and ends with an error; `document` is what it would have printed."""

    def __init__(self, message: str, *, hint: str = "", document: dict[str, object] | None = None) -> None:
        super().__init__(message, hint=hint)
        self.document = document


class TooManyDeadLettersError(_FinishedError):
    """A run finished and published, and more of its input died than was allowed; `document` is what it did."""

    code = "dead_letters"
    exit_code = 3


class AuditError(MemlakeError):
    """An audit found offending rows; nothing was published."""

    code = "audit_failed"
    exit_code = 4


class GateError(_FinishedError):
    """A number of a study's run left its stated tolerance; `document` holds every gate with what was measured."""

    code = "gate_failed"
    exit_code = 4


class PrefectUnavailableError(MemlakeError):
    """The Prefect API that a run was to be recorded in does not answer."""

    code = "prefect_unavailable"
