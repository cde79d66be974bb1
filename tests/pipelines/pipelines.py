# SPDX-License-Identifier: Apache-2.0
"""Draws pipelines: any plug-in in any place that its kind allows. What has no meaning is left to the plan to refuse.

A pipeline is drawn as the Python that makes it, so that a failure can be typed in as it is printed."""
from __future__ import annotations

import dataclasses
import random
from typing import Callable

import data

# The columns of each source besides `id`.
COLUMNS = {"example": "xftia", "compressed_example": "xftia", "sequence_example": "x", "json_lines": "xt", "csv": "t", "fixed_length": "",
           "tar": "t", "whole_file": "", "npy": "", "npz": "", "parquet": "xt", "arrow": "xt", "arrays": "xf", "python_sequence": "",
           "python_open": "x", "remote_example": "xftia", "remote_compressed_example": "xftia", "remote_large_example": "xftia", "remote_json_lines": "xt",
           "web_example": "xftia", "remote_whole_file": ""}
NAMES = {"x": "x", "f": "f", "t": "t", "i": "im", "a": "au"}
# Sources of which this module also draws `record_key`, and set c.
KEYED = ("example", "compressed_example", "remote_example", "remote_compressed_example", "web_example")
# Sources whose files may have indexes before the run, and how often.
INDEXED = {"remote_large_example": .7, "remote_compressed_example": .5, "remote_example": .3, "web_example": .4}
if not data.arrow_tables():
    del COLUMNS["parquet"], COLUMNS["arrow"]


@dataclasses.dataclass
class Case:
    code: str                    # Python that makes the pipeline, with `data` and `fb`
    whole: bool                  # every row of its sources comes once in each epoch, no other one, and with its own values
    paired: "tuple[str, ...]"    # tensors beside `id` that begin with 100 `id` + 1
    shards: bool                 # the batches put together are those of the run without shards
    sources: "list[str]"


class Draw:
    """One pipeline. `whole`, `paired` and `shards` say what it promises; a stage that gives a promise up clears it."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.whole = self.paired = self.shards = True
        self.columns = ""        # of the rows at this place
        self.lengths = False     # `x` has its axis still
        self.batched = False     # the branches of the combination make batches
        self.sources: "list[str]" = []

    def one(self, *choices: "str | Callable[[], str]") -> str:
        got = self.rng.choice(choices)
        return got if isinstance(got, str) else got()

    def number(self, low: int, high: int) -> int:
        return self.rng.randint(low, high)

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def lose(self, code: str, *, whole: bool = True, paired: bool = False, shards: bool = False) -> str:
        self.whole = self.whole and not whole
        self.paired = self.paired and not paired
        self.shards = self.shards and not shards
        return code

    # ---- sources
    def source(self, name: str = "", rows: str = "") -> str:
        name = name or self.rng.choice(list(COLUMNS))
        self.columns, self.lengths = COLUMNS[name], "x" in COLUMNS[name]
        self.sources.append(name)
        options = ""
        if name in KEYED and self.chance(.25):
            options = ', record_key="key"'
        if name in ("whole_file", "remote_whole_file") and self.chance(.5):
            options = ', label_from="folder", classes=["whole-b", "none", "whole-a"]'
        if name in INDEXED and self.chance(INDEXED[name]):
            options += ", indexed=True"
        if name in ("json_lines", "remote_json_lines") and self.chance(.5):
            options = ', "jsonl.gz"'
        if not rows and name in ("example", "remote_example", "web_example") and self.chance(.2):
            policy = self.one("fail", "skip_record", "skip_row", "skip_file")
            self.lose("")
            return f'data.{name}("c"{options.removesuffix(", indexed=True")}).on_corrupt("{policy}")'
        return f'data.{name}("{rows or self.one("a", "a", "b")}"{options})'

    # ---- stages of rows
    def step(self) -> str:
        choices: "list[Callable[[], str]]" = [lambda: '.constant("k", [2], "int32", value=7)' if self.chance(.5) else '.ones("o", [], "float32")',
                                              lambda: '.rename("id", "id")' if self.chance(.1) else '.cast("id", "int32")']
        if self.lengths:
            choices += [lambda: self.lose(f'.slice("x", "[:{self.number(1, 4)}]")', whole=False),
                        lambda: '.cast("x", "int32")',
                        lambda: self.unpaired('.normalize("x", 0)' if self.chance(.3) else '.one_hot("x", 3)')]
        if "f" in self.columns:
            choices += [lambda: '.normalize("f", 0)', lambda: '.reshape("f", [2, 1])', lambda: '.slice("f", "[::-1]")']
        if "t" in self.columns:
            choices += [lambda: '.split_text("t", out="w")', lambda: '.check_utf8("t")', lambda: '.byte_ids("t", out="b")',
                        lambda: '.lookup("t", out="n", tokens=["", "a", "b bb"])',
                        lambda: '.split_text("t", out="w").ngrams("w", out="g")',
                        lambda: '.join_table("t", file="table.csv", key="key", columns={"long": {"dtype": "int32", "default": -1}, '
                                '"other": {"dtype": "string", "default": ""}}, missing="default")']
        if "i" in self.columns:
            choices += [lambda: self.one('.decode_image("im", out="pixels")', '.decode_image("im", out="pixels", resize=[3, 5])',
                                         '.decode_image("im", out="pixels").color_jitter("pixels", brightness=0.5, max=255)')]
        if "a" in self.columns:
            choices += [lambda: self.one('.decode_audio("au", out="wave", mono=True)',
                                         '.decode_audio("au", out="wave", mono=True)'
                                         '.log_mel("wave", sample_rate=8000, n_fft=16, hop_length=8, n_mels=4)',
                                         '.decode_audio("au", out="wave", mono=True, sample_rate=4000)'
                                         '.log_mel("wave", n_fft=16, hop_length=8, n_mels=4)')]
        return self.rng.choice(choices)()

    def unpaired(self, code: str) -> str:
        return self.lose(code, whole=False, paired=True)

    def files(self) -> str:
        """Orders of files."""
        return self.one(lambda: ".shuffle(3)", lambda: self.lose(f".take_files({self.number(1, 3)})"), lambda: self.lose(".skip_files(1)"),
                        lambda: '.reorder("backwards", of="files")', lambda: self.lose(".repeat(2)"))

    def opening(self) -> str:
        """An order that reaches rows by number, or takes files in turn."""
        choices: "list[Callable[[], str]]" = [lambda: f".interleave({self.number(1, 4)}, block={self.number(1, 3)})",
                                              lambda: '.shuffle("global")', lambda: '.shuffle("global")', lambda: '.reorder("backwards")',
                                              lambda: self.lose(f".random_sample({self.number(6, 30)})"),
                                              lambda: self.one('.sequence_order("random")', '.sequence_order("reverse")',
                                                               lambda: self.lose('.sequence_order("random", partition_epoch=2)')),
                                              lambda: '.sorted("id", descending=True)']
        if self.lengths:
            choices += [lambda: '.sorted("length(x)")', lambda: '.sequence_order("laplace:.5", by="length(x)")',
                        lambda: '.sequence_order("sort_bin_shuffle:3", by="length(x)")']
        return self.rng.choice(choices)()

    def condition(self) -> str:
        conditions = [f"id % {self.number(2, 6)} != 0"] + ["length(x) > 2", "id % 3 == 1 or length(x) == 0"] * self.lengths
        return self.lose(f'.{self.one("filter", "filter", "take_while")}("{self.rng.choice(conditions)}")')

    def order(self) -> str:
        """An order of rows as they come."""
        small, some = self.number(1, 5), self.number(6, 30)
        choices: "list[Callable[[], str]]" = [
            lambda: f".shuffle({self.number(2, 20)})", lambda: f".shuffle({self.number(2, 20)})", self.condition, self.condition,
            lambda: self.lose(f".take({some})"), lambda: self.lose(f".skip({small})"), lambda: self.lose(f".repeat({self.number(1, 3)})"),
            lambda: self.lose(f".random_sample({some}, buffer={small})")]
        if self.lengths:
            choices += [lambda: f'.laplace({some}, "length(x)")']
        return self.rng.choice(choices)()

    def window(self) -> str:
        if not self.lengths:
            return self.step()
        size, keys = self.number(1, 4), 'keys=["x"]'
        code = self.one(
            lambda: f".chunk({size}, {keys}, step={self.number(1, 4)})",
            lambda: f'.chunk_function("halves", {keys})',
            lambda: f".chunk({size}, {keys}).context(left={{'x': 1}}, right={{'x': {size}}})",
            lambda: self.unpaired(f'.continuous({size}, {size + 2}, {keys}, stride={size}, tail="keep")'),
            lambda: self.unpaired(f'.discrete({size}, {size + 2}, {keys}, tail="keep")'),
            lambda: self.unpaired(f'.stack(["x"], window={size})'),
            lambda: self.flat('.unbatch(["x"])'),
            lambda: f".unroll({size}, {keys})")
        return self.lose(code, paired="context" in code)

    def function(self) -> str:
        """A function of the program, whose rows the stages behind it get."""
        return self.one('.map(data.kept, per="row")', '.map(data.kept, per="row", workers=2)')

    def flat(self, code: str) -> str:
        self.lengths = False
        return self.unpaired(code)

    def rows(self, most: int, opens: bool = True) -> str:
        """Stages of rows: most of the time in an order that plans accept, else in any."""
        plan: "list[Callable[[], str]]" = []
        if opens:
            plan += [self.files] * self.chance(.15) + [self.step] * self.chance(.2) + [self.condition] * self.chance(.2)
            plan += [self.opening] * self.chance(.5)
        plan += [self.rng.choice([self.step, self.order]) for _ in range(self.number(0, most))]
        plan += [self.window] * self.chance(.3 if opens else .1) + [self.order] * self.chance(.3)
        plan += [self.function] * self.chance(.05) + [self.rng.choice([self.window, self.order, self.opening, self.condition])] * self.chance(.15)
        if self.chance(.15):
            self.rng.shuffle(plan)
        return "".join(stage() for stage in plan)

    # ---- combinations
    def combination(self, depth: int = 1) -> str:
        kind = self.one("mix", "concat", "round_robin", "join", "zip")
        if kind == "zip" and depth == 1:
            return self.zipped()
        kind = "mix" if kind == "zip" else kind
        name = self.rng.choice(["", "", *COLUMNS])
        branches, columns = [], []
        for rows in self.rng.sample(["a", "b"], 2):
            if depth < 4 and self.chance(.2):
                branches.append(self.lose(self.combination(depth + 1)) + self.branch())
            else:
                branches.append(self.source(name, rows) + self.branch())
            columns.append((self.columns, self.lengths))
        self.columns = "".join(sorted(set(columns[0][0]) & set(columns[1][0])))
        self.lengths = columns[0][1] and columns[1][1]
        if self.chance(.12):   # a turn is a batch
            branches = [branch + self.batches_of_branch() for branch in branches]
            self.batched = self.batched or depth == 1
        fill = ""
        if set(columns[0][0]) != set(columns[1][0]):
            missing = {"x": "0", "f": "0.0", "t": '""', "i": '""', "a": '""'}
            gaps = set(columns[0][0]) ^ set(columns[1][0])
            fill = ", fill={" + ", ".join(f'"{NAMES[c]}": {missing[c]}' for c in sorted(gaps)) + "}"
            self.unpaired("")
        options = ""
        if kind == "mix":
            options = self.one(', weights=[2, 1], until="all"', ', weights=[(0, [2, 1]), (1, [1, 3])], until="all"',
                               lambda: self.lose(', weights=[(0, [2, 1]), (1, [1, 0])], until="all"'), lambda: self.lose(f", until={self.number(3, 30)}, repeat=True"))
        elif kind == "round_robin":
            options = self.one(', until="all"', lambda: self.lose(""))
        return f"fb.{kind}([{', '.join(branches)}]{options}{fill})"

    def branch(self) -> str:
        """Stages of a branch."""
        plan = [self.step] * self.chance(.3) + [self.condition] * self.chance(.2) + [self.opening] * self.chance(.4) + [self.order] * self.chance(.4)
        plan += [self.window] * self.chance(.1) + [self.function] * self.chance(.05)
        return self.rows(2) if self.chance(.1) else "".join(stage() for stage in plan)

    def zipped(self) -> str:
        """Branches with the same rows, so that each row shows whether what lies side by side belongs together."""
        left, right = self.rng.sample([name for name in COLUMNS if name != "whole_file"], 2)
        first, second = self.source(left, "a"), self.source(right, "a")
        policy = ""
        if self.chance(.3):
            first, left = f'{self.source("example", "a").partition("(")[0]}("c")', "example"
            policy = f'.on_corrupt("{self.one("fail", "skip_row", "skip_row", "skip_record")}")'
            if self.chance(.3):
                first, policy = first + policy, ""
        stages = self.one(self.opening, self.order) if self.chance(.7) else ""
        if "x" in COLUMNS[left] and "x" in COLUMNS[right] and self.chance(.15):
            stages += self.one('.chunk(2, keys=["x"])', '.chunk_function("halves", keys=["x"])', '.unroll(2, keys=["x"])', '.unbatch(["x"])')
        stages += self.function() if self.chance(.1) else ""
        others = stages if self.chance(.85) else self.one(self.opening, self.order)
        dropped = any(word in stages + others for word in ("filter", "take", "skip", "repeat", "sample"))
        second_id = "id3" if stages != others and dropped else "id2"     # row i of one branch lies beside row i of another, whichever that is
        names = f'.rename("id", "{second_id}")'
        names += "".join(f'.rename("{name}", "{name}2")' for c, name in NAMES.items() if c in COLUMNS[right])
        if "record_key" in second:
            second = second.replace(', record_key="key"', "")
        self.columns, self.lengths = COLUMNS[left], "x" in COLUMNS[left] and "unbatch" not in stages
        self.lose("")
        return f"fb.zip([{first}{stages}, {second}{others}{names}]){policy}"

    # ---- batches
    def batches_of_branch(self) -> str:
        size = self.number(1, 6)
        choices: "list[Callable[[], str]]" = [lambda: f".batch({size}, pad=True)", lambda: f".batch({size}, pad=True).shuffle_batches(3)"]
        if self.lengths:
            choices += [lambda: f'.buckets("x", [2, 5], [{size}, 3, 2], longer="bucket")', lambda: f'.token_budget({self.number(8, 30)}, keys=["x"])',
                        lambda: self.lose(f'.packed({self.number(6, 16)}, {size}, keys=["x"])', paired=True, shards=True)]
        return self.rng.choice(choices)()

    def batcher(self) -> str:
        size, pad = self.number(1, 8), self.one("True", "True", "False")
        choices: "list[Callable[[], str]]" = [
            lambda: f'.batch({size}, pad={pad}, remainder="{self.one("keep", "pad")}")',
            lambda: self.lose(f'.batch({size}, pad=True, remainder="{self.one("drop", "repeat")}")'),
            lambda: f".batch({size}, pad=True, seq_idx=True, epoch_end=True)",
            lambda: self.lose(f'.batch(4, pad=True, size_function="sizes")', shards=True)]
        if self.lengths:
            longer = self.one("drop", "bucket")
            # Batches without a frame are left out.
            choices += [lambda: self.lose(f'.frames(["x"], batch_size={self.number(6, 24)})'),
                        lambda: self.lose(f'.frames(["x"], batch_size={self.number(3, 24)}, recurrent=False)', paired=True),
                        lambda: f'.token_budget({self.number(8, 30)}, keys=["x"])',
                        lambda: self.lose(f'.packed({self.number(6, 16)}, {size}, keys=["x"], fit="{self.one("first", "best")}")',
                                          paired=True, shards=True),   # which deal the rows before they are packed
                        lambda: self.lose(f'.buckets("x", [2, 5], [{size}, 3{", 2" * (longer == "bucket")}], longer="{longer}")',
                                          whole=longer == "drop"),
                        lambda: self.lose(f'.unroll({self.number(1, 4)}, keys=["x"]).stateful({size})')]
        return self.rng.choice(choices)()

    def behind(self) -> str:
        """Steps and orders behind the batcher, and functions of the program."""
        code = ""
        if self.chance(.25):
            code += self.step()
        if self.chance(.25):
            code += self.one(lambda: self.lose(f".shuffle_batches({self.number(2, 6)})", whole=False),
                             lambda: self.lose(f".batch_slice({self.number(0, 2)}, step={self.number(1, 2)})", shards=True))
        return code

    def map(self) -> str:
        if self.chance(.85):
            return ""
        self.lose("", paired=True, shards=True)
        if self.chance(.15):   # every run starts them anew, which takes more time than all else
            return self.one('.map(data.draws, per="row", workers=2, inside="processes")', '.map(data.per_batch, workers=2, inside="processes")',
                            '.map(data.deadly, workers=2, inside="processes")')
        return self.one('.map(data.draws, per="row")', ".map(data.per_batch)", '.map(data.per_row, per="row")',
                        '.map(data.per_batch, workers=2, inside="threads")')

    def case(self) -> Case:
        code = self.combination() if self.chance(.25) else self.source() + self.rows(2)
        passed = self.batched and self.chance(.6)
        if code.startswith("fb.") and not passed:
            code += self.rows(2, opens=False)
        code += "" if passed else self.batcher()
        if self.chance(.05):   # the engine goes on with the batches of a function
            code += self.lose(".map(data.per_batch)", paired=True, shards=True) + '.cast("id", "int32")'
        code += self.behind()
        code += f".epochs({self.number(1, 3)}).seed({self.number(0, 99)})"
        if "epoch_end" in code:
            code += '.epoch_boundary("hard")'
        elif self.chance(.4):
            code += f'.epoch_boundary("{self.one("straddle", "hard")}")'
        bound = [name for name in data.BOUND if f'"{name}"' in code]
        if bound:
            code += ".bind({" + ", ".join(f'"{name}": data.{name}' for name in bound) + "})"
        code += self.map()
        paired = ("x",) if self.paired and "x" in self.columns else ()
        return Case(code, self.whole, paired, self.shards, self.sources)


def case(seed: int) -> Case:
    return Draw(random.Random(seed)).case()
