"""Names of embedders: what they mean, and how their tables are called."""

import pytest

from memlake.schemas.vectors import embedder_name, vectors_table
from memlake.transforms.base.errors import NotFoundError, UsageError
from memlake.transforms.base.ids import check_name
from memlake.transforms.embed.catalogue import check_embedder
from memlake.transforms.embed.embedder import Options, parse_spec

COMMIT = "5617a9f61b028005a4858fdac845db406aefb181"


@pytest.mark.parametrize(
    ("text", "kind", "checkpoint", "revision", "options"),
    [
        ("static", "static", "", "", Options()),
        ("bge-m3", "bge-m3", "", "", Options()),
        ("bge-m3,dtype=bf16,max_length=512", "bge-m3", "", "", Options(max_length=512, dtype="bf16")),
        ("bge-m3@./models/m3", "bge-m3", "./models/m3", "", Options()),
        (f"flag@BAAI/bge-small-en-v1.5#{COMMIT}", "flag", "BAAI/bge-small-en-v1.5", COMMIT, Options()),
        ("sentence@/a b/c#d,tokens=100", "sentence", "/a b/c#d", "", Options(tokens=100)),
        ("sentence@~/x,y/z", "sentence", "~/x,y/z", "", Options()),
        ("sentence@./a@b", "sentence", "./a@b", "", Options()),
        ("flag@../x,pooling=mean,device=cuda1", "flag", "../x", "", Options(pooling="mean", device="cuda1")),
        ("openai:BAAI/bge-m3", "openai", "BAAI/bge-m3", "", Options()),
        ("openai:nomic:latest,dtype=x", "openai", "nomic:latest,dtype=x", "", Options()),
    ],
)
def test_a_name_is_read_the_same_whatever_lies_on_the_disk(text, kind, checkpoint, revision, options):
    spec = check_embedder(text)
    assert (spec.kind, spec.checkpoint, spec.revision, spec.options) == (kind, checkpoint, revision, options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bge-m3@models/a/m3", "neither a path"),
        ("bge-m3@", "neither a path"),
        ("flag@BAAI/x#", "neither a path"),
        ("flag@{0.__class__}", "neither a path"),
        ("bge-m3,dtype=int8", "dtype='int8' is not allowed"),
        ("bge-m3,max_length=7", "max_length='7' is not allowed"),
        ("bge-m3,size=4", "no option 'size': max_length"),
        ("bge-m3,dtype=bf16,dtype=fp32", "'dtype' comes twice"),
        ("static,dtype=fp32", "static has one checkpoint and no options"),
        ("static@./x", "static has one checkpoint and no options"),
    ],
)
def test_what_cannot_be_is_refused_and_says_why(text, message):
    with pytest.raises(UsageError, match=message):
        check_embedder(text)


def test_an_unknown_name_shows_the_nearest():
    with pytest.raises(NotFoundError, match="no embedder is named 'bge-m4'") as missing:
        check_embedder("bge-m4")
    assert "did you mean bge-m3" in missing.value.hint


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("static", "static"),
        ("bge-m3@./models/m3,dtype=bf16", "bge-m3"),
        ("bge-m3-multi", "bge-m3-multi"),
        (f"flag@BAAI/bge-small-en-v1.5#{COMMIT}", "flag-bge-small-en-v1.5"),
        ("sentence@./minilm/", "sentence-minilm"),
        ("sentence@/a/my__model v2", "sentence-my_model-v2"),
        ("sentence@./x#y", "sentence-x-y"),
        ("openai:text-embedding-3-small", "openai-text-embedding-3-small"),
        ("openai:BAAI/bge-m3", "openai-BAAI-bge-m3"),
    ],
)
def test_a_name_in_tables_is_short_and_safe(text, name):
    assert embedder_name(text) == name
    assert vectors_table("chunks", text) == f"chunks__{name}"


@pytest.mark.parametrize(
    "text",
    ["sentence@./模型", "sentence@./../..", "openai:'; drop table x --", "flag@./" + "a" * 300, "sentence@./a/___"],
)
def test_any_name_comes_to_one_that_may_stand_in_a_path(text):
    check_name("embedder", embedder_name(text))
    assert embedder_name(embedder_name(text)) == embedder_name(text)


def test_two_folders_whose_names_have_no_safe_sign_differ():
    assert embedder_name("sentence@./模型") != embedder_name("sentence@./模子")


def test_options_that_only_move_rounding_are_no_part_of_what_made_a_vector():
    plain = parse_spec("bge-m3", ["bge-m3"]).options.decisive
    assert parse_spec("bge-m3,dtype=bf16,tokens=64,device=cpu", ["bge-m3"]).options.decisive == plain == ""
    assert parse_spec("bge-m3,max_length=64", ["bge-m3"]).options.decisive == ",max_length=64"
