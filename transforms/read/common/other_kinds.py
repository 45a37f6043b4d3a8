"""Files that are none of ours, and what to do with them: said by their first bytes, so that nobody has to guess."""

from memlake.transforms.read.common.peek import lines_of, whole_of

# What a file begins with, and what it then is.
_MAGIC = {
    b"\x1f\x8b": "a gzip file: unpack it first (gunzip)",
    b"PK\x03\x04": "a zip file: unpack it first (unzip)",
    b"BZh": "a bzip2 file: unpack it first (bunzip2)",
    b"\xfd7zXZ\x00": "an xz file: unpack it first (unxz)",
    b"\x28\xb5\x2f\xfd": "a zstd file: unpack it first (unzstd)",
    b"PAR1": "a Parquet file: write its rows as JSON lines first",
    b"ARROW1": "an Arrow file: write its rows as JSON lines first",
    b"SQLite format 3\x00": "an SQLite database: write its rows as JSON lines first",
    b"%PDF-": "a PDF file: write its text as JSON lines first",
}
_OUR_FIELDS = {"conversation_id", "turns", "messages"}


def other_kind(head: bytes) -> str | None:
    """What a file that is no text is; None when its first bytes are those of no kind known here."""
    return next((f"it is {says}" for magic, says in _MAGIC.items() if head.startswith(magic)), None)


def not_lines(head: bytes) -> str | None:
    """What is wrong with conversations that stand in one JSON text instead of one a line; None for anything else."""
    value = whole_of(head)
    item = value[0] if isinstance(value, list) and value else value
    if lines_of(head) or not isinstance(item, dict) or not _OUR_FIELDS & item.keys():
        return None
    if isinstance(value, list):
        return "it is one JSON list: one object a line is expected (jq -c '.[]' FILE writes that)"
    return "its JSON goes over several lines: one object a line is expected (jq -c . FILE writes that)"
