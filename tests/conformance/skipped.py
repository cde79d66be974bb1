# SPDX-License-Identifier: Apache-2.0
"""Files of vectors whose subject is not built yet. A line of any other file must pass."""

from __future__ import annotations

from typing import Any

SKIPPED: dict[str, str] = {
    "returnn/collate.jsonl": "later issue: sequence data sets",
    "returnn/misc.jsonl": "later issue: sequence data sets",
    "tf/batch.jsonl": "later issue: queue front end",
    "tf/decode_csv.jsonl": "later issue: CSV",
    "tf/producers.jsonl": "later issue: queue front end",
    "tf/queue_script.jsonl": "later issue: queue front end",
    "tf/shuffle_join.jsonl": "later issue: queue front end",
    "tf/slim_decoder.jsonl": "later issue: item decoders",
    "tf/slim_provider.jsonl": "later issue: item decoders",
    "tf/slim_sequence_decoder.jsonl": "later issue: item decoders",
}

# Operations that are not built yet, in files of which other vectors must pass.
SKIPPED_OPS: dict[str, str] = {
    "batch_dataset_drop": "later issue: draws of elements",
    "identity": "later issue: readers as objects",
}

# Arguments that are not built yet, of operations that are.
SKIPPED_ARGS: dict[str, dict[str, str]] = {
    "batch_dataset": {
        "chunking": "later issue: windows in plans",
        "context": "later issue: windows in plans",
        "recurrent": "later issue: rows of spans in plans",
        "seq_drop": "later issue: draws of elements",
        "weights": "later issue: sequence data sets",
    },
}


def skipped(file: str, vector: dict[str, Any]) -> bool:
    later = SKIPPED_ARGS.get(vector["op"], {}).keys()
    return file in SKIPPED or vector["op"] in SKIPPED_OPS or bool(later & vector["args"].keys())
