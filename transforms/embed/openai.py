"""openai:MODEL: an embedding model behind the edge, under its limits, its cache and its journal of calls."""

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from memlake.schemas.vectors import embedder_name
from memlake.transforms.base.errors import EmbedderMismatchError, UsageError
from memlake.transforms.embed.embedder import EmbedderCard, Encoded, Encoder, Failure, Spec
from memlake.transforms.llm.protocol.model import UNFINISHED, Embedded, ModelStoppedError

if TYPE_CHECKING:
    from memlake.transforms.llm.edge import Edge, EdgeSettings

# Raised when this module's output changes for the same replies.
_REVISION = 1
# Embedded once, ever, to learn the dimension: no list of models would know those of one's own server.
_PROBE = "dimension"
_dimensions: dict[tuple[str, str, str], int] = {}
_learning = Lock()


class OpenAIEmbedder(Encoder):
    """Vectors as the server gives them; a text without one has its reason. `close` gives the edge back."""

    def __init__(self, model: str, card: EmbedderCard, edge: "Edge") -> None:
        self.card = card
        self._model, self._edge = model, edge

    def encode(self, texts: Sequence[str], *, questions: bool = False) -> Encoded:
        """Vectors, zeros where a text has none, and why it has none.

        Raises:
            ModelStoppedError: the whole run is to stop.
            EmbedderMismatchError: the server's vectors changed their dimension.
        """
        about = f"{len(texts)} texts of {'questions' if questions else 'units'}"
        dense = np.zeros((len(texts), self.card.dimension), np.float32)
        failed: dict[int, Failure] = {}
        replies = _asked(self._edge, self._model, texts, about) if texts else []
        for place, reply in enumerate(replies):
            if reply.outcome != "ok":
                failed[place] = Failure(reply.outcome, reply.detail, reply.outcome in UNFINISHED)
                continue
            vector = np.frombuffer(reply.vector, "<f4")
            if len(vector) != self.card.dimension:
                raise EmbedderMismatchError(
                    f"model={self._model!r} gave a vector of dimension={len(vector)}, and one of "
                    f"dimension={self.card.dimension} before",
                    hint="name the model under which the server keeps one version",
                )
            dense[place] = vector
        return Encoded(dense, failed=failed)

    def close(self) -> None:
        """Give the edge back; the embedder is not to be used after."""
        self._edge.close()


def load_openai(spec: Spec, settings: "EdgeSettings | None") -> OpenAIEmbedder:
    """Open the edge and learn the model's dimension, by one text that is paid once.

    Raises:
        UsageError: the run has no edge, or no model is named.
        ModelStoppedError: the server did not embed the text.
    """
    model = spec.checkpoint
    if not model:
        raise UsageError("embedder='openai:' names no model", hint="for example openai:text-embedding-3-small")
    if settings is None:
        raise UsageError(
            f"embedder={spec.text!r} needs a server", hint="set base_url, and OPENAI_API_KEY where it asks"
        )
    from memlake.transforms.llm.edge import open_edge

    edge = open_edge(settings)
    try:
        dimension = _dimension(edge, settings, model)
    except BaseException:
        edge.close()
        raise
    card = EmbedderCard(
        embedder_name(spec.text), f"{settings.provider}/{model}", str(_REVISION), dimension, normalised=False
    )
    return OpenAIEmbedder(model, card, edge)


def _dimension(edge: "Edge", settings: "EdgeSettings", model: str) -> int:
    key = (settings.base_url, settings.provider, model)
    with _learning:
        if key not in _dimensions:
            (reply,) = _asked(edge, model, [_PROBE], f"the dimension of {model}")
            if reply.outcome != "ok" or not reply.vector:
                offline = reply.outcome == "missing"
                raise ModelStoppedError(
                    f"model={model!r} did not embed the text {_PROBE!r}: {reply.outcome}: {reply.detail}",
                    code="model_offline" if offline else "model_unreachable",
                    hint="run it once without --offline" if offline else "memlake doctor",
                )
            _dimensions[key] = len(reply.vector) // 4
        return _dimensions[key]


def _asked(edge: "Edge", model: str, texts: Sequence[str], about: str) -> list[Embedded]:
    return edge.submit(edge.embed(model, texts, about=about)).result()
