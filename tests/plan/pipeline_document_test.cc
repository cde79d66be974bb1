// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <forebay/reference.h>
#include <gtest/gtest.h>

#include "engine/program/plan_access.h"
#include "engine/program/program.h"
#include "tests/plan/documents.h"

namespace forebay {
namespace {

using Faults = std::vector<std::string>;

/// Where the files of `document` are; they are empty.
const std::string& data() {
  static const testing::Folder folder;
  for (const char* name : {"a.tfrecord", "b.tfrecord"}) folder.write(name, "");
  return folder.path();
}

Faults faults_in(const std::string& text) { return testing::faults(text, data()); }

/// A document over two empty files; `features` are the decoder's.
std::string document(const std::string& steps, const std::string& rest = "",
                     const std::string& features = R"("x": {"dtype": "float32", "shape": [4]},
"n": {"dtype": "int64", "shape": []})") {
  return R"({"source": {"tfrecord": {"files": ["b.tfrecord", "a.tfrecord"]}},
"decode": {"example": {"features": {)" +
         features + R"(}}},
"steps": [)" +
         steps + "]" + rest + "}";
}

Result<Plan> plan_of(const std::string& text) { return Plan::make(testing::parse(text), data()); }

/// What may stand in `steps`, in the order of the reference.
std::vector<std::string> known_steps() {
  const Json reference = plugin_reference();
  std::vector<std::string> out;
  for (const std::string kind : {"step", "order", "window", "batcher"}) {
    for (const Json& plugin : reference.items()) {
      if (plugin.find("kind")->string() == kind) out.push_back(plugin.find("name")->string());
    }
  }
  return out;
}

/// A message lists the first 30 of them.
std::string listed_steps() {
  std::vector<std::string> all = known_steps();
  const std::size_t more = all.size() - std::min<std::size_t>(all.size(), 30);
  all.resize(all.size() - more);
  return fmt::format("{}{}", fmt::join(all, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

std::vector<std::string> names(const std::vector<ColumnSpec>& columns) {
  std::vector<std::string> out;
  for (const ColumnSpec& column : columns) out.push_back(column.name + column.shape.text());
  return out;
}

TEST(PipelineDocument, OrdersBeforeInterleaveActOnFilesAndTheOthersOnRecords) {
  const auto plan =
      plan_of(document(R"({"shuffle": {"buffer": 2}}, {"interleave": {"cycle": 2}}, {"take": {"count": 9}},
{"slice": {"tensor": "x", "slice": "[:2]"}}, {"shuffle": {"buffer": 5}}, {"batch": {"size": 3}})"));
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  EXPECT_EQ(engine::program_of(*plan).file_orders.size(), 1U);
  EXPECT_EQ(engine::program_of(*plan).record_orders.size(), 2U);
  EXPECT_EQ(engine::program_of(*plan).late.size(), 1U);
  EXPECT_EQ(names(plan->outputs()), (std::vector<std::string>{"x[2]", "n[]"}));
}

TEST(PipelineDocument, OnlyColumnsThatAreUsedAreDecoded) {
  const auto plan = plan_of(document(
      R"({"slice": {"tensor": "x", "slice": "[1]"}}, {"select": {"tensors": ["x"]}}, {"batch": {"size": 3}})"));
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  const engine::Program& program = engine::program_of(*plan);
  ASSERT_EQ(program.decoded.size(), 1U);
  EXPECT_EQ(program.schema[program.decoded[0]].name, "x");
  EXPECT_EQ(program.schema[program.decoded[0]].shape, (Shape{4}));
}

/// The columns that are decoded, and those that rows are gathered from.
std::string used_by(const std::string& steps) {
  const auto plan = plan_of(document(steps));
  if (!plan.ok()) return plan.error().text();
  const engine::Program& program = engine::program_of(*plan);
  std::string out;
  for (const ColumnId id : program.decoded) out += program.schema[id].name + " ";
  out += "|";
  for (const engine::Output& output : program.batched) out += " " + output.spec.name;
  return out;
}

TEST(PipelineDocument, AColumnThatIsNamedButNeitherReadNorDeliveredIsNotDecoded) {
  const std::string batch = R"({"batch": {"size": 3}})";
  EXPECT_EQ(used_by(R"({"select": {"tensors": ["x", "n"]}}, {"select": {"tensors": ["n"]}}, )" + batch), "n | n");
  EXPECT_EQ(used_by(R"({"rename": {"from": "x", "to": "y"}}, {"select": {"tensors": ["y"]}}, )" + batch), "y | y");
  EXPECT_EQ(used_by(batch + R"(, {"select": {"tensors": ["n"]}})"), "n | n");
  EXPECT_EQ(
      used_by(R"({"constant": {"tensor": "c", "shape": [], "dtype": "x"}}, {"select": {"tensors": ["c"]}}, )" + batch),
      "n | c");  // something is decoded, so that records are checked
}

TEST(PipelineDocument, AColumnThatAStepReadsIsDecodedAndGatheredWhereItIsReadAfterTheBatch) {
  const std::string like =
      R"({"constant": {"tensor": "c", "shape": "x", "dtype": "n"}}, {"select": {"tensors": ["c"]}})";
  EXPECT_EQ(used_by(like + R"(, {"batch": {"size": 3}})"), "x | c");
  EXPECT_EQ(used_by(R"({"batch": {"size": 3}}, )" + like), "x | x");
  EXPECT_EQ(used_by(R"({"batch": {"size": 3, "pad": [{"tensor": "x"}]}}, {"select": {"tensors": ["n"]}})"), "x n | n");
}

TEST(PipelineDocument, AStepThatNoPluginIsKnownForHidesOnlyFaultsThatMayFollowFromIt) {
  EXPECT_EQ(faults_in(document(R"({"slice": {"tensor": "q", "slice": "[0]"}}, {"mask": {"of": "x"}},
{"slice": {"tensor": "z", "slice": "[0"}}, {"batch": {"size": 2}})",
                               R"(, "shard": "0/3", "inputs": ["z"])")),
            (Faults{"4:32 /steps/0/slice/tensor: there is no tensor 'q'; did you mean 'x'? defined here: x, n",
                    "4:64 /steps/1/mask: there is no step, order or batcher 'mask'; did you mean 'cast'? known: " +
                        listed_steps(),
                    "5:36 /steps/2/slice/slice: slice '[0': column 3: expected ']' at the end",
                    "5:78 /shard: a batch of 2 rows cannot be divided among 3 shards; counts that fit: 1, 2"}));
}

TEST(PipelineDocument, ABatchIsMandatory) {
  EXPECT_EQ(faults_in(document(R"({"shuffle": {"buffer": 2}})")),
            (Faults{"4:10 /steps: no step makes batches; add {\"batch\": {\"size\": …}}"}));
}

TEST(PipelineDocument, WhatStandsInTheWrongPlaceIsRefused) {
  EXPECT_EQ(
      faults_in(document(R"({"take_files": {"count": 1}}, {"slice": {"tensor": "x", "slice": "[1]"}},
{"interleave": {}}, {"batch": {"size": 2}},
{"shuffle": {"buffer": 3}},
{"batch": {"size": 3}},
{"example": {"features": {}}})")),
      (Faults{"6:13 /steps/4/shuffle: 'shuffle' orders records and must come before 'batch'",
              "7:11 /steps/5/batch: 'batch' comes behind 'batch', but batches are made only once",
              "8:13 /steps/6/example: there is no step, order or batcher 'example' (it is a decoder, for `decode`); "
              "known: " +
                  listed_steps()}));
}

TEST(PipelineDocument, EveryFaultIsToldAndNoneThatOnlyFollowsFromAnother) {
  EXPECT_EQ(
      faults_in(document(R"({"slice": {"tensor": "x", "slice": "[9]"}},
{"reshape": {"tensor": "x", "shape": [77]}},
{"slice": {"tensor": "m", "slice": "[0"}},
{"batch": {"size": 0}})",
                         R"(, "memory": "1 GX", "shard": [4, 4], "sead": 3)")),
      (Faults{
          "4:46 /steps/0/slice/slice: slice '[9]': column 2: index 9 is outside an axis of 4 elements",
          "6:22 /steps/2/slice/tensor: there is no tensor 'm'; did you mean 'x'? defined here: x, n",
          "6:36 /steps/2/slice/slice: slice '[0': column 3: expected ']' at the end",
          "7:20 /steps/3/batch/size: 'size' must be from 1 to 100000000, found 0",
          "7:36 /memory: 'memory' must be a number of bytes, as 1073741824 or \"1GiB\"; found '1 GX'",
          "7:53 /shard: 'shard' must be [index, count] with index from 0 to count - 1, \"index/count\", \"auto\" or "
          "{\"index\": …, \"count\": …, \"by\": …}, or a list of one of these and one by batch; found "
          "[4,4]",
          "7:69 /sead: unexpected option 'sead'; did you mean 'seed'? known here: source, decode, steps, epochs, seed, "
          "epoch_boundary, deterministic, on_corrupt, threads, memory, prefetch, shard, inputs, targets",
      }));
}

TEST(PipelineDocument, IndependentFaultsOfFeaturesStepsAndGroupsAreToldInOneRound) {
  EXPECT_EQ(
      faults_in(R"({
  "source": {"tfrecord": {"files": ["a.tfrecord", "nothing.tfrecord", "*.x"]}},
  "decode": {"example": {"features": {
    "fare": {"dtype": "float3"},
    "hour": {"dtype": "int64", "default": "a"}
  }}},
  "steps": [
    {"slice": {"tensor": "fare", "slice": "[0:"}},
    {"slice": {"tensor": "huor", "slice": "[0]"}},
    {"reshape": {"tensor": "hour", "shape": [-5]}},
    {"batch": {"size": 2}}
  ],
  "shard": "0/3",
  "inputs": ["far", "hour"]
})"),
      (Faults{
          "2:51 /source/tfrecord/files/1: cannot open '" + data() + "/nothing.tfrecord': No such file or directory",
          "2:71 /source/tfrecord/files/2: no file matches '" + data() + "/*.x'",
          "4:23 /decode/example/features/fare/dtype: 'dtype' must be one of: bool, int8, int16, int32, int64, uint8, "
          "uint16, uint32, uint64, float16, bfloat16, float32, float64, complex64, complex128, string; found 'float3'; "
          "did you mean "
          "'float32'?",
          "5:43 /decode/example/features/hour/default: default must have values of type int64; found \"a\"",
          "8:43 /steps/0/slice/slice: slice '[0:': column 4: expected ']' at the end",
          "9:26 /steps/1/slice/tensor: there is no tensor 'huor'; did you mean 'hour'? defined here: fare, hour",
          "10:45 /steps/2/reshape/shape: every dim must be positive; found -5",
          "13:12 /shard: a batch of 2 rows cannot be divided among 3 shards; counts that fit: 1, 2",
          "14:14 /inputs/0: the batch has no tensor 'far'; did you mean 'fare'? it has: fare, hour",
      }));
}

TEST(PipelineDocument, FilesThatAreMissingOrNoFilesAreFaultsUnlessTheyAreSkipped) {
  const auto with = [](const std::string& policy) {
    return R"({"source": {"tfrecord": {"files": ["a.tfrecord", "nothing.tfrecord",
".", "nothing.tfrecord"]}},
"decode": {"record": {}}, "steps": [{"batch": {"size": 2}}], "on_corrupt": ")" +
           policy + "\"}";
  };
  const std::string missing = "cannot open '" + data() + "/nothing.tfrecord': No such file or directory";
  const std::string folder = "2:1 /source/tfrecord/files/2: cannot read '" + data() +
                             "/.': it is a folder, not a regular file; '" + data() + "/./*' names the files in it";
  const Faults all{"1:50 /source/tfrecord/files/1: " + missing, folder};
  EXPECT_EQ(faults_in(with("fail")), all);
  EXPECT_EQ(faults_in(with("skip_record")), all);
  EXPECT_EQ(faults_in(with("skip_file")), (Faults{folder}));
}

TEST(Plan, LoweredPathsAreAbsoluteAndTheHashDoesNotSeeIt) {
  const auto plan = Plan::make(testing::parse(document(R"({"batch": {"size": 2}})")), data());
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(data());
  const auto beside = Plan::make(testing::parse(document(R"({"batch": {"size": 2}})")), "");
  std::filesystem::current_path(before);
  ASSERT_TRUE(beside.ok()) << beside.error().text();
  EXPECT_EQ(beside->lowered().find("source")->text(), plan->lowered().find("source")->text());
  EXPECT_EQ(beside->lowered().find("source")->text(),
            R"({"tfrecord":{"files":[")" + data() + R"(/b.tfrecord",")" + data() + R"(/a.tfrecord"]}})");
}

constexpr const char* variable =
    R"("v": {"kind": "var_len", "dtype": "int16"}, "x": {"dtype": "float32", "shape": [2, 3]})";

TEST(PipelineDocument, PaddingFixesSizesAndMayEnlargeKnownOnes) {
  const auto plan = plan_of(
      document(R"({"batch": {"size": 2, "pad": [{"tensor": "v", "shape": [5]}, {"tensor": "x", "shape": [3, -1]}]}})",
               "", variable));
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  EXPECT_EQ(names(plan->outputs()), (std::vector<std::string>{"v[5]", "x[3,3]"}));
  EXPECT_EQ(plan->outputs()[0].delivery, Delivery::padded);
  EXPECT_EQ(plan->outputs()[1].delivery, Delivery::padded);
}

TEST(PipelineDocument, PaddingThatDoesNotFitIsRefused) {
  EXPECT_EQ(faults_in(document(R"({"batch": {"size": 2, "pad": [{"tensor": "v", "value": 40000},
{"tensor": "x", "shape": [1, 3], "value": "a"}]}})",
                               "", variable)),
            (Faults{"3:66 /steps/0/batch/pad/0/value: the padding value 40000 of tensor 'v' is no int16",
                    "4:26 /steps/0/batch/pad/1/shape: tensor 'x' has shape [2,3] and cannot be padded to [1,3]",
                    "4:43 /steps/0/batch/pad/1/value: the padding value \"a\" of tensor 'x' is no float32"}));
}

TEST(PipelineDocument, GroupsNameTensorsOfTheBatch) {
  const auto plan = plan_of(document(R"({"batch": {"size": 2}})", R"(, "targets": ["n"])"));
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  EXPECT_EQ(plan->inputs(), (std::vector<std::string>{"x"}));
  EXPECT_EQ(plan->targets(), (std::vector<std::string>{"n"}));
  EXPECT_EQ(faults_in(document(R"({"batch": {"size": 2}})", R"(, "inputs": ["x", "m"])")),
            (Faults{"4:52 /inputs/1: the batch has no tensor 'm'; did you mean 'x'? it has: x, n"}));
}

TEST(PipelineDocument, AnEmptyRunHasNoBatches) {
  EXPECT_EQ(plan_of(document(R"({"batch": {"size": 2}})", R"(, "epochs": 0)"))->batches(), 0);
  EXPECT_EQ(plan_of(document(R"({"batch": {"size": 2}})"))->batches(), std::nullopt);
}

TEST(PlanHash, DependsOnTheSeedAndNotOnTheRun) {
  const auto hash = [](const std::string& rest) {
    return plan_of(document(R"({"batch": {"size": 2}})", rest))->hash();
  };
  EXPECT_EQ(hash(""), hash(R"(, "threads": 4, "memory": "1GiB", "prefetch": 2)"));
  EXPECT_EQ(hash(""), hash(R"(, "seed": 0, "epochs": 1.0)"));
  EXPECT_NE(hash(""), hash(R"(, "seed": 1)"));
}

TEST(PlanHash, DoesNotDependOnWhetherADefaultIsWritten) {
  EXPECT_EQ(plan_of(document(R"({"batch": {"size": 2}})"))->hash(),
            plan_of(document(R"({"batch": {"remainder": "keep", "size": 2, "pad": false}})"))->hash());
}

TEST(Plan, KnowsBothKindsOfDocument) {
  EXPECT_EQ(faults_in(R"({"files": []})"),
            (Faults{"1:1 : the document is of no known form; a loader document has \"type\" and \"args\" (and perhaps "
                    "\"inputs\" and \"targets\"), a pipeline document has \"source\", \"decode\" and \"steps\""}));
}

TEST(Plan, PrintsOneLineForEachStage) {
  const auto plan = plan_of(
      document(R"({"shuffle": {"buffer": 5}}, {"slice": {"tensor": "x", "slice": "[:2]"}}, {"batch": {"size": 3}})",
               R"(, "targets": ["n"], "epochs": null, "seed": 7)"));
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  EXPECT_EQ(plan->text(),
            "source    tfrecord: 2 files, compression auto\n"
            "open      one file after the other\n"
            "records   shuffle {\"buffer\":5}\n"
            "batch     batch {\"size\":3}\n"
            "late      decode example -> x float32 [4], n int64 []\n"
            "late      slice {\"tensor\":\"x\",\"slice\":\"[:2]\"} -> x float32 [2]\n"
            "input     x float32 [2]\n"
            "target    n int64 []\n"
            "run       endless, seed 7\n");
}

TEST(DocumentSchema, DescribesBothDocumentsAndEveryStep) {
  const Json schema = document_schema();
  ASSERT_EQ(schema.find("anyOf")->items().size(), 2U);
  const Json& pipeline = schema.find("anyOf")->items()[1];
  const Json& steps = *pipeline.find("properties")->find("steps")->find("items")->find("oneOf");
  std::vector<std::string> described;
  for (const Json& step : steps.items()) described.push_back(step.find("required")->items()[0].string());
  EXPECT_EQ(described, known_steps());
}

}  // namespace
}  // namespace forebay
