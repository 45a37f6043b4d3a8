"""What tests of whole corpora may ask for."""

from small_memories import memory_of

__all__ = ["memory_of"]
