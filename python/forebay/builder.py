# SPDX-License-Identifier: Apache-2.0
# Written by python/tools/make_stubs.py from the plug-ins' descriptions; do not edit.
"""Pipelines in Python: a function for every format, a method for every decoder, step, order, window and batcher."""
from __future__ import annotations

from typing import Any, Literal, Mapping, Optional, Sequence, Union

from forebay._arguments import dtype_of, sizes_of
from forebay._paths import Paths, paths_of
from forebay.features import DType, Feature, _DTYPES
from forebay.loader import Shard
from forebay.pipeline import PipelineBase, StageSource, given

__all__ = ["Pipeline", "Source", "fixed_length", "lines", "tfrecord", "whole_file"]


class Pipeline(PipelineBase):
    """Records, how they are decoded, and what happens to them: a pipeline document."""

    __slots__ = ()

    def on_corrupt(self, policy: Literal["fail", "skip_record", "skip_row", "skip_file"], *,
                   max_count: Optional[int] = None, max_fraction: Optional[float] = None,
                   max_consecutive: int = 100) -> Pipeline:
        """What a corrupt record does: "fail", "skip_record", "skip_row", "skip_file".

        policy             What a corrupt record does.
        max_count          Skips of an epoch beyond which the run fails; null: any number.
        max_fraction       Skipped share of an epoch's records beyond which the run fails, from 0 to 1; null:
                           any. A corrupt record, an unreadable range and a file that is given up each count as
                           one record. Judged once the epoch had 1,000 records, and at its end.
        max_consecutive    Skips without a good record in between beyond which the run fails.
        """
        options = given({"policy": policy, "max_count": max_count, "max_fraction": max_fraction,
                        "max_consecutive": max_consecutive}, max_consecutive=100)
        return self._with(on_corrupt=options if len(options) > 1 else options["policy"])

    def threads(self, threads: int) -> Pipeline:
        """Default of the run; 0: one for every CPU."""
        return self._with(threads=threads)

    def memory(self, memory: Union[int, str]) -> Pipeline:
        """Default of the run, in bytes or as "1GiB"; 0: a quarter of the machine's."""
        return self._with(memory=memory)

    def prefetch(self, prefetch: int) -> Pipeline:
        """Default of the run: batches made ahead; 0: chosen by their size."""
        return self._with(prefetch=prefetch)

    def shard(self, shard: Optional[Shard]) -> Pipeline:
        """Default of the run: the part of every batch that this process takes, as [index, count], "index/count",
        "auto" (by the launcher's environment variables) or {index, count, by}, where by is "row", "file",
        "element" or "batch"; or a list of one that is by batch and one that is not; null: all.
        """
        return self._with(shard=shard)

    def slice(self, tensor: str, slice: str) -> Pipeline:
        """Cuts a rectangular piece out of one tensor; the piece replaces it.

        tensor    Tensor to cut.
        slice     Python-style, without the batch axis: [3,:,4:,:-2,1:4].
        """
        return self._then("slice", {"tensor": tensor, "slice": slice})

    def constant(self, tensor: str, shape: Union[Sequence[int], str], dtype: Union[DType, str], *,
                 value: Optional[Union[bool, int, float, str]] = None) -> Pipeline:
        """Makes a tensor whose elements are all the same.

        tensor    Name of the new tensor, which no other one has.
        shape     Shape of a row, [2, 3], or the name of a tensor whose rows' shapes it takes.
        dtype     Element type, or the name of a tensor whose type it takes.
        value     The element; null: 0, false or "".
        """
        return self._then("constant", {"tensor": tensor, "shape": shape, "dtype": dtype_of("dtype", dtype, _DTYPES),
                                      "value": value})

    def ones(self, tensor: str, shape: Union[Sequence[int], str], dtype: Union[DType, str]) -> Pipeline:
        """Makes a tensor whose elements are all 1.

        tensor    Name of the new tensor, which no other one has.
        shape     Shape of a row, [2, 3], or the name of a tensor whose rows' shapes it takes.
        dtype     Element type, or the name of a tensor whose type it takes; not string or complex.
        """
        return self._then("ones", {"tensor": tensor, "shape": shape, "dtype": dtype_of("dtype", dtype, _DTYPES)})

    def normalize(self, tensor: str, axis: int) -> Pipeline:
        """Shifts and scales one tensor along an axis to mean 0 and deviation 1.

        tensor    Tensor to normalize; integers become float32.
        axis      Axis the statistics are taken along, without the batch axis; -1 is the last.
        """
        return self._then("normalize", {"tensor": tensor, "axis": axis})

    def one_hot(self, tensor: str, depth: int, *, dtype: DType = "float32") -> Pipeline:
        """Turns each index into a vector that is 1 at that place and 0 elsewhere.

        tensor    Tensor of indices, int32 or int64.
        depth     Length of the vectors: a new last axis; an index outside gives zeros.
        dtype     Type of the result, an integer or float.
        """
        return self._then("one_hot", {"tensor": tensor, "depth": depth, "dtype": dtype_of("dtype", dtype, _DTYPES)},
                                     dtype="float32")

    def reshape(self, tensor: str, shape: Sequence[int]) -> Pipeline:
        """Gives one tensor another shape with as many elements, in the same order.

        tensor    Tensor to reshape.
        shape     New shape, without the batch axis; every dim is positive.
        """
        return self._then("reshape", {"tensor": tensor, "shape": shape})

    def cast(self, tensor: str, dtype: DType) -> Pipeline:
        """Changes the element type of one tensor.

        tensor    Tensor to convert; not a string or complex one.
        dtype     Type it gets; not string or complex.
        """
        return self._then("cast", {"tensor": tensor, "dtype": dtype_of("dtype", dtype, _DTYPES)})

    def select(self, tensors: Sequence[str]) -> Pipeline:
        """Keeps some tensors and forgets the others.

        tensors    Tensors to keep, in the order they are to have.
        """
        return self._then("select", {"tensors": tensors})

    def rename(self, from_: str, to: str) -> Pipeline:
        """Gives one tensor another name.

        from_   Tensor to rename.
        to      Its new name, which no other tensor has.
        """
        return self._then("rename", {"from": from_, "to": to})

    def decode_image(self, tensor: str, *, out: Optional[str] = None, channels: int = 3,
                     region: Mapping[str, Any] = {'central': None, 'random_resized': None},
                     resize: Optional[Sequence[int]] = None, flip: Literal["none", "random"] = "none",
                     dtype: DType = "uint8", layout: Literal["hwc", "chw"] = "hwc", orientation: bool = True,
                     scale: bool = True, max_image_pixels: int = 134217728) -> Pipeline:
        """Decodes images (JPEG) to pixels: orientation, region, scale, resize and flip in one step.

        tensor              Scalar strings: the bytes of an image file each.
        out                 Name of the pixels; null: they replace the tensor.
        channels            1: luminance; 3: red, green and blue.
        region              The part that is decoded; left out: the whole image.
        resize              [height, width], bilinear with antialias; null: the size of the region.
        flip                random: every other row, by a draw, is mirrored left to right.
        dtype               uint8 or float32; pixels are 0 to 255 in both.
        layout              hwc: height, width, channels; chw: channels first.
        orientation         Whether to turn images as their EXIF data says.
        scale               Whether to decode at 1/2, 1/4 or 1/8 of the size where `resize` makes the region
                            that much smaller.
        max_image_pixels    An image of more pixels is a corrupt row.
        """
        return self._then("decode_image", {"tensor": tensor, "out": out, "channels": channels, "region": region,
                                          "resize": resize, "flip": flip, "dtype": dtype_of("dtype", dtype, _DTYPES),
                                          "layout": layout, "orientation": orientation, "scale": scale,
                                          "max_image_pixels": max_image_pixels}, channels=3,
                                          region={'central': None, 'random_resized': None}, flip="none", dtype="uint8",
                                          layout="hwc", orientation=True, scale=True, max_image_pixels=134217728)

    def shuffle(self, buffer: Optional[int] = None, *, global_: bool = False) -> Pipeline:
        """Puts the elements of a pass into a random order; before `interleave`, the files.

        buffer    Each element is drawn from a buffer of so many that is kept full; 1 keeps the order.
        global_   An exact permutation of all records of all files, in constant memory, by their indexes;
                  instead of `interleave`.
        """
        return self._then("shuffle", {"buffer": buffer, "global": global_}, **{"global": False})

    def interleave(self, cycle: int = 1, *, block: int = 1, sloppy: bool = False) -> Pipeline:
        """Opens `cycle` files at a time and takes `block` records from each in turn.

        cycle     Files open at a time.
        block     Records taken from a file before the next one's turn.
        sloppy    May pass over a file whose next record is not there yet; acts only with `deterministic:
                  false`.
        """
        return self._then("interleave", {"cycle": cycle, "block": block, "sloppy": sloppy}, cycle=1, block=1,
                                        sloppy=False)

    def repeat(self, count: Optional[int] = None) -> Pipeline:
        """Goes through everything before it several times, newly shuffled each time.

        count    Passes; null: for ever.
        """
        return self._then("repeat", {"count": count})

    def take(self, count: int) -> Pipeline:
        """Ends after the first `count` elements of a pass; before `interleave` it counts files.

        count    Elements to keep.
        """
        return self._then("take", {"count": count})

    def skip(self, count: int) -> Pipeline:
        """Leaves out the first `count` elements of a pass; before `interleave` it counts files.

        count    Elements to leave out.
        """
        return self._then("skip", {"count": count})

    def filter(self, where: str, *, early: bool = False) -> Pipeline:
        """Keeps the records for which a condition over their tensors holds; comes after `interleave`.

        where    Condition, for example `label >= 0 and length(tokens) < 4096`; docs/expressions.md has the
                 grammar.
        early    Allows a condition over the output of an expensive step such as `decode_image`, which then runs
                 when the record is read, and again for its row.
        """
        return self._then("filter", {"where": where, "early": early}, early=False)

    def sorted(self, by: str, *, descending: bool = False) -> Pipeline:
        """Puts all records of all files in the order of an integer, by their indexes; instead of `interleave`.

        by            The integer, for example `length(tokens)`; docs/expressions.md has the grammar.
        descending    The largest numbers come first. Equal ones stay in the order of the files.
        """
        return self._then("sorted", {"by": by, "descending": descending}, descending=False)

    def shuffle_batches(self, buffer: int) -> Pipeline:
        """Puts blocks of batches into a random order; rows stay in their batches.

        buffer    Batches of a block: so many are cut, shuffled and delivered before the next block. 1 keeps the
                  order.
        """
        return self._then("shuffle_batches", {"buffer": buffer})

    def batch_slice(self, start: int = 0, *, stop: Optional[int] = None, step: int = 1, index: Optional[int] = None,
                    count: Optional[int] = None) -> Pipeline:
        """Delivers some of the batches by their number; the others are cut and not made.

        start    Number of the first batch that is delivered.
        stop     Batches from this number on are left out; null: none.
        step     Delivers every so many-th batch.
        index    With `count`, instead of the others: batches index, index + count, ….
        count    See `index`: the slices 0 to count - 1 have each batch once.
        """
        return self._then("batch_slice", {"start": start, "stop": stop, "step": step, "index": index, "count": count},
                                         start=0, step=1)

    def continuous(self, min_window: int, max_window: int, *, keys: Sequence[str] = [], stride: Optional[int] = None,
                   min_stride: Optional[int] = None, max_stride: Optional[int] = None,
                   window_draw: Literal["per_window", "per_file"] = "per_window",
                   tail: Literal["drop", "keep_if_min", "keep"] = "drop") -> Pipeline:
        """Cuts windows out of the records of a part, joined along their first axis.

        keys           Tensors to cut; empty: all whose first size is unknown.
        min_window     Least length of a window, in frames.
        max_window     Greatest length of a window; drawn uniformly.
        stride         Frames from window to window; null: the window's length.
        min_stride     Instead of `stride`: drawn uniformly, from this on.
        max_stride     Greatest stride.
        window_draw    Draw for each window, or once for each file and pass.
        tail           What becomes of frames at the end that do not fill a window.
        """
        return self._then("continuous", {"keys": keys, "min_window": min_window, "max_window": max_window,
                                        "stride": stride, "min_stride": min_stride, "max_stride": max_stride,
                                        "window_draw": window_draw, "tail": tail}, keys=[], window_draw="per_window",
                                        tail="drop")

    def chunk(self, size: Union[int, Mapping[str, int]], *, keys: Sequence[str] = [],
              step: Optional[Union[int, Mapping[str, int]]] = None,
              min_size: Optional[Union[int, Mapping[str, int]]] = None, drop_short: bool = False,
              drop_covered_tail: bool = False, rule: Literal["forebay", "returnn", "returnn_pipe"] = "forebay",
              variance: float = 0.0) -> Pipeline:
        """Cuts sequences into chunks of one size, every `step` frames.

        keys                 Tensors to cut; empty: all whose first size is unknown.
        size                 Frames of a chunk: a number, or one for each key.
        step                 Frames from chunk to chunk; null: `size`. A key with step 0 is given whole in every
                             chunk.
        min_size             A tail with fewer frames is dropped.
        drop_short           Drop a sequence shorter than `min_size` instead of keeping it whole.
        drop_covered_tail    Drop chunks all of whose frames the chunk before has, too.
        rule                 `returnn` and `returnn_pipe` decide about tails and keys of unequal length as
                             RETURNN does.
        variance             Shortens sizes and steps of each sequence by a random factor from 1 - variance to
                             1.
        """
        return self._then("chunk", {"keys": keys, "size": size, "step": step, "min_size": min_size,
                                   "drop_short": drop_short, "drop_covered_tail": drop_covered_tail, "rule": rule,
                                   "variance": variance}, keys=[], drop_short=False, drop_covered_tail=False,
                                   rule="forebay", variance=0.0)

    def context(self, keys: Sequence[str] = [], *, window: Optional[Union[int, Mapping[str, int]]] = None,
                left: Optional[Mapping[str, int]] = None, right: Optional[Mapping[str, int]] = None) -> Pipeline:
        """Widens windows by the frames around them, and by padding where the sequence ends.

        keys      Tensors with a time axis, if no window step comes before; empty: all whose first size is
                  unknown.
        window    Total width, the frame itself included; an even one has one frame more on the right. A number
                  is for `data`, else for the first key.
        left      Instead of `window`: frames before, by key.
        right     Frames after, by key.
        """
        return self._then("context", {"keys": keys, "window": window, "left": left, "right": right}, keys=[])

    def batch(self, size: int, *, remainder: Literal["keep", "drop", "pad", "repeat"] = "keep",
              pad: Union[bool, Sequence[Mapping[str, Any]]] = False, require_equal: bool = False) -> Pipeline:
        """Cuts the stream into batches of one size.

        size             Rows of a batch.
        remainder        What becomes of a last batch that is not full: keep it short, drop it, pad it with
                         empty rows, or repeat its own records, from its first one on.
        pad              false; true: pad the unknown dims of every tensor to the batch's maximum; or a list of
                         {tensor, shape, value}.
        require_equal    Refuse rows of unequal shape instead of delivering them ragged.
        """
        return self._then("batch", {"size": size, "remainder": remainder, "pad": pad, "require_equal": require_equal},
                                   remainder="keep", pad=False, require_equal=False)

    def frames(self, keys: Sequence[str] = [], *, batch_size: Optional[Union[int, Mapping[str, int]]] = None,
               packed_batch_size: Optional[Union[int, Mapping[str, int]]] = None, max_seqs: Optional[int] = None,
               max_pad_size: Optional[Union[int, Mapping[str, int]]] = None,
               max_seq_length: Optional[Union[int, Mapping[str, int]]] = None,
               min_seq_length: Optional[Union[int, Mapping[str, int]]] = None, max_total_num_seqs: Optional[int] = None,
               pad: Union[bool, Sequence[Mapping[str, Any]]] = True) -> Pipeline:
        """Cuts batches whose size in frames is limited.

        keys                  Tensors whose frames count; empty: all whose first size is unknown.
        batch_size            Frames of a batch with its padding at most, longest row times rows: a number for
                              all keys, or one by key. A sequence that is longer is a batch of its own.
        packed_batch_size     Frames of a batch without its padding at most.
        max_seqs              Rows of a batch at most.
        max_pad_size          Frames of padding of a batch at most.
        max_seq_length        Sequences that have more frames are left out.
        min_seq_length        Sequences that have fewer frames are left out.
        max_total_num_seqs    Sequences of a pass at most; those that are left out by their length do not count.
        pad                   false; true: pad the unknown dims of every tensor to the batch's maximum; or a
                              list of {tensor, shape, value}.
        """
        return self._then("frames", {"keys": keys, "batch_size": batch_size, "packed_batch_size": packed_batch_size,
                                    "max_seqs": max_seqs, "max_pad_size": max_pad_size,
                                    "max_seq_length": max_seq_length, "min_seq_length": min_seq_length,
                                    "max_total_num_seqs": max_total_num_seqs, "pad": pad}, keys=[], pad=True)

    def buckets(self, key: str, boundaries: Sequence[int], sizes: Sequence[int], *,
                longer: Literal["drop", "bucket"] = "drop", remainder: Literal["keep", "drop"] = "keep",
                pad: Union[bool, Sequence[Mapping[str, Any]]] = True) -> Pipeline:
        """Cuts batches of sequences of similar length.

        key           Tensor whose first size is the length of a sequence.
        boundaries    The largest length of each bucket, ascending. A sequence goes into the first bucket that
                      it fits.
        sizes         Rows of a batch: a list of one number for all buckets, or of one for each.
        longer        What becomes of sequences beyond the last boundary: drop them, or bucket: they have one of
                      their own.
        remainder     What becomes of buckets that are not full at the end (of each epoch, where epochs are
                      hard): keep, drop.
        pad           false; true: pad the unknown dims of every tensor to the batch's maximum; or a list of
                      {tensor, shape, value}.
        """
        return self._then("buckets", {"key": key, "boundaries": boundaries, "sizes": sizes, "longer": longer,
                                     "remainder": remainder, "pad": pad}, longer="drop", remainder="keep", pad=True)


class Source(StageSource):
    """Records; the methods say how they become tensors."""

    __slots__ = ()

    def example(self, features: Mapping[str, Feature]) -> Pipeline:
        """Decodes tf.train.Example messages, one tensor per feature; only features in use are read.

        features    The tensors by name, each with kind, dtype, shape and how it is stored.
        """
        options = given({"features": features})
        return Pipeline({"source": self._source, "decode": {"example": options}, "steps": []})

    def sequence_example(self, context: Mapping[str, Feature] = {}, *, lists: Mapping[str, Feature] = {}) -> Pipeline:
        """Decodes tf.train.SequenceExample messages: features of the sequence, and lists with one feature per
        step.

        context    Tensors of the whole sequence by name: kinds fixed_len, var_len, ragged and raw.
        lists      Tensors with a time axis by name: kinds fixed_len_sequence, var_len, ragged and raw.
        """
        options = given({"context": context, "lists": lists}, context={}, lists={})
        return Pipeline({"source": self._source, "decode": {"sequence_example": options}, "steps": []})

    def record(self, name: str = "record") -> Pipeline:
        """Delivers the bytes of each record as they are, as one string.

        name    Name of the tensor.
        """
        options = given({"name": name}, name="record")
        return Pipeline({"source": self._source, "decode": {"record": options}, "steps": []})


def tfrecord(files: Paths, *, compression: Literal["none", "gzip", "zlib", "zstd", "auto"] = "auto",
             max_record_bytes: int = 1073741824, max_decompressed_bytes: int = 4294967296,
             tolerate_partial_header: bool = False, allow_trailing_zeros: bool = False) -> Source:
    """Reads the records of TFRecord files, checksums verified.

    files                      Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.
    compression                How whole files are compressed; auto looks at their first bytes.
    max_record_bytes           A longer record is an error, before memory is taken.
    max_decompressed_bytes     A compressed file that holds more than this is an error, once that many bytes
                               were decompressed.
    tolerate_partial_header    A file that ends inside the header of a record ends before it: for files still
                               being written.
    allow_trailing_zeros       Zero bytes after the last record, or after the end of compressed data, are
                               padding and not an error.
    """
    return Source({"tfrecord": given({"files": paths_of(files, "files"), "compression": compression,
                                     "max_record_bytes": max_record_bytes,
                                     "max_decompressed_bytes": max_decompressed_bytes,
                                     "tolerate_partial_header": tolerate_partial_header,
                                     "allow_trailing_zeros": allow_trailing_zeros}, compression="auto",
                                     max_record_bytes=1073741824, max_decompressed_bytes=4294967296,
                                     tolerate_partial_header=False, allow_trailing_zeros=False)})


def lines(files: Paths, *, compression: Literal["none", "gzip", "zlib", "zstd", "auto"] = "auto",
          skip_header_lines: int = 0, max_line_bytes: int = 16777216,
          max_decompressed_bytes: int = 4294967296) -> Source:
    """Reads the lines of text files, without their ends.

    files                     Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.
    compression               How whole files are compressed; auto knows gzip and zstd by their first bytes,
                              zlib must be named.
    skip_header_lines         Lines at the beginning of each file that are no records.
    max_line_bytes            A longer line is an error, before memory is taken.
    max_decompressed_bytes    A compressed file that holds more than this is an error, once that many bytes were
                              decompressed.
    """
    return Source({"lines": given({"files": paths_of(files, "files"), "compression": compression,
                                  "skip_header_lines": skip_header_lines, "max_line_bytes": max_line_bytes,
                                  "max_decompressed_bytes": max_decompressed_bytes}, compression="auto",
                                  skip_header_lines=0, max_line_bytes=16777216, max_decompressed_bytes=4294967296)})


def fixed_length(files: Paths, record_bytes: int, *, header_bytes: int = 0, footer_bytes: int = 0, hop_bytes: int = 0,
                 compression: Literal["none", "gzip", "zlib", "zstd", "auto"] = "auto", strict_tail: bool = False,
                 max_decompressed_bytes: int = 4294967296) -> Source:
    """Reads records of one length.

    files                     Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.
    record_bytes              Bytes of a record.
    header_bytes              Bytes at the beginning of each file that belong to no record. A shorter file is an
                              error.
    footer_bytes              Bytes at the end of each file that belong to no record.
    hop_bytes                 Bytes from the beginning of a record to that of the next: fewer than record_bytes
                              make records overlap, more leave bytes out. 0: record_bytes.
    compression               How whole files are compressed; auto knows gzip and zstd by their first bytes,
                              zlib must be named.
    strict_tail               A file that ends inside a record is an error; otherwise these bytes are left out.
    max_decompressed_bytes    A compressed file that holds more than this is an error, once that many bytes were
                              decompressed.
    """
    return Source({"fixed_length": given({"files": paths_of(files, "files"), "record_bytes": record_bytes,
                                         "header_bytes": header_bytes, "footer_bytes": footer_bytes,
                                         "hop_bytes": hop_bytes, "compression": compression, "strict_tail": strict_tail,
                                         "max_decompressed_bytes": max_decompressed_bytes}, header_bytes=0,
                                         footer_bytes=0, hop_bytes=0, compression="auto", strict_tail=False,
                                         max_decompressed_bytes=4294967296)})


def whole_file(files: Paths, *, max_file_bytes: int = 1073741824) -> Source:
    """Reads whole files: each is one record.

    files             Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.
    max_file_bytes    A larger file is an error, before memory is taken.
    """
    return Source({"whole_file": given({"files": paths_of(files, "files"), "max_file_bytes": max_file_bytes},
                                       max_file_bytes=1073741824)})
