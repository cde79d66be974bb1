// SPDX-License-Identifier: Apache-2.0
#include "engine/read/mapped_file.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/how_much.h"

namespace forebay::engine {
namespace {

std::string file_of(std::size_t size) {
  const std::string path = ::testing::TempDir() + "/mapped_file_test_" + std::to_string(getpid());
  std::ofstream{path, std::ios::binary} << std::string(size, 'x');
  return path;
}

std::unique_ptr<MappedFile> mapped(const std::string& path) {
  auto file = io::File::open(path);
  auto mapping = file.ok() ? MappedFile::map(*file) : file.error();
  return mapping.ok() ? *std::move(mapping) : nullptr;
}

TEST(MappedFile, BytesBehindTheEndMayBeReadWhereverTheFileEnds) {
  for (const std::size_t size : {1, 4095, 4096, 4097, 8192}) {
    const auto mapping = mapped(file_of(size));
    ASSERT_NE(mapping, nullptr);
    int sum = 0;
    for (std::size_t i = 0; i < 64; ++i) sum += static_cast<int>(mapping->bytes().data()[size + i]);
    EXPECT_EQ(sum, 0) << size;
  }
}

TEST(MappedFile, AFileCutShortReadsAsZerosAndIsMarkedCorrupt) {
  const std::string path = file_of(3 * 4096);
  const auto mapping = mapped(path);
  ASSERT_NE(mapping, nullptr);
  std::filesystem::resize_file(path, 4096);
  const std::byte* const bytes = mapping->bytes().data();
  EXPECT_FALSE(mapping->corrupt());
  EXPECT_EQ(bytes[2 * std::size_t{4096}], std::byte{0});
  EXPECT_TRUE(mapping->corrupt());
  EXPECT_EQ(bytes[100], std::byte{'x'});
}

TEST(MappedFile, ForgottenPagesReadTheSameAgain) {
  const auto mapping = mapped(file_of(5 * 4096));
  ASSERT_NE(mapping, nullptr);
  mapping->forget(0, 5 * 4096);
  EXPECT_EQ(mapping->bytes()[3 * 4096], std::byte{'x'});
}

TEST(MappedFile, FiveThousandAreGuardedAtOnce) {
  const std::string path = file_of(3 * 4096);
  std::vector<std::unique_ptr<MappedFile>> mappings;
  for (int i = 0; i < 5000; ++i) {
    mappings.push_back(mapped(path));
    ASSERT_NE(mappings.back(), nullptr) << i;
  }
  std::filesystem::resize_file(path, 4096);
  EXPECT_EQ(mappings.back()->bytes()[2 * std::size_t{4096}], std::byte{0});
  EXPECT_EQ(mappings.front()->bytes()[2 * std::size_t{4096}], std::byte{0});
  EXPECT_TRUE(mappings.back()->corrupt());
  EXPECT_TRUE(mappings.front()->corrupt());
  EXPECT_FALSE(mappings[2500]->corrupt());
}

TEST(MappedFile, IsWhatTheFileWasWhenItWasOpened) {
  const std::string path = file_of(100);
  const auto file = io::File::open(path);
  ASSERT_TRUE(file.ok());
  std::ofstream{path, std::ios::binary | std::ios::app} << std::string(50, 'y');
  const auto mapping = MappedFile::map(*file);
  ASSERT_TRUE(mapping.ok());
  EXPECT_EQ((*mapping)->bytes().size(), 100U);
  EXPECT_EQ((*mapping)->identity(), file->identity());
  EXPECT_NE((*mapping)->identity(), *io::File::identity_at(path));
}

TEST(MappedFile, AFileThatIsTooMuchForTheSystemSaysWhatTheSystemAllows) {
  if (tests::sanitized) GTEST_SKIP() << "a sanitizer needs address space of its own";
  const std::string path = file_of(1);
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);
  const auto file = io::File::open(path);
  ASSERT_TRUE(file.ok());
  rlim_t pages = 0;
  std::ifstream{"/proc/self/statm"} >> pages;
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  const rlimit little{pages * 4096 + (rlim_t{1} << 28), before.rlim_max};
  setrlimit(RLIMIT_AS, &little);
  const auto mapping = MappedFile::map(*file);
  setrlimit(RLIMIT_AS, &before);
  std::filesystem::remove(path);
  ASSERT_FALSE(mapping.ok());
  EXPECT_EQ(mapping.error().code(), Code::io);
  EXPECT_EQ(mapping.error().place().file, path);
  EXPECT_THAT(mapping.error().message(), ::testing::StartsWith("cannot map '" + path + "': Cannot allocate memory; "));
  EXPECT_THAT(mapping.error().message(), ::testing::HasSubstr("vm.max_map_count"));
}

TEST(MappedFileDeathTest, ABusErrorThatSomebodySendsEndsTheProcessAsItDidBefore) {
  if (tests::sanitized) GTEST_SKIP() << "a sanitizer takes the signal";
  const auto mapping = mapped(file_of(1));
  EXPECT_EXIT(kill(getpid(), SIGBUS), ::testing::KilledBySignal(SIGBUS), "");
}

TEST(MappedFile, AnEmptyFileIsNotMapped) { EXPECT_EQ(mapped(file_of(0)), nullptr); }

}  // namespace
}  // namespace forebay::engine
