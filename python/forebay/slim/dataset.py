# SPDX-License-Identifier: Apache-2.0
"""The description of a data set."""
from __future__ import annotations

from typing import Any, Callable, Mapping, Optional, Sequence, Union

__all__ = ["Dataset"]


class Dataset:
    """Where the records of a data set are, how they are decoded, and what its items mean. Nothing is checked.

    data_sources             files and patterns
    reader                   the function that reads them: fb.tfrecord, fb.lines
    decoder                  a TFExampleDecoder, or another object with `list_items` and `decode`
    num_samples              number of records, for the reader of this description only
    items_to_descriptions    a sentence for each item
    kwargs                   more attributes
    """

    def __init__(self, data_sources: Union[str, Sequence[str]], reader: Optional[Callable[..., Any]], decoder: Any,
                 num_samples: Optional[int], items_to_descriptions: Mapping[str, str], **kwargs: Any) -> None:
        for name, value in kwargs.items():
            setattr(self, name, value)
        self.data_sources = data_sources
        self.reader = reader
        self.decoder = decoder
        self.num_samples = num_samples
        self.items_to_descriptions = items_to_descriptions
