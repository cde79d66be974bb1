// SPDX-License-Identifier: Apache-2.0
#include "launch/rank.h"

#include <array>
#include <charconv>
#include <vector>

#include <fmt/core.h>

#include <forebay/messages.h>

namespace forebay::launch {

namespace {

struct Launcher {
  std::string_view name;
  const char* index;
  const char* count;
};
constexpr Launcher slurm{"SLURM", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"};
constexpr std::array<Launcher, 5> launchers{{
    // in order of precedence
    {"torchrun", "RANK", "WORLD_SIZE"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI", "PMI_RANK", "PMI_SIZE"},
    slurm,
    {"JAX", "JAX_PROCESS_ID", "JAX_NUM_PROCESSES"},
}};
constexpr const char* torchrun_mark = "TORCHELASTIC_RUN_ID";
constexpr std::array step_ids{"SLURM_STEP_ID", "SLURM_STEPID"};  // by age of SLURM
constexpr std::array also_named{torchrun_mark, step_ids[0], step_ids[1], "SLURM_NTASKS"};
// SLURM gives a process outside a step of srun (batch script, interactive shell, …) a number at the top of 32 bits.
constexpr std::int64_t first_special_step = 0xfffffff0;

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size() || out < 0) return std::nullopt;
  return out;
}

/// The ranks that the environment names, and the faults in its variables.
class Witness {
 public:
  explicit Witness(const Environment& environment) : environment_{environment} {}

  /// Appends the rank that one launcher names; nothing when neither of its variables is set.
  [[nodiscard]] Result<void> hear(const Launcher& launcher, std::vector<Rank>& heard) const {
    const auto index_text = environment_(launcher.index);
    const auto count_text = environment_(launcher.count);
    if (!index_text && !count_text) return {};
    if (!index_text || !count_text) {
      return fault(fmt::format("{} is set, but {} is not", index_text ? launcher.index : launcher.count,
                               index_text ? launcher.count : launcher.index));
    }
    FOREBAY_TRY(const std::int64_t index, number(launcher.index, *index_text));
    FOREBAY_TRY(const std::int64_t count, number(launcher.count, *count_text));
    if (count == 0) return fault(fmt::format("{} must be at least 1, and is 0", launcher.count));
    if (index >= count) {
      return fault(
          fmt::format("{} must be from 0 to {} - 1 = {}, and is {}", launcher.index, launcher.count, count - 1, index));
    }
    heard.push_back({index, count, std::string{launcher.name}});
    return {};
  }

  [[nodiscard]] Result<bool> in_slurm_step() const {
    for (const char* name : step_ids) {
      const auto text = environment_(name);
      if (!text) continue;
      FOREBAY_TRY(const std::int64_t step, number(name, *text));
      return step < first_special_step;
    }
    return false;
  }

  /// Whether RANK comes from torchrun and not from a script that sets it.
  [[nodiscard]] bool by_torchrun() const { return environment_(torchrun_mark).has_value(); }

  [[nodiscard]] Error fault(const std::string& words) const {
    std::string seen;
    const auto add = [&](const char* name) {
      const auto value = environment_(name);
      if (value) seen += fmt::format("{}{}={}", seen.empty() ? "" : ", ", name, quote(*value));
    };
    for (const Launcher& launcher : launchers) add(launcher.index), add(launcher.count);
    for (const char* name : also_named) add(name);
    return {Code::config, Detail::invalid_argument,
            fmt::format(
                "cannot determine the rank of this process: {}. Variables: {}. Set or unset these variables, or name "
                "the shard, as 0/4",
                words, seen)};
  }

 private:
  [[nodiscard]] Result<std::int64_t> number(const char* name, const std::string& text) const {
    const auto out = whole_number(text);
    if (!out) return fault(fmt::format("{} must be a whole number from 0 on, and is {}", name, quote(text)));
    return *out;
  }

  const Environment& environment_;
};

/// Whether the numbers of a SLURM step agree with those of a launcher that the step may have started.
bool leaves_room(const Rank& step, const Rank& inner, bool by_torchrun) {
  if (inner.count < step.count) return false;
  // torchrun numbers nodes as they report, and MPI by its host list. But RANK from a script that runs once a task must
  // be the rank of the task.
  return inner.count > step.count || inner.source != launchers[0].name || by_torchrun || inner.index == step.index;
}

}  // namespace

Result<Rank> detect_rank(const Environment& environment) {
  const Witness witness{environment};
  FOREBAY_TRY(const bool in_step, witness.in_slurm_step());
  std::vector<Rank> heard;
  for (const Launcher& launcher : launchers) {
    if (launcher.name == slurm.name && !in_step) continue;
    FOREBAY_DO(witness.hear(launcher, heard));
  }
  if (heard.empty()) return Rank{.source = "single"};
  const Rank& believed = heard.front();
  for (const Rank& other : heard) {
    const bool agree = other.source == slurm.name ? leaves_room(other, believed, witness.by_torchrun())
                                                  : other.index == believed.index && other.count == believed.count;
    if (agree) continue;
    return witness.fault(fmt::format("{} says {} of {}, and {} says {} of {}", believed.source, believed.index,
                                     believed.count, other.source, other.index, other.count));
  }
  return believed;
}

Result<std::optional<Rank>> parse_shard(std::string_view text) {
  if (text == "auto") return std::optional<Rank>{};
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos) {
    const auto index = whole_number(text.substr(0, slash));
    const auto count = whole_number(text.substr(slash + 1));
    if (index && count && *index < *count) return std::optional{Rank{*index, *count, "named"}};
  }
  return Error{Code::config, Detail::invalid_argument,
               fmt::format("a shard must be I/N with I from 0 to N - 1, as 0/4, or auto; found {}", quote(text))};
}

}  // namespace forebay::launch
