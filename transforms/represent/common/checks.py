"""Checks on settings that several representations have in common."""

from memlake.transforms.base.errors import UsageError
from memlake.transforms.represent.common.representation import Settings


def check_choices(settings: Settings, **choices: tuple[str, ...]) -> None:
    """Raise UsageError for a setting that is none of the values it may have, of which the first is the default."""
    for name, allowed in choices.items():
        if settings[name] not in allowed:
            raise UsageError(
                f"{name}={settings[name]!r} is not one of {', '.join(allowed)}",
                hint=f"the default is {name}={allowed[0]}",
            )


def check_least(settings: Settings, name: str, least: int, *, default: int, allowed: str = "") -> None:
    """Raise UsageError for a whole number below the least that is allowed.

    Args:
        allowed: says what is, where that is more than `least` tells.
    """
    if int(settings[name]) < least:
        raise UsageError(
            f"{name}={settings[name]} is not allowed: {allowed or f'at least {least}'}",
            hint=f"the default is {name}={default}",
        )
