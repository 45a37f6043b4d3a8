"""Parts of vectors: what makes them new."""

from dataclasses import fields, replace

from memlake.transforms.embed.embedder import EmbedderCard, fingerprint
from memlake.transforms.lake.storage.parts import derived_part_hash

CARD = EmbedderCard("stub", "stub-model", "7", 3, normalised=False)
OTHER = EmbedderCard("stub", "other-model", "8", 4, normalised=True, sparse=True, multi=5)


def test_vectors_are_new_when_the_units_or_anything_of_the_model_is_new():
    cards = [CARD, *(replace(CARD, **{field.name: getattr(OTHER, field.name)}) for field in fields(CARD)[1:])]
    hashes = [derived_part_hash(units, fingerprint(card)) for card in cards for units in ("one", "two")]
    assert len(set(hashes)) == len(hashes)
    assert derived_part_hash("one", fingerprint(replace(CARD))) == hashes[0]
