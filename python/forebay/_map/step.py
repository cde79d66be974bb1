# SPDX-License-Identifier: Apache-2.0
"""One `map` of a pipeline as its caller described it, and checked."""
from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Optional

from forebay._arguments import integer_of, out_of_range
from forebay._map.output import Output, output_of
from forebay._structure import Arranged
from forebay.errors import ConfigError

MAX_WORKERS = 1024


class MapStep(NamedTuple):
    """`sent` is the function as a process loads it; None where no process is asked for. `arranges`: it is not one of the program;
    it gives the tensors the structure of the rows."""

    function: Callable[..., Any]
    name: str
    per: str
    workers: int
    inside: str
    stated: Any
    output: Optional[Output]
    with_rng: bool
    sent: Optional[bytes]
    arranges: bool = False


def step_of(function: Any, per: str, workers: Any, inside: str, output: Any) -> MapStep:
    """Raises TypeError or ConfigError that names the argument."""
    if not callable(function):
        raise TypeError(f"map needs a function, found {type(function).__name__}")
    for name, value, allowed in (("per", per, ("batch", "row")), ("inside", inside, ("threads", "processes"))):
        if value not in allowed:
            raise ConfigError(f"{name}: must be {' or '.join(map(repr, allowed))}, found {value!r}", code="config",
                              detail="invalid_argument")
    count = integer_of("workers", workers)
    if not 0 <= count <= MAX_WORKERS:
        raise out_of_range("workers", f"an integer from 0 to {MAX_WORKERS}", count)
    columns = output_of(output)
    sent = None
    if count and inside == "processes":
        from forebay._map.processes import sent_function
        sent = sent_function(function, name_of(function))
    return MapStep(function, name_of(function), per, count, inside, dict(output) if isinstance(output, Mapping) else output, columns,
                   takes_rng(function, per), sent)


def arranging(tree: Any, delivered: "list[str]") -> MapStep:
    """The step that gives batches the structure of the rows. Raises ConfigError when that cannot be."""
    function = Arranged(tree, delivered)
    return MapStep(function, name_of(function), "batch", 0, "threads", None, None, False, None, True)


def libraries_of(step: MapStep) -> str:
    """`Call.libraries` for calls in this process."""
    return "unused" if step.arranges else "shared" if step.workers else "lent"


def name_of(function: object) -> str:
    return str(getattr(function, "__name__", repr(function)))


def takes_rng(function: Callable[..., Any], per: str) -> bool:
    """Whether a function is given a random generator. For batches it names the parameter `rng`; for rows it is the second
    one, unless there is no second one."""
    import inspect
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions of C do not tell
        return per == "row"
    if per == "batch":
        found = signature.parameters.get("rng")
        return found is not None and found.kind in (found.POSITIONAL_OR_KEYWORD, found.KEYWORD_ONLY)
    try:
        signature.bind(None, None)
    except TypeError:
        return False
    return True
