# SPDX-License-Identifier: Apache-2.0
"""The batches of a pipeline as a data set of torch, in a process that has torch (test_dlpack.py says which)."""
from __future__ import annotations

import pathlib

from test_dlpack import run_cases


def test_a_data_set_of_torch(tmp_path: pathlib.Path) -> None:
    run_cases("dataset_cases", ["every_iter_is_the_next_epoch", "workers_give_the_stream_of_none", "workers_stand_beside_row_shards",
                                "a_data_loader_that_makes_batches_of_batches_is_refused",
                                "a_batch_keeps_lengths_epoch_and_mask", "a_batch_without_its_place_is_refused",
                                "a_loader_and_a_pipeline_say_what_a_data_loader_takes",
                                "a_pickled_data_set_never_writes_to_a_file_of_others", "batches_are_trees_of_torch"], tmp_path)


def test_a_state_goes_on_with_any_workers(tmp_path: pathlib.Path) -> None:
    run_cases("dataset_cases", ["a_state_after_any_batch_goes_on_with_other_workers",
                                "a_state_near_the_end_of_an_epoch_goes_on_with_any_workers", "workers_do_not_say_where_the_training_is",
                                "a_state_goes_on_with_other_weights",
                                "a_state_without_a_batch_is_the_place_of_this_process",
                                "filters_and_straddling_epochs_count_their_batches_on_the_way",
                                "a_training_that_stops_anywhere_goes_on_with_the_same_losses"], tmp_path)


def test_states_of_workers(tmp_path: pathlib.Path) -> None:
    run_cases("dataset_cases", ["workers_go_on_by_their_own_states", "a_state_of_a_worker_is_not_that_of_another",
                                "workers_take_a_state_of_the_whole_loop"], tmp_path)
