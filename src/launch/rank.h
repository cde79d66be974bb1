// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <forebay/error.h>

/// The number of this process among the processes of a training job.
namespace forebay::launch {

struct Rank {
  std::int64_t index = 0;  ///< From 0 to count - 1.
  std::int64_t count = 1;
  std::string source;  ///< The launcher that named it, for a log: "torchrun", "Open MPI", "PMI", "SLURM", "JAX",
                       ///< "single", "named".

  friend bool operator==(const Rank&, const Rank&) = default;
};

/// The value of an environment variable; empty when it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// Reads the rank from the environment. The first of these launchers whose variables are set decides:
/// torchrun (RANK, WORLD_SIZE), Open MPI (OMPI_COMM_WORLD_RANK, …_SIZE), PMI (PMI_RANK, PMI_SIZE), a SLURM step
/// (SLURM_PROCID, SLURM_STEP_NUM_TASKS), JAX (JAX_PROCESS_ID, JAX_NUM_PROCESSES); if none is set, it is rank 0 of 1.
///
/// A SLURM step often starts one of the other launchers on each node. Its numbers then count nodes, and the launcher
/// must have at least as many processes as the step has tasks. Outside a step, as in a batch script, SLURM's numbers do
/// not describe this process and are ignored. A child process inherits the variables of its parent, and so its rank.
///
/// Fails with Code::config, naming every variable that was seen and its value, when a variable is no number or out of
/// range, when one of a pair is missing, and when launchers disagree.
[[nodiscard]] Result<Rank> detect_rank(const Environment& environment);

/// Parses "0/4", rank 0 of 4. "auto" gives nothing: the run calls detect_rank. Anything else is a Code::config error.
[[nodiscard]] Result<std::optional<Rank>> parse_shard(std::string_view text);

}  // namespace forebay::launch
