# SPDX-License-Identifier: Apache-2.0
"""Files of vectors whose subject is not built yet. A line of any other file must pass."""

from __future__ import annotations

from typing import Any

SKIPPED: dict[str, str] = {
    "tf/batch.jsonl": "later issue: queue front end",
    "tf/producers.jsonl": "later issue: queue front end",
    "tf/queue_script.jsonl": "later issue: queue front end",
    "tf/shuffle_join.jsonl": "later issue: queue front end",
    "tf/slim_decoder.jsonl": "later issue: item decoders",
    "tf/slim_provider.jsonl": "later issue: item decoders",
    "tf/slim_sequence_decoder.jsonl": "later issue: item decoders",
}

# Operations that are not built yet, in files of which other vectors must pass.
SKIPPED_OPS: dict[str, str] = {
    "identity": "later issue: readers as objects",
}


def skipped(file: str, vector: dict[str, Any]) -> bool:
    return file in SKIPPED or vector["op"] in SKIPPED_OPS
