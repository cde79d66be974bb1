// SPDX-License-Identifier: Apache-2.0
// Draws and `on_corrupt: skip_row` in combinations.
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/pipeline/combinations.h"
#include "tests/pipeline/restarts.h"
#include "tests/support/jpeg.h"

namespace forebay::combine_runs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kept;
using testing::rest;
using testing::resumed;

const std::string crop_of_image =
    R"({"decode_image": {"tensor": "image", "region": {"random_resized": {"scale": [0.2, 1]}}, "resize": [16, 12],
                         "flip": "random"}})";

/// A file of images with ids from `first` on; the `bad` ones are cut short.
void write_branch_images(const Folder& folder, std::size_t branch, std::int64_t count,
                         const std::set<std::int64_t>& bad = {}) {
  std::vector<std::string> messages;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto look = static_cast<std::uint32_t>(i);  // of all branches the same
    std::string file = test::jpeg_of(test::picture(40 + i % 7, 35 + i % 5, 3, look));
    if (bad.contains(i)) file.resize(file.size() / 2);
    messages.push_back(
        encode_example({{"image", std::vector<std::string>{file}},
                        {"id", std::vector<std::int64_t>{static_cast<std::int64_t>(branch) * ids_a_branch + i}}}));
  }
  ASSERT_TRUE(write_records(folder.file("branch-" + std::to_string(branch)), messages, Compression::none).ok());
}

std::string image_branch(const Folder& folder, std::size_t number, const std::string& steps,
                         const std::string& more = "") {
  return R"({"source": {"tfrecord": {"files": [")" + folder.file("branch-" + std::to_string(number)) +
         R"("]}}, "decode": {"example": {"features": {"id": {"dtype": "int64", "shape": []},
             "image": {"dtype": "string", "shape": []}}}}, "steps": [)" +
         steps + "]" + more + "}";
}

std::string renamed(const std::string& steps) {
  return steps + R"(, {"rename": {"from": "image", "to": "other"}}, {"rename": {"from": "id", "to": "other_id"}})";
}

/// Every batch of a run as text, with what was skipped, and the state before each one and at the end.
struct Lines {
  std::vector<std::string> batches;
  std::vector<Json> states;
};

Lines lines_of(Result<Loader> loader) {
  Lines out;
  EXPECT_TRUE(loader.ok()) << loader.error().text();
  while (loader.ok()) {
    out.states.push_back(kept(*loader));
    auto batch = loader->next();
    EXPECT_TRUE(batch.ok()) << batch.error().text();
    if (!batch.ok() || !*batch) break;
    std::string line = std::to_string((*batch)->valid_rows()) + " " + testing::text_of(**batch) + " skipped:";
    for (const SkippedOrigin& row : (*batch)->skipped())
      line += " " + std::to_string(row.origin.record) + " " + row.error.text();
    out.batches.push_back(line);
  }
  return out;
}

void expect_one_stream(const Json& json) {
  const Lines all = lines_of(load(json, {.threads = 1}));
  ASSERT_GT(all.batches.size(), 4U);
  EXPECT_TRUE(lines_of(load(json, {.threads = 8})).batches == all.batches);
  for (std::size_t i = 0; i < all.states.size(); ++i) {
    const Lines again = lines_of(resumed(json, all.states[i], {.threads = i % 2 == 0 ? 8 : 3}));
    const auto from = all.batches.begin() + static_cast<std::ptrdiff_t>(i);
    EXPECT_TRUE(again.batches == std::vector(from, all.batches.end())) << i;
  }
}

const std::string two_passes = R"(, "epochs": 2, "seed": 3)";
const std::string batch_of_8 = R"({"batch": {"size": 8}})";
const std::string until_first = R"("until": "first", )";

TEST(CombineDraws, AreTheSameForAnyNumberOfThreadsAndAfterEveryRestart) {
  const Folder folder;
  write_branch_images(folder, 0, 30);
  write_branch_images(folder, 1, 7);
  const std::string mixed = R"({"shuffle": {"buffer": 10}}, )";
  const std::vector<std::string> in_branches{image_branch(folder, 0, crop_of_image),
                                             image_branch(folder, 1, crop_of_image, R"(, "repeat": true)")};
  const std::vector<std::string> plain{image_branch(folder, 0, R"({"shuffle": {"buffer": 6}})"),
                                       image_branch(folder, 1, R"({"repeat": {"count": 2}})", R"(, "repeat": true)")};
  expect_one_stream(document_of({.steps = mixed + batch_of_8, .more = two_passes}, in_branches));
  expect_one_stream(document_of(
      {.options = R"("until": 21, )", .steps = mixed + crop_of_image + ", " + batch_of_8, .more = two_passes}, plain));
  expect_one_stream(document_of({.kind = "concat",
                                 .steps = crop_of_image + R"(, {"batch": {"size": 8, "remainder": "repeat"}})",
                                 .more = two_passes + R"(, "epoch_boundary": "hard")"},
                                {image_branch(folder, 0, ""), image_branch(folder, 1, "")}));
  expect_one_stream(document_of(
      {.kind = "zip", .options = until_first, .steps = mixed + crop_of_image + ", " + batch_of_8, .more = two_passes},
      {image_branch(folder, 0, R"({"take": {"count": 25}})"),
       image_branch(folder, 1, renamed(crop_of_image), R"(, "repeat": true)")}));
}

/// What each occurrence of a record in a run looks like, by id.
std::map<std::int64_t, std::vector<std::string>> image_looks(const Json& json, const char* image, const char* id,
                                                             const RunOptions& options = {.threads = 2}) {
  std::map<std::int64_t, std::vector<std::string>> out;
  auto loader = load(json, options);
  EXPECT_TRUE(loader.ok()) << loader.error().text();
  while (loader.ok()) {
    auto batch = loader->next();
    EXPECT_TRUE(batch.ok()) << batch.error().text();
    if (!batch.ok() || !*batch) break;
    const Tensor& values = (*batch)->tensor(image);
    const auto bytes = static_cast<std::size_t>(values.count() / (*batch)->rows());
    for (std::size_t row = 0; row < static_cast<std::size_t>((*batch)->valid_rows()); ++row) {
      out[(*batch)->tensor(id).as<std::int64_t>()[row]].emplace_back(
          reinterpret_cast<const char*>(values.data) + row * bytes, bytes);
    }
  }
  return out;
}

TEST(CombineDraws, EveryRepeatOfARecordDrawsAnew) {
  const Folder folder;
  write_branch_images(folder, 0, 30);
  write_branch_images(folder, 1, 7);
  for (const bool late : {false, true}) {
    const std::string steps = (late ? crop_of_image + ", " : "") + batch_of_8;
    const std::string own = late ? "" : crop_of_image;
    const auto looks = image_looks(document_of({.options = R"("until": 40, )", .steps = steps, .more = two_passes},
                                               {image_branch(folder, 0, own, R"(, "repeat": true)"),
                                                image_branch(folder, 1, own, R"(, "repeat": true)")}),
                                   "image", "id");
    std::size_t rows = 0;
    for (const auto& [id, some] : looks) {
      EXPECT_EQ(std::set(some.begin(), some.end()).size(), some.size()) << late << id;
      if (id >= ids_a_branch) {
        EXPECT_GT(some.size(), 3U);
      }
      rows += some.size();
    }
    EXPECT_EQ(rows, 80U);
  }
}

TEST(CombineDraws, EachBranchSideBySideDrawsForItself) {
  const Folder folder;
  write_branch_images(folder, 0, 12);
  write_branch_images(folder, 1, 3);
  const Json json = document_of(
      {.kind = "zip", .options = until_first, .steps = batch_of_8, .more = two_passes},
      {image_branch(folder, 0, crop_of_image), image_branch(folder, 1, renamed(crop_of_image), R"(, "repeat": true)")});
  for (const auto& [id, some] : image_looks(json, "other", "other_id"))
    EXPECT_EQ(std::set(some.begin(), some.end()).size(), 8U) << id;
  for (const auto& [id, some] : image_looks(json, "image", "id"))
    EXPECT_EQ(std::set(some.begin(), some.end()).size(), 2U) << id;
}

TEST(CombineDraws, DifferBetweenBranchesWithEqualRecords) {
  const Folder folder;
  write_branch_images(folder, 0, 8);
  write_branch_images(folder, 1, 8);
  const std::vector<std::string> branches{image_branch(folder, 0, ""), image_branch(folder, 1, "")};
  const auto looks = image_looks(
      document_of({.kind = "round_robin", .steps = crop_of_image + ", " + batch_of_8}, branches), "image", "id");
  ASSERT_EQ(looks.size(), 16U);
  for (std::int64_t id = 0; id < 8; ++id) EXPECT_NE(looks.at(id), looks.at(ids_a_branch + id)) << id;
}

TEST(CombineDraws, ShardsByRowAndByBatchHaveTheRowsOfTheWholeRun) {
  const Folder folder;
  write_branch_images(folder, 0, 20);
  write_branch_images(folder, 1, 5);
  const Json mix = document_of({.options = R"("until": 40, )", .steps = batch_of_8},
                               {image_branch(folder, 0, crop_of_image, R"(, "repeat": true)"),
                                image_branch(folder, 1, crop_of_image, R"(, "repeat": true)")});
  const Json zip = document_of(
      {.kind = "zip", .options = until_first, .steps = batch_of_8},
      {image_branch(folder, 0, crop_of_image), image_branch(folder, 1, renamed(crop_of_image), R"(, "repeat": true)")});
  for (const auto& [json, image, id] : {std::tuple{mix, "image", "id"}, std::tuple{zip, "other", "other_id"}}) {
    auto whole = image_looks(json, image, id);
    for (const ShardBy by : {ShardBy::row, ShardBy::batch}) {
      std::map<std::int64_t, std::vector<std::string>> dealt;
      for (std::int64_t rank = 0; rank < 2; ++rank) {
        for (auto& [key, some] :
             image_looks(json, image, id, {.threads = 2, .shard_index = rank, .shard_count = 2, .shard_by = by}))
          dealt[key].insert(dealt[key].end(), some.begin(), some.end());
      }
      for (auto* const all : {&whole, &dealt}) {
        for (auto& [key, some] : *all) std::ranges::sort(some);
      }
      EXPECT_TRUE(dealt == whole) << id;
    }
  }
}

TEST(CombineSkipRow, ABadImageInEachBatchOfAMixBecomesPadding) {
  const Folder folder;
  write_branch_images(folder, 0, 16, {1, 6, 11});
  write_branch_images(folder, 1, 16, {13});
  const Json json = document_of({.kind = "round_robin", .steps = batch_of_8, .more = R"(, "on_corrupt": "skip_row")"},
                                {image_branch(folder, 0, crop_of_image), image_branch(folder, 1, crop_of_image)});
  auto loader = load(json, {.threads = 2});
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  for (const std::int64_t bad : {1, 6, 11, 13}) {
    auto batch = loader->next();
    ASSERT_TRUE(batch.ok() && *batch) << batch.error().text();
    EXPECT_EQ((*batch)->rows(), 8);
    EXPECT_EQ((*batch)->valid_rows(), 7);
    EXPECT_EQ((*batch)->tensor("image").shape, (Shape{8, 16, 12, 3}));
    const auto skipped = (*batch)->skipped();
    ASSERT_EQ(skipped.size(), 1U);
    EXPECT_EQ(skipped[0].origin.file, folder.file(bad == 13 ? "branch-1" : "branch-0"));
    EXPECT_EQ(skipped[0].origin.record, bad);
    EXPECT_EQ(skipped[0].error.place().file, skipped[0].origin.file);
    EXPECT_EQ(skipped[0].error.place().record, bad);
    EXPECT_THAT(skipped[0].error.text(), HasSubstr("decode_image"));
    const auto ids = (*batch)->tensor("id").as<std::int64_t>();
    for (std::int64_t row = 0; row < 7; ++row) {  // the rows after the bad one keep their origins
      EXPECT_EQ(ids[static_cast<std::size_t>(row)],
                (*batch)->branch(row) * ids_a_branch + (*batch)->origin(row).record);
    }
    EXPECT_EQ(ids[7], 0);
  }
  EXPECT_EQ(loader->stats().skipped_records, 4);
}

TEST(CombineSkipRow, ARowSideBySideIsBadWhenOneOfItsPartsIs) {
  const Folder folder;
  write_branch_images(folder, 0, 8, {2, 5});
  write_branch_images(folder, 1, 8, {5, 6});
  const Json json =
      document_of({.kind = "zip", .options = until_first, .steps = batch_of_8, .more = R"(, "on_corrupt": "skip_row")"},
                  {image_branch(folder, 0, crop_of_image), image_branch(folder, 1, renamed(crop_of_image))});
  auto loader = load(json, {.threads = 2});
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  auto batch = loader->next();
  ASSERT_TRUE(batch.ok() && *batch) << batch.error().text();
  EXPECT_EQ((*batch)->rows(), 8);
  EXPECT_EQ((*batch)->valid_rows(), 5);
  std::vector<std::string> files;
  std::vector<std::int64_t> records;
  for (const SkippedOrigin& row : (*batch)->skipped()) {
    files.emplace_back(row.origin.file);
    records.push_back(row.origin.record);
  }
  EXPECT_THAT(files, ElementsAre(folder.file("branch-0"), folder.file("branch-0"), folder.file("branch-1")));
  EXPECT_THAT(records, ElementsAre(2, 5, 6));
  const auto ids = (*batch)->tensor("id").as<std::int64_t>();
  EXPECT_EQ(std::vector(ids.begin(), ids.end()), (std::vector<std::int64_t>{0, 1, 3, 4, 7, 0, 0, 0}));
  const auto others = (*batch)->tensor("other_id").as<std::int64_t>();
  EXPECT_EQ(std::vector(others.begin(), others.begin() + 5), (std::vector<std::int64_t>{1000, 1001, 1003, 1004, 1007}));
  EXPECT_EQ((*batch)->origins(4)[1].record, 7);
}

TEST(CombineSkipRow, IsTheSameForAnyNumberOfThreadsAndAfterEveryRestart) {
  const Folder folder;
  write_branch_images(folder, 0, 30, {0, 9, 10, 21, 29});
  write_branch_images(folder, 1, 9, {4});
  for (const bool late : {false, true}) {
    const std::string steps = R"({"shuffle": {"buffer": 9}}, )" + (late ? crop_of_image + ", " : "") + batch_of_8;
    const std::string own = late ? "" : crop_of_image;
    expect_one_stream(document_of({.options = R"("until": "all", )",
                                   .steps = steps,
                                   .more = two_passes + R"(, "on_corrupt": {"policy": "skip_row", "max_count": 20})"},
                                  {image_branch(folder, 0, own), image_branch(folder, 1, own, R"(, "repeat": true)")}));
  }
}

TEST(CombineSkipRow, BudgetsCountTheRowsOfAllBranches) {
  const Folder folder;
  write_branch_images(folder, 0, 16, {1, 6, 11});
  write_branch_images(folder, 1, 16, {13});
  const std::string policy = R"(, "on_corrupt": {"policy": "skip_row", "max_count": 3})";
  auto loader = load(document_of({.kind = "round_robin", .steps = batch_of_8, .more = policy},
                                 {image_branch(folder, 0, crop_of_image), image_branch(folder, 1, crop_of_image)}));
  ASSERT_TRUE(loader.ok()) << loader.error().text();
  const auto lines = rest(*loader);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines.back(), HasSubstr("on_corrupt.max_count allows 3 skips in an epoch"));
  EXPECT_THAT(lines.back(), HasSubstr("branch-1"));
}

TEST(CombineSkipRow, IsSaidForTheWholeDocument) {
  const Folder folder;
  write_branch_images(folder, 0, 2);
  const auto plan = load(document_of({}, {image_branch(folder, 0, "", R"(, "on_corrupt": "skip_row")")}));
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().text(),
              HasSubstr("\"skip_row\" takes rows out of the batches of all branches; say it for the whole document"));
}

}  // namespace
}  // namespace forebay::combine_runs
