# SPDX-License-Identifier: Apache-2.0
"""`sequence_order` against NumPy and plain Python, and `laplace` on streams."""
from __future__ import annotations

import json
import pathlib
from typing import Any, Optional, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import forebay as fb

MODES = ("default", "reverse", "sorted", "sorted_reverse", "random", "random:2", "random_sample", "random_sample:3",
         "laplace", "laplace:3", "laplace:.4", "laplace:1:2", "sort_bin_shuffle", "sort_bin_shuffle:3",
         "sort_bin_shuffle:.2:2", "sort_bin_shuffle_x2", "sort_bin_shuffle_x2:4", "default_every_n:2", "default_every_n:7")


# ---------------------------------------------------------------- the orders, in plain Python

def full_order(mode: str, lengths: "Sequence[float]", seed: int) -> "list[int]":
    n, (name, *numbers) = len(lengths), mode.split(":")
    draws = np.random.RandomState(seed)
    if name == "default_every_n":
        length = n // int(numbers[0])
        return [place + lane * length for place in range(length) for lane in range(int(numbers[0]))]
    if name in ("sorted", "sorted_reverse"):
        return sorted(range(n), key=lambda i: lengths[i], reverse=name == "sorted_reverse")
    if name in ("default", "reverse"):
        return list(range(n))[::-1 if name == "reverse" else 1]
    if name == "random_sample":
        return draws.choice(n, size=n, replace=True).tolist()
    order = draws.permutation(n).tolist()
    if name == "random":
        return order
    first = numbers[0] if numbers else "2"
    bins = max(n // int(first[1:]), 2) if first.startswith(".") else int(first)
    if name != "laplace":
        order.sort(key=lambda i: lengths[i])
    cuts = [order[i * n // bins:(i + 1) * n // bins] for i in range(bins)]
    if name == "laplace":
        return [i for number, bin in enumerate(cuts) for i in sorted(bin, key=lambda i: lengths[i], reverse=number % 2 == 1)]
    out = []
    for number in draws.permutation(bins):
        if name == "sort_bin_shuffle_x2":
            draws.shuffle(cuts[number])
        out += cuts[number]
    return out


def wanted(mode: str, lengths: "Sequence[float]", tags: "list[str]", epoch: int, options: "dict[str, Any]",
           listed: Optional["set[str]"]) -> "list[int]":
    """The sequences of an epoch, which counts from 0."""
    parts, numbers = options["partition_epoch"], mode.split(":")[1:]
    nth = int(numbers[-1]) if mode.startswith("random") and numbers or len(numbers) == 2 else 1
    seed = options.get("fixed_random_seed")
    order = full_order(mode, lengths, epoch // parts // nth + 1 + options["random_seed_offset"] if seed is None else seed)
    if options["unique_seq_tags"]:
        order = [i for at, i in enumerate(order) if tags[i] not in {tags[j] for j in order[:at]}]
    all_parts = parts * options["num_shards"]
    part = epoch % parts * options["num_shards"] + options["shard_index"]
    sizes = [len(order) // all_parts + (i < len(order) % all_parts) for i in range(all_parts)]
    order = order[sum(sizes[:part]):sum(sizes[:part + 1])] * options["repeat_epoch"]
    return [i for i in order if listed is None or tags[i] in listed]


def sequences(lengths: "list[int]", tags: "list[str]") -> fb.Pipeline:
    splits = np.cumsum([0, *lengths])
    return fb.arrays({"n": np.arange(len(lengths)), "tag": np.array(tags, object),
                      "x": fb.Ragged(np.arange(splits[-1], dtype=np.int32), splits)})


def by_epoch(loader: fb.Loader) -> "dict[int, list[int]]":
    out: "dict[int, list[int]]" = {}
    for batch in loader:
        out.setdefault(batch.epoch, []).extend(batch["n"].tolist())
    return out


@st.composite
def cases(draw: Any) -> Any:
    n = draw(st.integers(1, 30))
    lengths = draw(st.lists(st.integers(0, 6), min_size=n, max_size=n))
    tags = draw(st.lists(st.text(max_size=2), min_size=n, max_size=n))
    shards = draw(st.integers(1, 3))
    parts = draw(st.integers(1, 3))
    options = {"partition_epoch": parts, "repeat_epoch": draw(st.integers(1, 1 if parts > 1 else 2)), "num_shards": shards,
               "shard_index": draw(st.integers(0, shards - 1)), "random_seed_offset": draw(st.integers(0, 5)),
               "unique_seq_tags": draw(st.booleans())}
    if draw(st.booleans()):
        options["fixed_random_seed"] = draw(st.integers(0, 2**32 - 1))
    return draw(st.sampled_from(MODES)), lengths, tags, options


@settings(max_examples=100, deadline=None)
@given(cases())
def test_orders_of_numpy_are_those_of_plain_python(case: Any) -> None:
    mode, lengths, tags, options = case
    pipe = sequences(lengths, tags).sequence_order(mode, by="length(x)", tag="tag", rng="numpy_legacy", **options)
    got = by_epoch(pipe.batch(size=4).epochs(5).epoch_boundary("hard").load(threads=1))
    for epoch in range(5):
        assert got.get(epoch, []) == wanted(mode, lengths, tags, epoch, options, None), epoch


@pytest.fixture
def files(tmp_path: pathlib.Path) -> "tuple[list[str], list[int], list[str]]":
    """Three files of sequences, their lengths and their tags, of which some come twice."""
    generator = np.random.default_rng(1)
    lengths = generator.integers(0, 40, 100).tolist()
    tags = [f"tag {i % 90}" for i in range(100)]
    paths = []
    for part, (begin, end) in enumerate([(0, 10), (10, 80), (80, 100)]):
        paths.append(str(tmp_path / f"part-{part}"))
        fb.write_records(paths[-1], [fb.encode_example({"n": i, "tag": tags[i].encode(), "x": np.arange(lengths[i])})
                                     for i in range(begin, end)], "gzip" if part == 1 else None)
    return paths, lengths, tags


def examples(paths: "list[str]") -> fb.Pipeline:
    return fb.tfrecord(paths).example({"n": fb.fixed("int64"), "tag": fb.fixed("string"), "x": fb.var_len("int64")})


NO_OPTIONS = {"partition_epoch": 1, "repeat_epoch": 1, "num_shards": 1, "shard_index": 0, "random_seed_offset": 0,
              "unique_seq_tags": False}


@pytest.mark.parametrize("mode", ["default", "laplace:.9", "sort_bin_shuffle_x2:5"])
def test_files_restart_at_every_batch_for_any_number_of_threads(files: Any, mode: str) -> None:
    paths, lengths, tags = files
    options = {**NO_OPTIONS, "partition_epoch": 2, "unique_seq_tags": True}
    pipe = examples(paths).sequence_order(mode, by="length(x)", tag="tag", rng="numpy_legacy", partition_epoch=2,
                                          unique_seq_tags=True).batch(size=9, pad=True).epochs(3)
    loader, states, batches = pipe.load(threads=8), [], []
    states.append(loader.state_dict())
    for batch in loader:
        batches.append(batch["n"].tolist())
        states.append(loader.state_dict())
    assert sum(batches, []) == sum((wanted(mode, lengths, tags, epoch, options, None) for epoch in range(3)), [])
    for number, state in enumerate(states):
        again = pipe.load(threads=1)
        again.load_state_dict(json.loads(json.dumps(state)))
        assert [batch["n"].tolist() for batch in again] == batches[number:]


def test_lists_and_lengths_come_from_files_and_a_state_knows_their_content(files: Any, tmp_path: pathlib.Path) -> None:
    paths, lengths, tags = files
    by_tag = {tag: (i * 37 % 90) / 4 for i, tag in enumerate(dict.fromkeys(tags))}
    listed = {tag for i, tag in enumerate(by_tag) if i % 3 != 1}
    (tmp_path / "tags.txt").write_bytes(b"\r\n".join(tag.encode() for tag in [*listed, "nobody", ""]))
    (tmp_path / "lengths.json").write_text(json.dumps(by_tag))
    document = {"source": {"tfrecord": {"files": paths}}, "epochs": 2,
                "decode": {"example": {"features": {"n": {"dtype": "int64", "shape": []},
                                                    "tag": {"dtype": "string", "shape": []}}}},
                "steps": [{"sequence_order": {"mode": "laplace:3", "rng": "numpy_legacy", "tag": "tag",
                                              "seq_order_seq_lens_file": "lengths.json",
                                              "seq_list_filter_file": "tags.txt"}}, {"batch": {"size": 8}}]}
    (tmp_path / "train.json").write_text(json.dumps(document))
    loader = fb.load(tmp_path / "train.json")
    given = [by_tag[tag] for tag in tags]
    passes = [wanted("laplace:3", given, tags, epoch, NO_OPTIONS, listed) for epoch in range(2)]
    want = passes[0] + passes[1]
    first = next(loader)["n"].tolist()
    state = loader.state_dict()
    assert first + [n for batch in loader for n in batch["n"].tolist()] == want
    again = fb.load(tmp_path / "train.json")
    again.load_state_dict(state)
    assert [n for batch in again for n in batch["n"].tolist()] == want[8:]
    (tmp_path / "tags.txt").write_text("\n".join([*listed][1:]))
    with pytest.raises(fb.StateError, match="seq_list_filter_file of sequence_order"):
        fb.load(tmp_path / "train.json").load_state_dict(state)
    want = wanted("laplace:3", given, tags, 0, NO_OPTIONS, {*[*listed][1:]})
    assert [n for batch in fb.load(tmp_path / "train.json") for n in batch["n"].tolist()][:len(want)] == want


def test_faults_of_the_small_files(files: Any, tmp_path: pathlib.Path) -> None:
    paths, _, tags = files

    def plan(**options: Any) -> Any:
        return examples(paths).sequence_order("sorted", tag="tag", **options).batch(size=8, pad=True)

    (tmp_path / "empty").write_text("\n\n")
    (tmp_path / "wrong").write_text('{"tag 1": "long"}')
    (tmp_path / "short").write_text('{"tag 1": 2}')
    with pytest.raises(fb.IoError, match="/seq_order_seq_lens_file: cannot open 'none': No such file"):
        plan(seq_order_seq_lens_file="none").load()
    with pytest.raises(fb.ConfigError, match="wrong:1:11.*the length of 'tag 1' must be a number, found a string"):
        plan(seq_order_seq_lens_file=tmp_path / "wrong").load()
    with pytest.raises(TypeError, match="seq_list_filter_file: must be a str or a pathlib.Path"):
        plan(by="length(x)", seq_list_filter_file=7)
    with pytest.raises(fb.ConfigError, match="/seq_list_filter_file: '.*empty' names no tag"):
        plan(by="length(x)", seq_list_filter_file=tmp_path / "empty").load()
    with pytest.raises(fb.DataError, match="part-0, record 0.*sequence_order: .*short' has no length of the tag, 'tag 0'"):
        list(plan(seq_order_seq_lens_file=str(tmp_path / "short")).load())
    skipping = plan(seq_order_seq_lens_file=str(tmp_path / "short")).on_corrupt("skip_record").load()
    assert [int(n) for batch in skipping for n in batch["n"]] == [i for i, tag in enumerate(tags) if tag == "tag 1"]
    rows = fb.Feed({"x": fb.fixed("int64")}, capacity=3)
    with pytest.raises(fb.ConfigError, match="cannot be reached in any order; sort those of a buffer instead, with 'laplace'"):
        fb.feed(rows).sequence_order("sorted", by="x").batch(size=2).load()
    with pytest.raises(fb.ConfigError, match="sequence_order/tag.*but a string, such as the name of a tensor, is wanted"):
        examples(paths).sequence_order(tag="n", unique_seq_tags=True).batch(size=8, pad=True).load()


def test_a_tail_that_is_left_out_is_told_once(files: Any, capfd: Any) -> None:
    pipe = examples(files[0]).sequence_order("default_every_n:9").batch(size=8, pad=True).epochs(3)
    assert sum(batch.rows for batch in pipe.load()) == 3 * 99
    assert capfd.readouterr().err.count("'default_every_n:9' leaves out the last 1 of 100 sequences in every epoch") == 1
    pipe = examples(files[0]).sequence_order(mode="default_every_n", every_n=9, keep_tail=True).batch(size=8, pad=True)
    assert sum(batch.rows for batch in pipe.load()) == 100
    assert "leaves out" not in capfd.readouterr().err


def test_shards_of_a_run_put_together_are_the_whole_order(files: Any) -> None:
    pipe = examples(files[0]).sequence_order("laplace:4", by="length(x)").batch(size=10, pad=True, remainder="drop").epochs(2)
    whole = [batch["n"].tolist() for batch in pipe.load()]
    for by in ("row", "element"):
        parts = [[batch["n"].tolist() for batch in pipe.load(shard={"index": rank, "count": 2, "by": by})] for rank in range(2)]
        joined = [a + b if by == "row" else [n for pair in zip(a, b) for n in pair] for a, b in zip(*parts)]
        assert joined == whole, by


@pytest.mark.parametrize("options, count", [({}, 100), ({"num_shards": 3, "shard_index": 2}, 33), ({"partition_epoch": 4}, 25),
                                            ({"partition_epoch": 3}, None), ({"repeat_epoch": 2}, 200)])
def test_the_number_of_batches_is_known_when_all_epochs_have_as_many_sequences(options: Any, count: Optional[int]) -> None:
    loader = sequences([1] * 100, [""] * 100).sequence_order("random", **options).batch(size=8).epochs(3).load()
    if count is not None:
        assert len(loader) == -(-3 * count // 8) == len(list(loader))
    else:
        with pytest.raises(TypeError, match="not known without decoding"):
            len(loader)
        assert len(list(loader)) == 13
    assert loader.complete_frac == 1.0


@pytest.mark.parametrize("source", ["files", "arrays"])
def test_laplace_then_chunks_then_frames_give_every_frame_once(files: Any, source: str) -> None:
    paths, lengths, tags = files
    pipe = examples(paths) if source == "files" else sequences(lengths, tags)
    first = np.cumsum([0, *lengths]) if source == "arrays" else np.zeros(len(lengths), int)
    pipe = pipe.sequence_order("laplace:.20", by="length(x)").chunk(size=10, keys=["x"]).frames(batch_size=60)
    for threads in (1, 8):
        seen: "dict[int, list[int]]" = {i: [] for i in range(len(lengths))}
        for batch in pipe.load(threads=threads):
            assert batch["x"].size <= 60
            for row, length, n in zip(batch["x"], batch.lengths["x"].reshape(-1), batch["n"]):
                seen[int(n)] += row[:length].tolist()
        assert seen == {i: list(range(first[i], first[i] + length)) for i, length in enumerate(lengths)}


# ---------------------------------------------------------------- a stream

@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(1, 15))
def test_laplace_sorts_a_stream_up_and_down_and_restarts_at_every_batch(lengths: "list[int]", buffer: int) -> None:
    pipe = sequences(lengths, [""] * len(lengths)).laplace(buffer, "length(x)").batch(size=3).epochs(2)
    want = []
    for number, begin in enumerate(range(0, len(lengths), buffer)):
        bin = range(begin, min(begin + buffer, len(lengths)))
        want += sorted(bin, key=lambda i: lengths[i], reverse=number % 2 == 1)
    want *= 2
    loader, states = pipe.load(threads=2), []
    states.append(loader.state_dict())
    for at, batch in enumerate(loader):
        assert batch["n"].tolist() == want[3 * at:3 * at + 3]
        states.append(loader.state_dict())
    at = len(want) % len(states)
    again = pipe.load(threads=1)
    again.load_state_dict(states[at])
    assert [n for batch in again for n in batch["n"].tolist()] == want[3 * at:]


def test_laplace_takes_the_lengths_of_windows_and_files_in_any_order(files: Any) -> None:
    paths, lengths, _ = files
    pipe = examples(paths).interleave(2).chunk(size=7, keys=["x"]).laplace(16, "length(x)").batch(size=8, pad=True).epochs(2)
    plain = examples(paths).interleave(2).chunk(size=7, keys=["x"]).batch(size=8, pad=True).epochs(2)

    def chunks(pipe: fb.Pipeline, **options: Any) -> "list[tuple[int, int, int]]":
        return [(int(n), int(row[0]), int(length)) for batch in pipe.load(**options)
                for n, row, length in zip(batch["n"], batch["x"], batch.lengths["x"].reshape(-1))]

    given = chunks(plain)
    half = len(given) // 2
    want = []
    for epoch in (given[:half], given[half:]):
        for number, begin in enumerate(range(0, half, 16)):
            want += sorted(epoch[begin:begin + 16], key=lambda chunk: chunk[2], reverse=number % 2 == 1)
    assert chunks(pipe, threads=1) == chunks(pipe, threads=8) == want
