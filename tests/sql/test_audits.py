"""Each audit passes what the product makes, and finds each way in which it can be spoilt."""

import re

import pyarrow as pa
import pytest
from small_tables import connection_of

from memlake.schemas import PARTS
from memlake.transforms.base.sql import sql_files

VECTORS = ("vector_table", "representation", "corpus", "conversation_id", "unit_id")
BOTH = [{"corpus": "c", "conversation_id": name} for name in ("v", "w")]


def offending(tables, audited=BOTH):
    """Subjects and problems by audit; audits without an offending row are left out."""
    named = pa.Table.from_pylist(audited, schema=pa.schema({"corpus": pa.string(), "conversation_id": pa.string()}))
    vectors = pa.table({name: pa.array([], pa.string()) for name in VECTORS})
    found = {}
    with connection_of(**{"vectors": vectors, **tables, "audited": named}) as connection:
        for file in sql_files("audits"):
            rows = connection.sql(file.text).to_arrow_table()
            assert rows.column_names == ["corpus", "conversation_id", "subject", "problem"], file.name
            if rows.num_rows:
                found[file.name] = [(row["subject"], row["problem"]) for row in rows.to_pylist()]
    return found


def spoil(column, change, **where):
    """Change one column of the rows that match; with a column of None, drop them."""

    def change_row(row):
        if any(row[name] != value for name, value in where.items()):
            return row
        return None if column is None else row | {column: change(row[column])}

    return change_row


def test_what_the_product_makes_passes(clean):
    assert offending(clean) == {}


def test_an_empty_lake_passes():
    assert offending({}) == {}


def test_conversations_that_are_not_audited_are_not_looked_at(changed):
    tables = changed("turns", spoil("text", lambda text: text + "!", conversation_id="w", ordinal=2))
    assert offending(tables, BOTH[:1]) == {}
    assert set(offending(tables)) == {"rebuild", "slices", "turn_spans"}


CHUNK = {"representation": "chunks-small", "conversation_id": "v", "ordinal": 1}


@pytest.mark.parametrize(
    "change",
    [
        spoil("show_text", lambda text: text[:-1] + "?", **CHUNK),
        # Within what it shares with the chunk before: the tails alone would not show it.
        spoil("show_text", lambda text: text[:16] + "~" + text[17:], **CHUNK),
        spoil("show_text", lambda text: text + "more", **CHUNK),
        spoil("span_start", lambda start: start + 1, **CHUNK),
        spoil("span_end", lambda end: end - 1, **CHUNK),
        spoil("header_chars", lambda chars: chars + 1, **CHUNK),
        spoil(None, None, **CHUNK),
        spoil(None, None, representation="chunks-small", conversation_id="v"),
    ],
)
def test_a_chunk_that_is_not_its_slice_fails_the_rebuild(changed, change):
    assert [subject for subject, _ in offending(changed("units", change))["rebuild"]] == ["chunks-small"]


def test_a_unit_that_is_not_its_slice_is_named(changed, clean):
    for representation in ("turns", "sentences", "sessions"):
        where = {"representation": representation, "conversation_id": "v", "ordinal": 0}
        (unit,) = [row for row in clean["units"].to_pylist() if where.items() <= row.items()]
        found = offending(changed("units", spoil("show_text", lambda text: text[:-1] + "?", **where)))
        assert {subject for subject, _ in found["slices"]} == {f"{representation} {unit['unit_id']}"}
        assert set(found) == {"slices"}


def test_a_transcript_whose_turns_changed_no_longer_matches_its_units(changed):
    found = offending(changed("turns", spoil("text", lambda text: text.replace("Hello", "Jello"), conversation_id="v")))
    assert set(found) == {"extractions", "rebuild", "slices"}


@pytest.mark.parametrize(
    ("column", "change"),
    [
        ("char_start", lambda at: at + 1),
        ("char_end", lambda at: at + 1),
        ("text", lambda text: text + "x"),
        ("ordinal", lambda n: n + 50),
    ],
)
def test_turns_whose_spans_do_not_tile_are_named(changed, column, change):
    found = offending(changed("turns", spoil(column, change, conversation_id="v", ordinal=4)))
    assert all(subject.startswith("turn ") for subject, _ in found["turn_spans"])


@pytest.mark.parametrize("table", ["turns", "units", "provenance", "extractions", "questions", "evidence", "parts"])
def test_a_row_that_stands_twice_is_found(clean, table):
    twice = clean | {table: pa.concat_tables([clean[table], clean[table].slice(0, 1)])}
    assert (table, "a key stands 2 times") in offending(twice)["keys"]


def test_a_key_that_is_null_is_found(clean):
    rows = clean["questions"].to_pylist()
    rows[0]["label_set"] = None
    schema = pa.schema([field.with_nullable(True) for field in clean["questions"].schema])
    found = offending(clean | {"questions": pa.Table.from_pylist(rows, schema=schema)})
    assert ("questions", "a key is null") in found["keys"]


def test_provenance_without_its_unit_or_turn_is_found(changed, clean):
    unit = clean["units"].filter(pa.compute.field("representation") == "turns")["unit_id"][0].as_py()
    lost_unit = offending(changed("units", spoil(None, None, unit_id=unit)))
    assert lost_unit["provenance"] == [(f"turns {unit}", "its unit is missing")]
    renamed = offending(changed("turns", spoil("turn_id", lambda _: "other", conversation_id="v", ordinal=0)))
    assert {problem for _, problem in renamed["provenance"]} == {"its turn is missing"}


@pytest.mark.parametrize(
    ("column", "change", "problem"),
    [
        ("char_end", lambda at: at + 1000, "it lies outside its turn"),
        ("char_start", lambda at: at + 1, "its pieces do not cover its span"),
        (None, None, "its pieces do not cover its span"),
    ],
)
def test_pieces_that_do_not_cover_their_unit_are_found(changed, clean, column, change, problem):
    unit = clean["units"].filter(pa.compute.field("representation") == "chunks-small")["unit_id"][0].as_py()
    found = offending(changed("provenance", spoil(column, change, unit_id=unit, piece=0)))
    assert found["provenance"] == [(f"chunks-small {unit}", problem)]


def test_evidence_without_its_turn_or_question_is_found(changed):
    lost = offending(changed("turns", spoil("turn_id", lambda _: "other", conversation_id="v", ordinal=0)))
    assert lost["evidence"] == [("v:q0 official 0", "its turn is missing")]
    unasked = offending(changed("questions", spoil(None, None, question_id="w:q0")))
    assert [problem for _, problem in unasked["evidence"]] == ["its question is missing"] * 2


# What only one clause of an audit finds: everything else about these rows is as it should be.


def last_of(rows, **where):
    """The row of the highest ordinal that matches."""
    return max((row for row in rows.to_pylist() if where.items() <= row.items()), key=lambda row: row["ordinal"])


def with_last_chunk(clean, change):
    """The clean tables with the last chunk of 'v' passed through a function that may give several rows."""
    last = last_of(clean["units"], representation="chunks-small", conversation_id="v")
    rows = [new for row in clean["units"].to_pylist() for new in (change(row) if row == last else [row])]
    return clean | {"units": pa.Table.from_pylist(rows, schema=clean["units"].schema)}


def test_a_last_chunk_whose_span_is_longer_than_its_text_fails_the_rebuild(clean):
    found = offending(with_last_chunk(clean, lambda row: [row | {"span_end": row["span_end"] + 3}]))
    assert found["rebuild"] == [("chunks-small", "1 chunks are not the slices that their spans say")]


def test_a_chunk_within_the_one_before_fails_the_rebuild(clean):
    def twice(row):
        kept = row["header_chars"]
        shorter = row["show_text"][:kept] + row["show_text"][kept + 2 :]
        inner = {
            "unit_id": "x",
            "ordinal": row["ordinal"] + 1,
            "show_text": shorter,
            "span_start": row["span_start"] + 2,
        }
        return [row, row | inner]

    found = offending(with_last_chunk(clean, twice))
    assert found["rebuild"] == [("chunks-small", "1 chunks are not the slices that their spans say")]


def test_a_gap_between_the_spans_of_chunks_without_a_header_fails_the_rebuild(clean):
    last = last_of(clean["units"], representation="chunks-o0", conversation_id="v")

    def change(row):
        if (row["representation"], row["conversation_id"]) != ("chunks-o0", "v"):
            return row
        by = 1 if row == last else 0
        text = row["show_text"][row["header_chars"] :]
        return row | {
            "show_text": text,
            "header_chars": 0,
            "span_start": row["span_start"] + by,
            "span_end": row["span_end"] + by,
        }

    rows = pa.Table.from_pylist([change(row) for row in clean["units"].to_pylist()], schema=clean["units"].schema)
    found = offending(clean | {"units": rows})
    assert found["rebuild"] == [("chunks-o0", "1 chunks are not the slices that their spans say")]


def test_a_unit_longer_than_its_span_is_named(clean):
    last = last_of(clean["units"], representation="sessions", conversation_id="v")
    found = offending(
        clean
        | {
            "units": pa.Table.from_pylist(
                [
                    row | {"show_text": row["show_text"] + "!"} if row == last else row
                    for row in clean["units"].to_pylist()
                ],
                schema=clean["units"].schema,
            )
        }
    )
    assert {subject for subject, _ in found["slices"]} == {f"sessions {last['unit_id']}"}


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (("char_start", "char_end"), "it starts at"),
        (("ordinal",), "its place is 8"),
        (("char_end",), "characters, its span is"),
    ],
)
def test_a_last_turn_out_of_its_place_is_named(clean, names, problem):
    last = last_of(clean["turns"], conversation_id="v")
    rows = [row | {name: row[name] + 1 for name in names} if row == last else row for row in clean["turns"].to_pylist()]
    found = offending(clean | {"turns": pa.Table.from_pylist(rows, schema=clean["turns"].schema)})
    [(subject, said)] = found["turn_spans"]
    assert subject == f"turn {last['ordinal'] + ('ordinal' in names)}"
    assert problem in said


def vectors_of(clean, change):
    """A row a unit of 'turns' in a table of vectors, and the parts that promise them; `change` spoils the rows."""
    units = [row for row in clean["units"].to_pylist() if row["representation"] == "turns"]
    rows = change([{"vector_table": "turns__m", **{name: row[name] for name in VECTORS[1:]}} for row in units])
    count = sum(row["conversation_id"] == "v" for row in units)
    parts = [
        {"corpus": "c", "conversation_id": name, "part": "vectors:turns__m", "content_hash": "", "rows": count}
        for name in ("v", "w")
    ]
    return clean | {
        "vectors": pa.Table.from_pylist(rows, schema=pa.schema({name: pa.string() for name in VECTORS})),
        "parts": pa.concat_tables([clean["parts"], PARTS.rows(parts)]),
    }


@pytest.mark.parametrize(
    ("change", "problems"),
    [
        (lambda rows: rows, set()),
        (lambda rows: rows[1:], {"8 vectors where 9 were staged"}),
        (lambda rows: [row for row in rows if row["conversation_id"] == "w"], {"0 vectors where 9 were staged"}),
        (lambda rows: [rows[1], *rows[1:]], {"a unit has 2 vectors"}),
        (lambda rows: [*rows, rows[0]], {"a unit has 2 vectors", "10 vectors where 9 were staged"}),
        (lambda rows: [rows[0] | {"unit_id": "nobody's"}, *rows[1:]], {"a vector has no unit"}),
        (lambda rows: [rows[0] | {"representation": "sessions"}, *rows[1:]], {"a vector has no unit"}),
    ],
)
def test_vectors_that_are_not_one_a_unit_are_found(clean, change, problems):
    found = offending(vectors_of(clean, change)).get("vectors", [])
    assert {problem for _, problem in found} == problems
    assert {subject for subject, _ in found} <= {"turns__m"}


def asked(change, **where):
    """Rows of the first session of 'v', as asked of the model, with some columns changed; None drops them."""
    return lambda row: (
        (None if change is None else row | change)
        if (row["conversation_id"], row["representation"]) == ("v", "artifacts") and where.items() <= row.items()
        else row
    )


def test_the_model_was_quoted_in_every_way(clean):
    made = clean["provenance"].filter(pa.compute.field("representation") == "artifacts")
    assert {"exact", "normalised", "none"} <= set(made["grounding"].to_pylist())
    assert max(made["piece"].to_pylist()) >= 1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (asked(None, piece=1), "turn 3 lies in no piece"),
        (asked(None), "turn 0 lies in no piece"),
        (asked({"representation": "another"}, piece=1), "turn 3 lies in no piece"),
        (asked({"first_ordinal": 1}, piece=0), "turn 0 lies in no piece"),
        (asked({"last_ordinal": 9}, piece=2), "a piece holds turn 9, which there is not"),
        (asked({"units": 0}, piece=2), "pieces tell of"),
        (asked({"outcome": "failed"}, piece=0), "a piece failed without a reason"),
    ],
)
def test_pieces_that_do_not_account_for_every_turn_and_unit_are_found(changed, change, problem):
    found = offending(changed("extractions", change))
    assert set(found) == {"extractions"}
    assert any(subject == "artifacts" and said.startswith(problem) for subject, said in found["extractions"])


def test_a_unit_of_a_model_that_got_lost_is_found(changed):
    found = offending(changed("units", asked(None, ordinal=3)))
    assert [subject for subject, _ in found["extractions"]] == ["artifacts"]


def test_units_without_any_piece_and_pieces_without_any_unit_are_found(changed):
    for table, problem in (
        ("units", r"pieces tell of [1-9]\d* units, stored are 0"),
        ("extractions", "pieces tell of 0 units, "),
    ):
        found = offending(changed(table, asked(None)))["extractions"]
        assert any(subject == "artifacts" and re.match(problem, said) for subject, said in found)


def test_a_quote_that_its_turn_does_not_say_is_found(changed, clean):
    said = {"conversation_id": "v", "representation": "artifacts", "ordinal": 0}
    (unit,) = [row for row in clean["units"].to_pylist() if said.items() <= row.items()]
    moved = spoil("char_end", lambda at: at - 2, unit_id=unit["unit_id"])
    assert offending(changed("provenance", moved)) == {}  # a shorter stretch of the quote is still the quote's
    moved = spoil("char_start", lambda at: at - 2, unit_id=unit["unit_id"])
    assert offending(changed("provenance", moved)) == {
        "extractions": [(f"artifacts {unit['unit_id']}", "its quote is not what its turn says")]
    }


@pytest.mark.parametrize(
    ("grounding", "change"),
    [
        ("exact", {"char_start": None, "char_end": None}),
        ("exact", {"char_end": None}),
        ("normalised", {"char_start": None, "char_end": None}),
        ("normalised", {"grounding": "none"}),
        ("none", {"char_start": 6, "char_end": 7}),
        ("none", {"grounding": "exact"}),
        ("exact", {"grounding": "perfect"}),
    ],
)
def test_a_grounding_that_does_not_fit_its_place_is_found(changed, grounding, change):
    found = offending(changed("provenance", asked(change, grounding=grounding, ordinal=0)))
    assert found["provenance"]
    assert {problem for _, problem in found["provenance"]} == {"its grounding does not fit its place"}
