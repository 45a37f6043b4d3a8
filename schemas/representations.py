"""representations: the named ways to make units."""

from memlake.schemas.table import INT, STRING, Table, column

REPRESENTATIONS = Table(
    name="representations",
    grain="a named way to make units",
    key=("representation",),
    columns=(
        column("representation", STRING, "its name; other settings are another name"),
        column("kind", STRING, "the module that makes it, or 'supplied' when the source brought its units"),
        column("settings", STRING, "its settings as JSON with sorted keys"),
        column("settings_hash", STRING, "128-bit blake2b of kind, settings and revision"),
        column("revision", INT, "raised when the code's output changes for the same settings"),
        column("code_version", STRING, "the memlake version that first stored it"),
    ),
)
