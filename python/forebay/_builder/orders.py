# SPDX-License-Identifier: Apache-2.0
# Written by python/tools/make_stubs.py from the plug-ins' descriptions; do not edit.
"""A method for each order."""
from __future__ import annotations

from typing import Literal, Optional

from forebay.pipeline import P, PipelineBase


class Orders(PipelineBase):
    """A method for each order."""

    __slots__ = ()

    def shuffle(self: P, buffer: Optional[int] = None, *, global_: bool = False) -> P:
        """Puts the elements of a pass into a random order; before `interleave`, the files.

        buffer    Each element is drawn from a buffer of so many that is kept full; 1 keeps the order.
        global_   An exact permutation of all records of all files, in constant memory, by their indexes;
                  instead of `interleave`.
        """
        return self._then("shuffle", {"buffer": buffer, "global": global_}, **{"global": False})

    def interleave(self: P, cycle: int = 1, *, block: int = 1, sloppy: bool = False) -> P:
        """Opens `cycle` files at a time and takes `block` records from each in turn.

        cycle     Files open at a time.
        block     Records taken from a file before the next one's turn.
        sloppy    May pass over a file whose next record is not there yet; acts only with `deterministic:
                  false`.
        """
        return self._then("interleave", {"cycle": cycle, "block": block, "sloppy": sloppy}, cycle=1, block=1,
                                        sloppy=False)

    def repeat(self: P, count: Optional[int] = None) -> P:
        """Goes through everything before it several times, newly shuffled each time.

        count    Passes; null: for ever.
        """
        return self._then("repeat", {"count": count})

    def take(self: P, count: int) -> P:
        """Ends after the first `count` elements of a pass; before `interleave` it counts files.

        count    Elements to keep.
        """
        return self._then("take", {"count": count})

    def skip(self: P, count: int) -> P:
        """Leaves out the first `count` elements of a pass; before `interleave` it counts files.

        count    Elements to leave out.
        """
        return self._then("skip", {"count": count})

    def filter(self: P, where: str, *, early: bool = False) -> P:
        """Keeps the records for which a condition over their tensors holds; comes after `interleave`.

        where    Condition, for example `label >= 0 and length(tokens) < 4096`; docs/expressions.md has the
                 grammar.
        early    Allows a condition over the output of an expensive step such as `decode_image`, which then runs
                 when the record is read, and again for its row.
        """
        return self._then("filter", {"where": where, "early": early}, early=False)

    def sorted(self: P, by: str, *, descending: bool = False) -> P:
        """Puts all records of all files in the order of an integer, by their indexes; instead of `interleave`.

        by            The integer, for example `length(tokens)`; docs/expressions.md has the grammar.
        descending    The largest numbers come first. Equal ones stay in the order of the files.
        """
        return self._then("sorted", {"by": by, "descending": descending}, descending=False)

    def reorder(self: P, bind: str, *, of: Literal["records", "files"] = "records") -> P:
        """Gives the records of all files, or the files, in the order that a function of the program says for
        each epoch.

        bind    Name of the function that the program binds. It is asked with (epoch, how many there are), and
                answers with the numbers of those to give, from 0 on, in any order and any number of times.
        of      What the numbers name: records, by the indexes of the files; or files, which are read one after
                the other.
        """
        return self._then("reorder", {"bind": bind, "of": of}, of="records")

    def random_sample(self: P, size: Optional[int] = None, *, buffer: Optional[int] = None) -> P:
        """Draws records with replacement: a record may come several times in a pass, or never.

        size      Draws of a pass; null: as many as there are records.
        buffer    Draws from a buffer of so many elements, through which the stream goes; null: from all
                  records, by their indexes, instead of `interleave`.
        """
        return self._then("random_sample", {"size": size, "buffer": buffer})

    def shuffle_batches(self: P, buffer: int) -> P:
        """Puts blocks of batches into a random order; rows stay in their batches.

        buffer    Batches of a block: so many are cut, shuffled and delivered before the next block. 1 keeps the
                  order.
        """
        return self._then("shuffle_batches", {"buffer": buffer})

    def batch_slice(self: P, start: int = 0, *, stop: Optional[int] = None, step: int = 1, index: Optional[int] = None,
                    count: Optional[int] = None) -> P:
        """Delivers some of the batches by their number; the others are cut and not made.

        start    Number of the first batch that is delivered.
        stop     Batches from this number on are left out; null: none.
        step     Delivers every so many-th batch.
        index    With `count`, instead of the others: batches index, index + count, ….
        count    See `index`: the slices 0 to count - 1 have each batch once.
        """
        return self._then("batch_slice", {"start": start, "stop": stop, "step": step, "index": index, "count": count},
                                         start=0, step=1)
