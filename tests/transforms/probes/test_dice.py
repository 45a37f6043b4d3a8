"""Choices: the same everywhere, each on its own."""

from memlake.transforms.probes.dice import Dice


def test_numbers_are_these_on_every_machine() -> None:
    dice = Dice("probes", 7, "test")
    assert [dice.below(1000, "a", place) for place in range(6)] == [329, 628, 280, 424, 814, 843]
    assert dice.shuffled("abcdefgh", "letters") == list("ebhdcgaf")


def test_a_choice_does_not_depend_on_the_choices_before() -> None:
    first, second = Dice(1), Dice(1)
    first.shuffled(range(100), "much")
    assert first.number("x") == second.number("x")
    assert Dice(1).number("x") != Dice(2).number("x") != Dice(2).number("y")


def test_numbers_are_spread_evenly_and_every_option_comes_up() -> None:
    dice = Dice("even")
    numbers = [dice.number(place) for place in range(4000)]
    assert all(0 <= number < 1 for number in numbers)
    tenths = [sum(int(number * 10) == tenth for number in numbers) for tenth in range(10)]
    assert 320 < min(tenths) <= max(tenths) < 480
    assert {dice.pick("abc", place) for place in range(60)} == set("abc")
    assert sorted(dice.shuffled(range(30), "order")) == list(range(30))
