"""What a text costs in a context: tokenisers by name, so that a budget always says what it counts."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from transforms.errors import NotFoundError

Costs = npt.NDArray[np.int64]


def chars4(texts: pa.ChunkedArray) -> Costs:
    """floor(code points / 4) + 1 for each text: model-free, and close to what common tokenisers count in English."""
    lengths = pc.utf8_length(texts).to_numpy().astype(np.int64)
    return lengths // 4 + 1


TOKENISERS: dict[str, Callable[[pa.ChunkedArray], Costs]] = {"chars4": chars4}


def costs(tokeniser: str, texts: pa.ChunkedArray) -> Costs:
    """Cost of each text under the named tokeniser, shape (n,), at least 1 each.

    Raises:
        NotFoundError: no tokeniser has this name.
    """
    return find_tokeniser(tokeniser)(texts)


def find_tokeniser(tokeniser: str) -> Callable[[pa.ChunkedArray], Costs]:
    """The tokeniser of this name.

    Raises:
        NotFoundError: no tokeniser has this name.
    """
    if tokeniser not in TOKENISERS:
        raise NotFoundError(
            f"tokeniser={tokeniser!r} does not exist: allowed are {', '.join(sorted(TOKENISERS))}",
            hint="name one of these in the study",
        )
    return TOKENISERS[tokeniser]
