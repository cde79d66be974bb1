// SPDX-License-Identifier: Apache-2.0
#include "launch/rank.h"

#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace forebay::launch {

void PrintTo(const Rank& rank, std::ostream* out) {
  *out << rank.index << " of " << rank.count << " by " << rank.source;
}

namespace {

using Variables = std::map<std::string, std::string>;

Result<Rank> detect(const Variables& variables) {
  return detect_rank([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional{found->second};
  });
}

/// The two sets of variables together.
Variables with(Variables variables, const Variables& more) {
  variables.insert(more.begin(), more.end());
  return variables;
}

const Variables torchrun{{"RANK", "5"},
                         {"WORLD_SIZE", "8"},
                         {"LOCAL_RANK", "1"},
                         {"GROUP_RANK", "1"},
                         {"TORCHELASTIC_RUN_ID", "none"},
                         {"TORCHELASTIC_RESTART_COUNT", "0"}};
const Variables open_mpi{
    {"OMPI_COMM_WORLD_RANK", "5"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}};
const Variables pmi{{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}};
const Variables jax{{"JAX_PROCESS_ID", "5"}, {"JAX_NUM_PROCESSES", "8"}};

Variables slurm_step(const std::string& index, const std::string& count) {
  return {{"SLURM_STEP_ID", "0"},
          {"SLURM_PROCID", index},
          {"SLURM_STEP_NUM_TASKS", count},
          {"SLURM_NTASKS", count},
          {"SLURM_LOCALID", "0"}};
}

TEST(Rank, IsWhatTheLauncherSays) {
  struct Case {
    const char* what;
    Variables variables;
    Rank rank;
  };
  const Rank alone{0, 1, "single"};
  const std::vector<Case> cases{
      {"nothing", {}, alone},
      {"torchrun", torchrun, {5, 8, "torchrun"}},
      {"one process", {{"RANK", "0"}, {"WORLD_SIZE", "1"}}, {0, 1, "torchrun"}},
      {"mpirun", open_mpi, {5, 8, "Open MPI"}},
      {"mpiexec with PMI", pmi, {5, 8, "PMI"}},
      {"srun", slurm_step("5", "8"), {5, 8, "SLURM"}},
      {"srun of an old SLURM",
       {{"SLURM_STEPID", "3"}, {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "2"}},
       {1, 2, "SLURM"}},
      {"a program with jax", jax, {5, 8, "JAX"}},
      {"srun with PMI", with(slurm_step("5", "8"), pmi), {5, 8, "PMI"}},
      {"all of them", with(with(with(torchrun, open_mpi), with(pmi, jax)), slurm_step("5", "8")), {5, 8, "torchrun"}},
      // SLURM's numbers count nodes here.
      {"torchrun under srun, 4 nodes", with(torchrun, slurm_step("2", "4")), {5, 8, "torchrun"}},
      {"torchrun under srun, a process a node, nodes in another order",
       with(torchrun, slurm_step("0", "8")),
       {5, 8, "torchrun"}},
      {"mpirun under srun", with(open_mpi, slurm_step("1", "4")), {5, 8, "Open MPI"}},
      {"RANK of a script that srun runs",
       with({{"RANK", "5"}, {"WORLD_SIZE", "8"}}, slurm_step("5", "8")),
       {5, 8, "torchrun"}},
      // One process, whatever the job was given.
      {"batch script without srun", {{"SLURM_NTASKS", "16"}, {"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "77"}}, alone},
      {"batch script that is a step of its own",
       {{"SLURM_STEP_ID", "4294967291"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "16"}},
       alone},
      {"shell of salloc",
       {{"SLURM_STEP_ID", "4294967290"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}},
       alone},
      {"batch script with torchrun",
       with(torchrun, {{"SLURM_NTASKS", "16"}, {"SLURM_PROCID", "0"}}),
       {5, 8, "torchrun"}},
      {"only local numbers", {{"LOCAL_RANK", "3"}, {"SLURM_LOCALID", "3"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "3"}}, alone},
  };
  for (const Case& each : cases) {
    const auto rank = detect(each.variables);
    ASSERT_TRUE(rank.ok()) << each.what << ": " << rank.error().text();
    EXPECT_EQ(*rank, each.rank) << each.what;
  }
}

TEST(Rank, IsRefusedWithAllVariablesWhenTheyMakeNoSense) {
  struct Case {
    Variables variables;
    const char* words;
    const char* seen;
  };
  const std::vector<Case> cases{
      {{{"RANK", "abc"}, {"WORLD_SIZE", "4"}},
       "RANK must be a whole number from 0 on, and is 'abc'",
       "RANK='abc', WORLD_SIZE='4'"},
      {{{"RANK", ""}, {"WORLD_SIZE", "4"}},
       "RANK must be a whole number from 0 on, and is ''",
       "RANK='', WORLD_SIZE='4'"},
      {{{"RANK", "-1"}, {"WORLD_SIZE", "4"}},
       "RANK must be a whole number from 0 on, and is '-1'",
       "RANK='-1', WORLD_SIZE='4'"},
      {{{"RANK", "1.0"}, {"WORLD_SIZE", "4"}}, "and is '1.0'", "RANK='1.0', WORLD_SIZE='4'"},
      {{{"RANK", "1"}, {"WORLD_SIZE", "99999999999999999999"}},
       "WORLD_SIZE must be a whole number",
       "RANK='1', WORLD_SIZE='99999999999999999999'"},
      {{{"RANK", "4"}, {"WORLD_SIZE", "4"}},
       "RANK must be from 0 to WORLD_SIZE - 1 = 3, and is 4",
       "RANK='4', WORLD_SIZE='4'"},
      {{{"RANK", "0"}, {"WORLD_SIZE", "0"}}, "WORLD_SIZE must be at least 1, and is 0", "RANK='0', WORLD_SIZE='0'"},
      {{{"RANK", "3"}}, "RANK is set, but WORLD_SIZE is not", "RANK='3'"},
      {{{"WORLD_SIZE", "3"}}, "WORLD_SIZE is set, but RANK is not", "WORLD_SIZE='3'"},
      {{{"PMI_SIZE", "3"}}, "PMI_SIZE is set, but PMI_RANK is not", "PMI_SIZE='3'"},
      {{{"JAX_PROCESS_ID", "3"}}, "JAX_PROCESS_ID is set, but JAX_NUM_PROCESSES is not", "JAX_PROCESS_ID='3'"},
      {{{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "4"}},
       "SLURM_PROCID is set, but SLURM_STEP_NUM_TASKS is not",
       "SLURM_PROCID='3', SLURM_STEP_ID='0', SLURM_NTASKS='4'"},
      {{{"SLURM_STEP_ID", "x"}}, "SLURM_STEP_ID must be a whole number", "SLURM_STEP_ID='x'"},
      {with(open_mpi, {{"RANK", "1"}, {"WORLD_SIZE", "8"}}), "torchrun says 1 of 8, and Open MPI says 5 of 8",
       "RANK='1', WORLD_SIZE='8', OMPI_COMM_WORLD_RANK='5', OMPI_COMM_WORLD_SIZE='8'"},
      {with(pmi, {{"OMPI_COMM_WORLD_RANK", "5"}, {"OMPI_COMM_WORLD_SIZE", "16"}}),
       "Open MPI says 5 of 16, and PMI says 5 of 8",
       "OMPI_COMM_WORLD_RANK='5', OMPI_COMM_WORLD_SIZE='16', PMI_RANK='5', PMI_SIZE='8'"},
      {with(jax, slurm_step("0", "2")), "SLURM says 0 of 2, and JAX says 5 of 8",
       "SLURM_PROCID='0', SLURM_STEP_NUM_TASKS='2', JAX_PROCESS_ID='5', JAX_NUM_PROCESSES='8', SLURM_STEP_ID='0'"},
      // Variables of a shell that every task inherited: each would take itself for the only one.
      {with({{"RANK", "0"}, {"WORLD_SIZE", "1"}}, slurm_step("2", "4")), "torchrun says 0 of 1, and SLURM says 2 of 4",
       "RANK='0', WORLD_SIZE='1', SLURM_PROCID='2', SLURM_STEP_NUM_TASKS='4'"},
      {with({{"RANK", "0"}, {"WORLD_SIZE", "4"}}, slurm_step("2", "4")), "torchrun says 0 of 4, and SLURM says 2 of 4",
       "RANK='0', WORLD_SIZE='4', SLURM_PROCID='2', SLURM_STEP_NUM_TASKS='4'"},
      {{{"RANK", "\x1b[2J\xff"}, {"WORLD_SIZE", "4"}}, R"('\x1b[2J\xff')", R"(RANK='\x1b[2J\xff')"},
  };
  for (const Case& each : cases) {
    const auto rank = detect(each.variables);
    ASSERT_FALSE(rank.ok()) << each.words;
    EXPECT_EQ(rank.error().code(), Code::config);
    EXPECT_THAT(rank.error().text(), ::testing::HasSubstr(each.words));
    EXPECT_THAT(rank.error().text(), ::testing::HasSubstr(std::string{"Variables: "} + each.seen));
  }
}

TEST(Shard, IsANumberOfANumberOrAutomatic) {
  const auto named = parse_shard("3/4");
  ASSERT_TRUE(named.ok());
  EXPECT_EQ(*named, (Rank{3, 4, "named"}));
  const auto automatic = parse_shard("auto");
  ASSERT_TRUE(automatic.ok());
  EXPECT_EQ(*automatic, std::nullopt);
}

TEST(Shard, EverythingElseIsRefusedWithWhatIsAllowed) {
  for (const char* text : {"", "4", "4/4", "0/0", "/4", "0/", "-1/4", "1/-4", "0/4/8", " 0/4", "0 /4", "0x0/4", "Auto",
                           "0/99999999999999999999", "a/b"}) {
    const auto shard = parse_shard(text);
    ASSERT_FALSE(shard.ok()) << text;
    EXPECT_EQ(shard.error().text(),
              "a shard must be I/N with I from 0 to N - 1, as 0/4, or auto; found '" + std::string{text} + "'");
  }
}

}  // namespace
}  // namespace forebay::launch
