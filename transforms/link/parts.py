"""Parts of links: unchanged units and vectors under unchanged settings are never linked again."""

from transforms.ids import content_id


def links_part(representation: str, relation: str) -> str:
    """The name of the part that holds a relation's links among a representation's units."""
    return f"links:{representation}:{relation}"


def links_part_hash(vectors_hash: str, settings_hash: str) -> str:
    """Content hash of a conversation's links: it follows from the part of its vectors, which follows from its units."""
    return content_id(vectors_hash, settings_hash)
