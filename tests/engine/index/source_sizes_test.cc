// SPDX-License-Identifier: Apache-2.0
#include "engine/index/source_sizes.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/engine/order/stream_files.h"

namespace forebay::engine {
namespace {

using testing::Folder;

std::vector<std::string> make_files(const Folder& folder, int count) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) {
    out.push_back(folder.file("part-" + std::to_string(i)));
    std::ofstream{out.back()} << std::string(static_cast<std::size_t>(i % 97), 'x');
  }
  return out;
}

SourceSizes inspect(const std::vector<std::string>& files) { return summary(files, ask_sizes(Source{.files = files})); }

std::string changes(const SourceSizes& then, const std::vector<std::string>& files) {
  return changes_since(then, files, ask_sizes(Source{.files = files}));
}

void resize(const std::string& path, std::uintmax_t bytes) { std::filesystem::resize_file(path, bytes); }

TEST(SourceSizes, OfFewFilesNameEveryChange) {
  const Folder folder;
  auto files = make_files(folder, 9);
  const SourceSizes then = inspect(files);
  EXPECT_EQ(then, inspect(files));
  resize(files[3], 5);
  std::filesystem::remove(files[5]);
  files.erase(files.begin() + 7);
  files.push_back(folder.file("more"));
  std::ofstream{files.back()} << "x";
  EXPECT_NE(then, inspect(files));
  EXPECT_EQ(changes(then, files),
            "'more' is new, 'part-3' has 5 bytes, it had 3, 'part-5' is missing, it had 5 bytes, 'part-7' is not there "
            "any more");
}

TEST(SourceSizes, InAnotherOrderAreOthers) {
  const Folder folder;
  auto files = make_files(folder, 3);
  const SourceSizes then = inspect(files);
  std::swap(files[0], files[2]);
  EXPECT_NE(then, inspect(files));
  EXPECT_EQ(changes(then, files), "the same files come in another order");
}

TEST(SourceSizes, OfManyFilesTakeLittleAndNameOneChangeOfEachGroup) {
  const Folder folder;
  auto files = make_files(folder, 1000);
  const SourceSizes then = inspect(files);
  EXPECT_EQ(then.groups.size(), SourceSizes::groups_of_files);
  EXPECT_TRUE(then.each.empty());
  for (const std::size_t changed : {0, 500, 999}) {
    const auto before = std::filesystem::file_size(files[changed]);
    resize(files[changed], 12345);
    EXPECT_EQ(changes(then, files),
              "'part-" + std::to_string(changed) + "' has 12345 bytes, it had " + std::to_string(before));
    resize(files[changed], before);
  }
  EXPECT_EQ(then, inspect(files));
  auto more = files;
  more.insert(more.begin() + 100, folder.file("another"));
  EXPECT_EQ(changes(then, more), "'another' is new");
  auto fewer = files;
  fewer.erase(fewer.begin() + 50);
  EXPECT_EQ(changes(then, fewer), "a file of 50 bytes is not there any more");
  for (const std::string& file : files) resize(file, 3);
  const std::string all = changes(then, files);
  EXPECT_TRUE(all.starts_with("several files changed among ") && all.ends_with(", 8 more")) << all;
}

TEST(SourceSizes, WithNamesThatAreNoTextDoNotHoldThem) {
  const Folder folder;
  const std::vector<std::string> files{folder.file("\xff\xfe")};
  EXPECT_TRUE(inspect(files).each.empty());
}

}  // namespace
}  // namespace forebay::engine
