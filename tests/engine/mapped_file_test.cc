// SPDX-License-Identifier: Apache-2.0
#include "engine/mapped_file.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace forebay::engine {
namespace {

std::string file_of(std::size_t size) {
  const std::string path = ::testing::TempDir() + "/mapped_file_test_" + std::to_string(getpid());
  std::ofstream{path, std::ios::binary} << std::string(size, 'x');
  return path;
}

std::unique_ptr<MappedFile> mapped(const std::string& path) {
  auto file = io::File::open(path);
  return file.ok() ? MappedFile::map(*file) : nullptr;
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

TEST(MappedFile, AFileCutShortReadsAsZerosAndIsMarkedDamaged) {
  const std::string path = file_of(3 * 4096);
  const auto mapping = mapped(path);
  ASSERT_NE(mapping, nullptr);
  std::filesystem::resize_file(path, 4096);
  const std::byte* const bytes = mapping->bytes().data();
  EXPECT_FALSE(mapping->damaged());
  EXPECT_EQ(bytes[2 * std::size_t{4096}], std::byte{0});
  EXPECT_TRUE(mapping->damaged());
  EXPECT_EQ(bytes[100], std::byte{'x'});
}

TEST(MappedFile, ForgottenPagesReadTheSameAgain) {
  const auto mapping = mapped(file_of(5 * 4096));
  ASSERT_NE(mapping, nullptr);
  mapping->forget(0, 5 * 4096);
  EXPECT_EQ(mapping->bytes()[3 * 4096], std::byte{'x'});
}

TEST(MappedFile, AnEmptyFileIsNotMapped) { EXPECT_EQ(mapped(file_of(0)), nullptr); }

}  // namespace
}  // namespace forebay::engine
