// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/control_group.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::engine {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

/// The limits in a tree with these files, by their paths under /sys/fs/cgroup, for a process of these groups.
GroupLimits limits(const std::string& groups, const Files& files) {
  const std::filesystem::path root = std::filesystem::path{::testing::TempDir()} / "forebay_control_group";
  std::filesystem::remove_all(root);
  const auto write = [&](const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path} << text << '\n';
  };
  write(root / "proc/self/cgroup", groups);
  for (const auto& [path, text] : files) write(root / "sys/fs/cgroup" / path, text);
  const GroupLimits out = group_limits(root.string());
  std::filesystem::remove_all(root);
  return out;
}

constexpr std::int64_t unlimited = INT64_MAX;

TEST(ControlGroup, AQuotaIsRoundedUpToProcessors) {
  const std::array texts{"200000 100000", "150000 100000", "1000 100000", "max 100000", "-1 100000", "", "x"};
  std::vector<std::int64_t> found;
  for (const char* text : texts) found.push_back(processors_of_quota(text));
  EXPECT_EQ(found, (std::vector<std::int64_t>{2, 2, 1, unlimited, unlimited, unlimited, unlimited}));
}

TEST(ControlGroup, OfVersion2TheLeastOfAllNestedGroupsCounts) {
  const Files nested{{"cpu.max", "max 100000"},           {"job/cpu.max", "400000 100000"},
                     {"job/memory.max", "8000000"},       {"job/step/cpu.max", "max 100000"},
                     {"job/step/memory.max", "max"},      {"job/step/task/cpu.max", "800000 100000"},
                     {"job/step/task/memory.max", "max"}, {"other/cpu.max", "100000 100000"}};
  EXPECT_EQ(limits("0::/job/step/task", nested), (GroupLimits{4, 8'000'000}));
  EXPECT_EQ(limits("0::/job", nested), (GroupLimits{4, 8'000'000}));
  EXPECT_EQ(limits("0::/", nested), (GroupLimits{unlimited, unlimited}));
}

TEST(ControlGroup, OfVersion1TheLeastOfAllNestedGroupsCounts) {
  const Files nested{{"cpu,cpuacct/cpu.cfs_quota_us", "-1"},
                     {"cpu,cpuacct/cpu.cfs_period_us", "100000"},
                     {"cpu,cpuacct/job/cpu.cfs_quota_us", "250000"},
                     {"cpu,cpuacct/job/cpu.cfs_period_us", "100000"},
                     {"cpu,cpuacct/job/task/cpu.cfs_quota_us", "-1"},
                     {"cpu,cpuacct/job/task/cpu.cfs_period_us", "100000"},
                     {"memory/memory.limit_in_bytes", "9223372036854771712"},
                     {"memory/job/memory.limit_in_bytes", "5000000"},
                     {"memory/job/task/memory.limit_in_bytes", "7000000"}};
  EXPECT_EQ(limits("4:memory:/job/task\n3:cpu,cpuacct:/job/task\n1:name=systemd:/job", nested),
            (GroupLimits{3, 5'000'000}));
  EXPECT_EQ(limits("4:memory:/job/task\n3:cpu,cpuacct:/", nested), (GroupLimits{unlimited, 5'000'000}));
}

TEST(ControlGroup, InAContainerTheTopIsItsOwnGroup) {
  const Files version2{{"cpu.max", "200000 100000"}, {"memory.max", "3000000"}};
  for (const char* groups : {"0::/", "0::/docker/of/the/host", "0::/../..", "", "0::", "no group", "::"})
    EXPECT_EQ(limits(groups, version2), (GroupLimits{2, 3'000'000})) << groups;
  const Files version1{{"cpu/cpu.cfs_quota_us", "200000"},
                       {"cpu/cpu.cfs_period_us", "100000"},
                       {"memory/memory.limit_in_bytes", "3000000"}};
  EXPECT_EQ(limits("2:cpu:/docker/of/the/host\n1:memory:/docker/of/the/host", version1), (GroupLimits{2, 3'000'000}));
}

TEST(ControlGroup, WhatCannotBeReadLimitsNothing) {
  EXPECT_EQ(group_limits("/nowhere"), (GroupLimits{unlimited, unlimited}));
  EXPECT_EQ(limits("0::/job", {{"job/cpu.max", "many"}, {"job/memory.max", "-5"}}),
            (GroupLimits{unlimited, unlimited}));
}

}  // namespace
}  // namespace forebay::engine
