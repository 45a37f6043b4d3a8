"""The conversations of a shard of sources, one file or range after another, and how far the reading is."""

from collections.abc import Callable, Iterator

from memlake.transforms.base.conversation import Conversation, DeadLetter, ReadOptions
from memlake.transforms.base.shard import Shard
from memlake.transforms.base.sources import source_bytes
from memlake.transforms.read.catalogue import read_source

OnRead = Callable[[int], None]


def ignore(position: int) -> None:
    """Tell nobody."""


def read_sources(shard: Shard, options: ReadOptions, on_read: OnRead = ignore) -> Iterator[Conversation | DeadLetter]:
    """Yield what stands in a shard's sources.

    Args:
        on_read: called with the bytes of the shard that were read, growing up to the shard's size: by the blocks of
            formats of lines, by whole files of others.
    """
    before = reported = 0
    for source in shard.sources:
        for item in read_source(source, shard.format, options):
            if isinstance(item, Conversation):
                position = before + max(item.position - source.start, 0)
                if position > reported:
                    reported = position
                    on_read(position)
            yield item
        before = reported = max(reported, before + (source_bytes(source) or 0))
        on_read(reported)
