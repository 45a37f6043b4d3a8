"""Parts of a conversation: what each is called, and the hash by which what did not change is not made again."""

from collections.abc import Sequence

from memlake.transforms.base.ids import content_id


def units_part(representation: str) -> str:
    """The name of the part that holds a representation's units."""
    return f"units:{representation}"


def links_part(representation: str, relation: str) -> str:
    """The name of the part that holds a relation's links among a representation's units."""
    return f"links:{representation}:{relation}"


def derived_part_hash(turns_hash: str, settings_hash: str) -> str:
    """Content hash of units that follow from a conversation's turns alone: no need to make them to know it."""
    return content_id(turns_hash, settings_hash)


def unfinished_part_hash(units_hash: str, requests: Sequence[str]) -> str:
    """Content hash of units that lack the replies to some requests: never what the next run looks for."""
    return content_id(units_hash, "unfinished", *sorted(requests))


def vectors_part_hash(units_hash: str, made_by: str) -> str:
    """Content hash of a conversation's vectors: it follows from its units and the model."""
    return content_id(units_hash, made_by)


def links_part_hash(vectors_hash: str, settings_hash: str) -> str:
    """Content hash of a conversation's links: it follows from the part of its vectors, which follows from its units."""
    return content_id(vectors_hash, settings_hash)
