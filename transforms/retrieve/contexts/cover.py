"""Coverage: the units of ranked lists as ranges of atoms, so that what a worse unit repeats of a better one is not shown.

An atom is a stretch of the canonical text between two places where some unit begins or ends, without the white space at
its ends; stretches of white space alone are none. A unit that is no slice is an atom of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from memlake.transforms.base.arrays import Bools, Ints, runs
from memlake.transforms.retrieve.store.sources import Record
from memlake.transforms.retrieve.store.store import Store


@dataclass(frozen=True, eq=False)
class Atoms:
    """What the units of a store are made of, in the order of the source; units that are no slice stand at the end.

    Attributes:
        start, end: code points of the canonical text; 0 and 0 for a unit that is no slice.
        opens: whether an atom does not continue the one before it: another session, or text between them that no unit holds.
        unit: for each atom the units that hold it, one atom's after another's.
        offsets: where each atom's units begin in `unit`.
        slices: how many atoms are of slices.
    """

    start: Ints
    end: Ints
    opens: Bools
    unit: Ints
    offsets: Ints
    slices: int


@dataclass(frozen=True, eq=False)
class Stretches:
    """Neighbouring atoms that a question's ranked list shows in one go.

    Attributes:
        question: which question's list.
        owner: the unit whose header stands before it.
        first, last: its first atom, and one past its last.
    """

    question: Ints
    owner: Ints
    first: Ints
    last: Ints


@dataclass(frozen=True, eq=False)
class Cover:
    """Which rank first covers each atom.

    Attributes:
        order: shape (m, n): positions of units, best first.
        rank: shape (m, atoms): the first rank, from 0, whose unit holds the atom.
    """

    store: Store
    atoms: Atoms
    order: Ints
    rank: Ints

    def apart(self) -> Stretches:
        """What every rank adds: stretches that its unit is the first to cover, by question and place."""
        return self._stretches(self.rank)

    def joined(self, units: Ints) -> Stretches:
        """What the first units[q] ranks of each question cover, stretches as long as they go, in the order of the source."""
        covered = self.rank < units[:, None]
        found = self._stretches(covered)
        shown = covered[found.question, found.first]
        return Stretches(*(column[shown] for column in (found.question, found.owner, found.first, found.last)))

    def _stretches(self, of: npt.NDArray[np.generic]) -> Stretches:
        """Runs of equal values along atoms that continue each other."""
        questions, atoms = self.rank.shape
        breaks = np.ones((questions, atoms), np.bool_)
        breaks[:, 1:] = self.atoms.opens[1:] | (of[:, 1:] != of[:, :-1])
        flat = np.flatnonzero(breaks)
        question, first = np.divmod(flat, max(atoms, 1))
        last = np.append(flat[1:], questions * atoms)[: len(flat)] - question * atoms
        return Stretches(question, self.order[question, self.rank[question, first]], first, last)

    def when(self, stretches: Stretches) -> Ints:
        """Where stretches begin, on the scale of `Sources.begins`.

        Raises:
            UsageError: the provenance of the units was not read.
        """
        is_slice = stretches.first < self.atoms.slices
        begins = self.store.record.places(self.atoms.start[stretches.first])
        return np.where(is_slice, begins, self.store.sources.begins[stretches.owner])

    def texts(self, stretches: Stretches) -> tuple[pa.StringArray, Ints]:
        """Header and text of every different stretch, and which of them each one is."""
        width = len(self.atoms.start) + 1
        key = (stretches.owner * width + stretches.first) * width + stretches.last
        _, place, which = np.unique(key, return_index=True, return_inverse=True)
        shown, headers = (self.store.units[name].to_pylist() for name in ("show_text", "header_chars"))
        record = self.store.record.text
        made = []
        for owner, first, last in zip(
            *(column[place].tolist() for column in (stretches.owner, stretches.first, stretches.last)), strict=True
        ):
            text = shown[owner]
            if first < self.atoms.slices:
                text = text[: headers[owner]] + record[self.atoms.start[first] : self.atoms.end[last - 1]]
            made.append(text)
        return pa.array(made, pa.string()), which


def cover_of(store: Store, order: Ints) -> Cover:
    """Lay the ranked lists of some questions over the atoms of their store.

    Raises:
        UsageError: the turns of the conversation were not read.
    """
    atoms = atoms_kept(store)
    return Cover(store, atoms, order, first_ranks(order, atoms.unit, atoms.offsets))


def atoms_kept(store: Store) -> Atoms:
    """The atoms of a store, cut when first asked for."""
    return store.once("atoms", lambda: atoms_of(store))


def together(found: Sequence[Stretches]) -> Stretches:
    """Stretches of several contexts, one context's after another's."""
    names = ("question", "owner", "first", "last")
    return Stretches(
        *(np.concatenate([np.empty(0, np.int64), *(getattr(stretches, name) for stretches in found)]) for name in names)
    )


def first_ranks(order: Ints, unit: Ints, offsets: Ints) -> Ints:
    """The first rank, from 0, of any unit of each group, shape (m, groups); groups stand one after another in `unit`."""
    if not len(offsets):
        return np.empty((len(order), 0), np.int64)
    rank = np.empty(order.shape, np.int64)
    np.put_along_axis(rank, order, np.arange(order.shape[1])[None, :], axis=1)
    return np.minimum.reduceat(rank[:, unit], offsets, axis=1)


def atoms_of(store: Store) -> Atoms:
    """Cut the canonical text wherever a unit or a session begins or ends."""
    record = store.record
    starts, ends = (store.units[name] for name in ("span_start", "span_end"))
    is_slice = starts.is_valid().to_numpy()
    begin = np.asarray(starts.fill_null(0).to_numpy(), np.int64)
    past = np.asarray(ends.fill_null(0).to_numpy(), np.int64)
    cuts = np.unique(np.concatenate([begin[is_slice], past[is_slice], record.session_starts, [0, len(record.text)]]))
    left = np.searchsorted(cuts, begin[is_slice])
    right = np.searchsorted(cuts, past[is_slice])
    depth = np.cumsum(np.bincount(left, minlength=len(cuts)) - np.bincount(right, minlength=len(cuts)))[:-1]
    start, end = _stripped(record, cuts)
    kept = (depth > 0) & (start < end)
    # A text that no unit holds, or another session, stands between an atom and the one before.
    foreign = np.cumsum((depth == 0) & (start < end))[kept]
    session = np.searchsorted(record.session_starts, cuts[:-1], side="right")[kept]
    opens = (np.diff(foreign, prepend=-1) != 0) | (np.diff(session, prepend=-1) != 0)
    # Atoms of each unit: a range of slices, or the unit itself.
    place = np.concatenate([[0], np.cumsum(kept)])
    first, last = np.empty(len(begin), np.int64), np.empty(len(begin), np.int64)
    first[is_slice], last[is_slice] = place[left], place[right]
    slices = int(place[-1])
    first[~is_slice] = slices + np.arange(np.count_nonzero(~is_slice))
    last[~is_slice] = first[~is_slice] + 1
    count = last - first
    unit = np.repeat(np.arange(len(begin)), count)
    atom = runs(first, count)
    by_atom = np.argsort(atom, kind="stable")
    alone = np.count_nonzero(~is_slice)
    return Atoms(
        start=np.append(start[kept], np.zeros(alone, np.int64)),
        end=np.append(end[kept], np.zeros(alone, np.int64)),
        opens=np.append(opens, np.ones(alone, np.bool_)),
        unit=unit[by_atom],
        offsets=np.searchsorted(atom[by_atom], np.arange(slices + alone)),
        slices=slices,
    )


def _stripped(record: Record, cuts: Ints) -> tuple[Ints, Ints]:
    """Each stretch between two cuts without the white space at its ends; as long as nothing where there is no more."""
    start, end = cuts[:-1].copy(), cuts[1:].copy()
    for place, (first, past) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        text = record.text[first:past]
        start[place] += len(text) - len(text.lstrip())
        end[place] = max(start[place], first + len(text.rstrip()))
    return start, end
