"""Sharing: what several tasks want is made once, and none of them can spoil it for the others."""

import asyncio

import pytest

from memlake.transforms.llm.single_flight import SingleFlight


def many(*makers, cancel=()):
    """What came of as many tasks that want one thing, some of which are cancelled while it is made; and who made it."""

    async def main():
        shared, made, going = SingleFlight(), [], asyncio.Event()

        async def make(number):
            made.append(number)
            await going.wait()
            for _ in range(5):  # as long as it takes the others to look
                await asyncio.sleep(0)
            return makers[number]()

        tasks = [asyncio.create_task(shared.made("x", lambda number=n: make(number))) for n in range(len(makers))]
        await asyncio.sleep(0)
        for number in cancel:
            tasks[number].cancel()
        await asyncio.sleep(0)
        going.set()
        return await asyncio.gather(*tasks, return_exceptions=True), made, shared._making

    return asyncio.run(asyncio.wait_for(main(), 10))


def value():
    return "value"


def fault():
    raise KeyError("fault")


def test_one_makes_it_and_all_have_it():
    ended, made, left = many(value, value, value)
    assert ended == [("value", True), ("value", False), ("value", False)]
    assert (made, left) == ([0], {})


@pytest.mark.parametrize("cancel", [[1], [2], [1, 3]])
def test_one_that_waits_may_be_cancelled_without_harm_to_the_others(cancel):
    ended, made, left = many(value, value, value, value, cancel=cancel)
    assert (made, left) == ([0], {})
    for number, one in enumerate(ended):
        assert isinstance(one, asyncio.CancelledError) if number in cancel else one == ("value", number == 0)


def test_where_the_one_that_makes_it_is_cancelled_or_fails_another_does():
    ended, made, left = many(value, value, value, cancel=[0])
    assert isinstance(ended[0], asyncio.CancelledError)
    assert sorted(ended[1:]) == [("value", False), ("value", True)]
    assert (len(made), left) == (2, {})
    ended, made, left = many(fault, value, fault, value)
    assert isinstance(ended[0], KeyError)
    assert sorted(map(str, ended[1:])) == ["('value', False)", "('value', False)", "('value', True)"]
    assert (made, left) == ([0, 1], {})
