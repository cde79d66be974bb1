# SPDX-License-Identifier: Apache-2.0
"""The note in the schema of a table that says which columns are lists of frames of SequenceExamples."""
from __future__ import annotations

import json
from typing import Mapping, Optional

#: The key of the note in the schema of a table.
KEY = b"forebay.sequence_example"


def metadata_of(lists: "frozenset[str]") -> "Optional[dict[bytes, bytes]]":
    """The note of a table whose columns `lists` are lists of frames."""
    return {KEY: json.dumps({"lists": sorted(lists)}).encode()} if lists else None


def lists_of(metadata: "Optional[Mapping[bytes, bytes]]") -> "frozenset[str]":
    """The columns that are lists of frames by the note of a table; none without a note that can be read."""
    try:
        return frozenset(str(name) for name in json.loads((metadata or {}).get(KEY, b"{}")).get("lists", []))
    except (ValueError, AttributeError, TypeError):
        return frozenset()
