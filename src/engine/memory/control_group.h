// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace forebay::engine {

/// What the control groups allow this process, in version 1 and 2: the least of its own group and of those above it.
struct GroupLimits {
  std::int64_t processors = INT64_MAX;  ///< The quota of time, rounded up; INT64_MAX without one.
  std::int64_t memory = INT64_MAX;      ///< Bytes; INT64_MAX without a limit.

  friend bool operator==(const GroupLimits&, const GroupLimits&) = default;
};

/// Reads /proc/self/cgroup and /sys/fs/cgroup under `root`. What cannot be read limits nothing.
[[nodiscard]] GroupLimits group_limits(const std::string& root = {});

/// The CPUs that a quota allows, rounded up: "QUOTA PERIOD" as in cpu.max. INT64_MAX without a quota ("max").
[[nodiscard]] std::int64_t processors_of_quota(std::string_view text);

}  // namespace forebay::engine
