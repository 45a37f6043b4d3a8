"""Parts of vectors: unchanged units under an unchanged model are never embedded again."""

from transforms.embed.embedder import EmbedderCard
from transforms.ids import content_id


def fingerprint(card: EmbedderCard) -> str:
    """What makes vectors comparable: model, revision, dimension, normalisation, and what else stands beside them."""
    beside = [name for name, there in (("sparse", card.sparse), (f"multi={card.multi}", card.multi)) if there]
    return content_id(card.model, card.revision, card.dimension, str(card.normalised), *beside)


def vectors_part_hash(units_hash: str, made_by: str) -> str:
    """Content hash of a conversation's vectors: it follows from its units and the model."""
    return content_id(units_hash, made_by)
