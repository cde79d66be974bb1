# SPDX-License-Identifier: Apache-2.0
"""The batches of a pipeline as a data set of torch, in a process that has torch (test_dlpack.py says which)."""
from __future__ import annotations

import subprocess
import sys

import pytest
from test_dlpack import TESTS, torch_folder


@pytest.mark.parametrize("case", ["every_iter_is_the_next_epoch", "workers_give_the_stream_of_none",
                                  "workers_stand_beside_row_shards", "a_state_after_any_batch_goes_on_with_other_workers",
                                  "a_state_without_a_batch_is_the_place_of_this_process",
                                  "filters_and_straddling_epochs_count_their_batches_on_the_way",
                                  "a_batch_keeps_lengths_epoch_and_mask", "a_batch_without_its_place_is_refused",
                                  "a_pickled_data_set_never_writes_to_a_file_of_others",
                                  "batches_are_trees_of_torch", "a_training_that_stops_anywhere_goes_on_with_the_same_losses"])
def test_a_data_set_of_torch(case, tmp_path):
    code = f"import pathlib, dataset_cases; dataset_cases.{case}(pathlib.Path({str(tmp_path)!r})); print('passed')"
    done = subprocess.run([sys.executable, "-c", code, *torch_folder()], cwd=TESTS, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "passed\n"), done.stderr
