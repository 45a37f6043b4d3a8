"""The templates: enough of each kind, apart between the splits, and sound with every value that may fill them."""

import re
from collections import Counter
from collections.abc import Iterator

import pytest

from memlake.transforms.base.errors import UsageError
from memlake.transforms.probes.template import CATEGORIES, DOMAINS, NEAR, SPLITS, Template, filled, pools, templates
from memlake.transforms.text.content_tokens import content_tokens_of

ALL = [template for split in SPLITS for domain in DOMAINS for template in templates(split, domain)]
PARTS = {"span": ("_from", "_to", "")}


def tokens(text: str) -> set[str]:
    return set(content_tokens_of([text], distinct=True)[0].as_py())


def texts_of(template: Template) -> Iterator[str]:
    yield from (template.question, template.answer, template.needs, *template.fit)
    yield from (text for pair in template.loose for text in pair)
    yield from template.near.values()


@pytest.mark.parametrize("split", SPLITS)
def test_a_split_has_thirty_templates_or_more_and_every_category_in_both_domains(split: str) -> None:
    of_split = [template for domain in DOMAINS for template in templates(split, domain)]
    assert len(of_split) >= 30
    for domain in DOMAINS:
        assert {template.category for template in of_split if template.domain == domain} == set(CATEGORIES)


def test_the_splits_share_no_name_question_or_sentence() -> None:
    for of_one in (
        lambda t: [t.name],
        lambda t: [t.question],
        lambda t: [*t.fit, *(line for two in t.loose for line in two)],
    ):
        counts = Counter(text for template in ALL for text in of_one(template))
        assert [text for text, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("template", ALL, ids=lambda template: template.name)
def test_every_slot_has_a_pool_and_every_statement_has_two_shapes(template: Template) -> None:
    used = {slot for text in texts_of(template) for slot in re.findall(r"\{(\w+)\}", text)}
    known = {slot + part for slot, pool in template.slots.items() for part in PARTS.get(pool, ("",))}
    assert used == known
    assert set(template.slots.values()) <= {*pools().subjects, *pools().values, *pools().numbers}
    assert len(template.fit) == len(template.loose) > 0
    assert {len(pair) for pair in template.loose} == {2}
    assert template.near
    assert set(template.near) <= set(NEAR)
    assert template.derived or template.needs.count("{v}") == 1


@pytest.mark.parametrize("template", ALL, ids=lambda template: template.name)
def test_no_value_of_a_pool_puts_a_token_of_the_answer_into_its_question_or_a_near_miss(template: Template) -> None:
    subjects = {slot: name for slot, pool in template.slots.items() for name in pools().subjects.get(pool, ("",))[:1]}
    for value in pools().values.get(template.slots["v"], ("4471",)):
        answer = tokens(filled(template.answer, subjects | {"v": value if isinstance(value, str) else value[-1]}))
        blank = dict.fromkeys(template.slots, "") | {"s": subjects["s"]}
        assert not answer & tokens(filled(template.question, blank)), value
        assert not any(answer <= tokens(filled(near, blank)) for near in template.near.values()), value


def test_no_value_is_a_subject_and_no_name_is_in_two_pools_of_names() -> None:
    names = [name for pool in pools().subjects.values() for name in pool]
    names += [str(name) for pool in ("speakers", "credit", "vendor", "town") for name in pools().values[pool]]
    words = Counter(word for name in names for word in tokens(name))
    assert [word for word, count in words.items() if count > 1] == []


def test_an_unknown_split_is_refused_and_told_which_there_are() -> None:
    with pytest.raises(UsageError, match="split='dev' is not one of test, train"):
        templates("dev", "work")
