"""Prices: dated data, overridden by the user's, and unknown where nobody said."""

from datetime import date

import pytest

from memlake.transforms.base.errors import UsageError
from memlake.transforms.llm.caller import CallRecorder
from memlake.transforms.llm.records.calls import CallLog
from memlake.transforms.llm.records.prices import check_priced, find_price, load_prices, price_of

ENTRY = '[[price]]\nmodel = "m"\nprovider = "p"\ninput = 1\noutput = 2.5\nas_of = 2026-01-31\n'


def write(tmp_path, text):
    path = tmp_path / "prices.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_price_of_ours_is_dated_and_says_where_it_is_from():
    prices = load_prices()
    assert len(prices) > 15
    assert len({price.model for price in prices}) == len(prices)
    for price in prices:
        assert date(2022, 1, 1) < price.as_of <= date(2026, 11, 30)
        assert price.source
        assert 0 < price.cached_input <= price.input


def test_a_call_costs_what_its_tokens_cost():
    # Hand-computed: (1,000,000 - 400,000) x 0.15 + 400,000 x 0.075 + 100,000 x 0.60, a million.
    assert price_of(load_prices(), "gpt-4o-mini", 1_000_000, 100_000, 400_000) == pytest.approx(0.09 + 0.03 + 0.06)
    assert price_of(load_prices(), "text-embedding-3-small", 500_000) == pytest.approx(0.01)
    assert price_of(load_prices(), "gpt-4o-mini", 100, 0, 500) == pytest.approx(100 * 0.075e-6)  # a server's miscount


def test_the_books_price_what_the_provider_had_cached_and_nothing_that_was_not_counted(tmp_path):
    recorder = CallRecorder(CallLog(tmp_path, "run"), "p", "", load_prices())
    assert recorder.price("gpt-4o-mini", 1000, 10, 400) == price_of(load_prices(), "gpt-4o-mini", 1000, 10, 400)
    assert recorder.price("gpt-4o-mini", 1000, None, None) == price_of(load_prices(), "gpt-4o-mini", 1000)
    assert recorder.price("gpt-4o-mini", None, 10, 0) is recorder.price("unknown", 1, 1, 0) is None


@pytest.mark.parametrize(
    ("model", "found"),
    [
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("gpt-4o-2024-11-20", "gpt-4o"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),  # was dearer than those after it
        ("gpt-3.5-turbo-0125", "gpt-3.5-turbo"),
        ("gpt-4.1-nano-2025-04-14", "gpt-4.1-nano"),
        ("gpt-4.1", "gpt-4.1"),
        ("gpt-4o-audio-preview", None),  # another model at another price
        ("gpt-4o-mini-realtime-preview-2024-12-17", None),
        ("gpt-4o-2024-11-20-audio", None),
        ("gpt-4o-min", None),
        ("gpt-4o-mini-", None),
        ("-2024-07-18", None),
        ("", None),
        ("SmolLM2-135M-Instruct", None),
    ],
)
def test_a_dated_name_is_its_familys_and_a_longer_name_is_not(model, found):
    price = find_price(load_prices(), model)
    assert (price.model if price else None) == found
    assert (price_of(load_prices(), model, 10) is None) == (found is None)


def test_a_users_price_takes_the_place_of_ours_and_adds_others(tmp_path):
    path = write(tmp_path, ENTRY + ENTRY.replace('"m"', '"gpt-4o"').replace("= 1\n", "= 7\n"))
    prices = load_prices(path)
    assert price_of(prices, "m", 1_000_000, 1_000_000) == 3.5
    assert (
        price_of(prices, "gpt-4o", 1_000_000, 0, 1_000_000) == 7.0
    )  # nothing of ours is left, the cached price neither
    assert price_of(prices, "gpt-4o-mini", 1_000_000) == 0.15
    assert len(prices) == len(load_prices()) + 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("price = ", "no TOML"),
        ("\ufeff[[price]]", "no TOML"),
        ("[price]\nmodel = 'm'", "more than"),
        ("prices = []", "more than"),
        ("price = [1]", "model=None"),
        (ENTRY.replace("input = 1", "input = -1"), "input=-1"),
        (ENTRY.replace("input = 1", "input = nan"), "input=nan"),
        (ENTRY.replace("input = 1", "input = true"), "input=True"),
        (ENTRY.replace("input = 1", 'input = "1"'), "input='1'"),
        (ENTRY.replace("output = 2.5", "output = inf"), "output=inf"),
        (ENTRY.replace("2026-01-31", "2026-01-31T10:00:00"), "as_of="),
        (ENTRY.replace("as_of = 2026-01-31\n", ""), "as_of=None"),
        (ENTRY.replace('"m"', '""'), "model=''"),
        (ENTRY + "outptu = 1\n", "outptu"),
    ],
)
def test_a_file_that_is_none_is_refused_with_what_is_wrong(tmp_path, text, said):
    with pytest.raises(UsageError, match=r"prices\.toml") as caught:
        load_prices(write(tmp_path, text))
    assert said in caught.value.message
    assert caught.value.hint


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot be read: No such file"):
        load_prices(tmp_path / "none.toml")
    with pytest.raises(UsageError, match="cannot be read"):
        load_prices(tmp_path)


def test_a_limit_on_cost_needs_a_price_and_says_how_to_give_one():
    check_priced(load_prices(), "gpt-4o-mini-2024-07-18")
    with pytest.raises(UsageError, match="model='llama-3' is not known") as caught:
        check_priced(load_prices(), "llama-3")
    assert "--prices FILE" in caught.value.hint
