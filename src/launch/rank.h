// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <forebay/error.h>

/// Which of the processes of a training job this one is.
namespace forebay::launch {

struct Rank {
  std::int64_t index = 0;  ///< From 0 to count - 1.
  std::int64_t count = 1;
  std::string source;  ///< Who said so, for a log: "torchrun", "Open MPI", "PMI", "SLURM", "JAX", "single", "named".

  friend bool operator==(const Rank&, const Rank&) = default;
};

/// The value of an environment variable; empty when it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// What the launcher of this process says in the environment. The first of these that speaks is believed:
/// torchrun (RANK, WORLD_SIZE), Open MPI (OMPI_COMM_WORLD_RANK, …_SIZE), PMI (PMI_RANK, PMI_SIZE), a SLURM step
/// (SLURM_PROCID, SLURM_STEP_NUM_TASKS), JAX (JAX_PROCESS_ID, JAX_NUM_PROCESSES); without any it is rank 0 of 1.
///
/// A SLURM step often starts one of the others on each node; its numbers then count nodes, and only have to leave room:
/// no fewer processes than the step has tasks. Outside a step, as in a batch script, SLURM's numbers say nothing about
/// this process and are not looked at. A child process inherits its parent's variables, and so its rank.
///
/// Fails with Code::config, naming every variable that was seen and its value, when a variable is no number or out of
/// range, when one of a pair is missing, and when launchers disagree.
[[nodiscard]] Result<Rank> detect_rank(const Environment& environment);

/// "0/4" is rank 0 of 4; "auto" is nothing: whoever runs the document asks detect_rank. Code::config for all else.
[[nodiscard]] Result<std::optional<Rank>> parse_shard(std::string_view text);

}  // namespace forebay::launch
