"""A table of a TOML file that is read key by key, each key checked, and refused when a key was left unread."""

from collections.abc import Callable, Sequence
from typing import Any

from memlake.transforms.base.errors import UsageError

_REQUIRED = object()
_HINT = "mend the file; flows/studies has examples"


class Section:
    """One table; `where` names it in errors. Every reader takes a `default` for a key that may be missing."""

    def __init__(self, where: str, table: Any) -> None:
        if not isinstance(table, dict):
            raise UsageError(f"{where} is {table!r}: a table is allowed", hint=_HINT)
        self.where = where
        self._table = table
        self._known: list[str] = []

    def text(self, key: str, *, default: Any = _REQUIRED) -> str:
        """A text that is not empty."""
        value: str = self._get(key, default, _is_text, "a text is")
        return value

    def choice(self, key: str, options: Sequence[str], *, default: Any = _REQUIRED) -> str:
        """One of some texts."""
        value: str = self._get(key, default, lambda value: value in options, f"{', '.join(options)} are")
        return value

    def texts(self, key: str, *, default: Any = _REQUIRED) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(self._get(key, default, lambda value: _is_list(value, _is_text), "a list of texts is"))

    def count(self, key: str, *, default: Any = _REQUIRED, least: int = 1) -> int:
        """A whole number of at least `least`."""
        value: int = self._get(
            key, default, lambda value: _is_count(value) and value >= least, f"a whole number, {least} or more, is"
        )
        return value

    def counts(self, key: str, *, default: Any = _REQUIRED) -> tuple[int, ...]:
        """Whole numbers of at least 1, each once, ascending."""
        value = self._get(
            key,
            default,
            lambda value: _is_list(value, lambda item: _is_count(item) and item > 0) and value == sorted(set(value)),
            "an ascending list of whole numbers, 1 or more, each once, is",
        )
        return tuple(value)

    def number(self, key: str, *, default: Any = _REQUIRED) -> Any:
        """A finite number, as a float; or the default."""
        value = self._get(key, default, _is_number, "a number is")
        return float(value) if _is_number(value) else value

    def truth(self, key: str, *, default: Any = _REQUIRED) -> bool:
        """True or false."""
        value: bool = self._get(key, default, lambda value: isinstance(value, bool), "true or false is")
        return value

    def table(self, key: str, *, default: Any = _REQUIRED) -> dict[str, Any]:
        """A table, as it stands."""
        value: dict[str, Any] = self._get(key, default, _is_table, "a table is")
        return value

    def tables(self, key: str, *, default: Any = _REQUIRED) -> list[dict[str, Any]]:
        """A list of tables, as they stand."""
        return list(self._get(key, default, lambda value: _is_list(value, _is_table), "a list of tables is"))

    def section(self, key: str, *, default: Any = _REQUIRED) -> Any:
        """A table, to be read key by key, as a Section; None where it is missing and the default is None."""
        table = self.table(key, default=default)
        return None if table is None else Section(f"{self.where} {key}", table)

    def sections(self, key: str, *, default: Any = _REQUIRED) -> list["Section"]:
        """A list of tables, each to be read key by key."""
        tables = self.tables(key, default=default)
        return [Section(f"{self.where} {key} {place}", table) for place, table in enumerate(tables, 1)]

    def close(self) -> None:
        """Refuse keys that nothing asked for.

        Raises:
            UsageError: there is one; says which are allowed.
        """
        if unknown := sorted(self._table.keys() - set(self._known)):
            raise UsageError(
                f"{self.where}: key={unknown[0]!r} is unknown: allowed are {', '.join(self._known)}", hint=_HINT
            )

    def _get(self, key: str, default: Any, is_allowed: Callable[[Any], bool], allowed: str) -> Any:
        self._known.append(key)
        if key not in self._table:
            if default is _REQUIRED:
                raise UsageError(f"{self.where}: key={key!r} is missing", hint=_HINT)
            return default
        value = self._table[key]
        if not is_allowed(value):
            raise UsageError(f"{self.where}: {key}={value!r}: {allowed} allowed", hint=_HINT)
        return value


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _is_list(value: object, is_item: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(is_item, value))
