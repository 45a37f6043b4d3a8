"""What tests of plan steps may ask for: a small conversation with units of every sort."""

from small_memories import asked, gold, memory_of, ranks, searched

__all__ = ["asked", "gold", "memory_of", "ranks", "searched"]
