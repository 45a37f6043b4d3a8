from memlake.transforms.read.common.arrange import evidence_of, gold_of


def test_each_id_is_paired_with_the_turn_of_its_name_and_a_status():
    assert gold_of([1, "2", 1, 9, None, True, {}], {"1", "2"}) == [
        ("1", "1", "valid"),
        ("2", "2", "valid"),
        ("1", "1", "duplicate"),
        ("9", None, "dangling"),
        ("null", None, "malformed"),
        ("true", None, "malformed"),
        ("{}", None, "malformed"),
    ]


def test_ids_in_a_list_of_their_own_are_taken_out_of_it():
    assert gold_of([[1, 2], []], {"1", "2"}) == [
        ("[1, 2]", "1", "normalised"),
        ("[1, 2]", "2", "normalised"),
        ("[]", None, "malformed"),
    ]


def test_one_id_needs_no_list_and_none_is_no_evidence():
    assert gold_of("1", {"1"}) == [("1", "1", "valid")]
    assert gold_of(None, {"1"}) == gold_of([], {"1"}) == []


def test_a_format_that_reads_ids_its_own_way_gets_the_same_statuses():
    named = [("D1; D02", "D1", "normalised"), ("D1; D02", "D2", "normalised"), ("D1", "D1", "valid"), ("?", None, "")]
    assert evidence_of([*named, ("D9", "D9", "valid")], {"D1", "D2"}) == [
        ("D1; D02", "D1", "normalised"),
        ("D1; D02", "D2", "normalised"),
        ("D1", "D1", "duplicate"),
        ("?", None, "malformed"),
        ("D9", None, "dangling"),
    ]
