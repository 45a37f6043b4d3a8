"""Embedders by name."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pytest

from memlake.transforms.base.errors import NotFoundError
from memlake.transforms.embed import catalogue
from memlake.transforms.embed.embedder import EmbedderCard


class Plain:
    card = EmbedderCard("plain", "plain", "1", 2, normalised=False)

    def embed(self, texts: list[str]) -> npt.NDArray[np.float32]:
        return np.ones((len(texts), 2), np.float32)


def test_an_embedder_is_loaded_once_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    loads: list[Plain] = []

    def load_plain(_: object) -> Plain:
        loads.append(Plain())
        return loads[-1]

    monkeypatch.setitem(catalogue.EMBEDDERS, "plain", load_plain)
    monkeypatch.setattr(catalogue, "_loaded", {})
    with ThreadPoolExecutor(8) as pool:
        loaded = list(pool.map(catalogue.load, ["plain"] * 32))
    assert len(loads) == 1
    assert all(encoder is loads[0] for encoder in loaded)


def test_an_unknown_embedder_is_not_found_and_the_nearest_named() -> None:
    with pytest.raises(NotFoundError, match="'statik'") as missing:
        catalogue.load("statik")
    assert "static" in missing.value.hint
