// SPDX-License-Identifier: Apache-2.0
#include "io/file.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/atomic_file.h"
#include "tests/io/files.h"

namespace forebay::io {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::bytes_of;

std::string read(const File& file, std::size_t size, std::int64_t offset) {
  std::string out(size, '\0');
  out.resize(*file.read(std::as_writable_bytes(std::span{out}), offset));
  return out;
}

TEST(File, ReadsFromAnyOffsetAndShortOnlyAtTheEnd) {
  const tests::Folder folder;
  const File file = *File::open(folder.write("a", "0123456789"));
  EXPECT_EQ(file.size(), 10);
  EXPECT_EQ(read(file, 4, 0), "0123");
  EXPECT_EQ(read(file, 4, 8), "89");
  EXPECT_EQ(read(file, 4, 10), "");
}

TEST(File, AMissingFileIsNamed) {
  const Error error = File::open("/nowhere/x").error();
  EXPECT_EQ(error.code(), Code::io);
  EXPECT_EQ(error.detail(), Detail::not_found);
  EXPECT_EQ(error.message(), "cannot open '/nowhere/x': No such file or directory");
}

TEST(File, WhatIsNotARegularFileIsRefusedWithoutWaiting) {
  const tests::Folder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(File::open(folder / "pipe").error().message(), HasSubstr("a pipe, not a regular file"));
  EXPECT_THAT(File::open(folder.path()).error().message(),
              HasSubstr("a folder, not a regular file; '" + folder.path() + "/*' names the files in it"));
  EXPECT_THAT(File::open("/dev/zero").error().message(), HasSubstr("a device, not a regular file"));
}

TEST(File, APathWithANulByteIsRefused) {
  EXPECT_EQ(File::open(std::string{"a\0b", 3}).error().detail(), Detail::invalid_argument);
}

TEST(File, AChangedFileIsNoticed) {
  const tests::Folder folder;
  const std::string path = folder.write("a", "0123456789");
  const File file = *File::open(path);
  EXPECT_TRUE(file.unchanged().ok());
  ASSERT_EQ(::truncate(path.c_str(), 4), 0);
  const Error error = file.unchanged().error();
  EXPECT_EQ(error.code(), Code::data);
  EXPECT_EQ(error.detail(), Detail::failed_precondition);
  EXPECT_THAT(error.message(), HasSubstr("file changed while it was read (it had 10 bytes, now 4)"));
}

TEST(File, AMovedFromFileClosesNothing) {
  const tests::Folder folder;
  File a = *File::open(folder.write("a", "aaa"));
  File b = std::move(a);
  File c = *File::open(folder.write("c", "ccc"));
  c = std::move(b);
  EXPECT_EQ(read(c, 3, 0), "aaa");
}

TEST(AtomicFile, AppearsOnlyWhenCommitted) {
  const tests::Folder folder;
  const std::string path = folder.write("a", "old");
  {
    AtomicFile file = *AtomicFile::create(path);
    ASSERT_TRUE(file.write(bytes_of("new")).ok());
    EXPECT_EQ(tests::read_text(path), "old");
    ASSERT_TRUE(file.commit().ok());
  }
  EXPECT_EQ(tests::read_text(path), "new");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(AtomicFile, LeavesNothingBehindWithoutACommit) {
  const tests::Folder folder;
  const std::string path = folder.write("a", "old");
  {
    AtomicFile file = *AtomicFile::create(path);
    ASSERT_TRUE(file.write(bytes_of(std::string(1'000'000, 'x'))).ok());
  }
  EXPECT_EQ(tests::read_text(path), "old");
  EXPECT_THAT(folder.names(), ElementsAre("a"));
}

TEST(AtomicFile, KeepsThePermissionsAndTheLinksOfWhatItReplaces) {
  const tests::Folder folder;
  const std::string path = folder.write("a", "old");
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  ASSERT_EQ(::symlink("a", (folder / "link").c_str()), 0);
  AtomicFile file = *AtomicFile::create(folder / "link");
  ASSERT_TRUE(file.write(bytes_of("new")).ok());
  ASSERT_TRUE(file.commit().ok());
  struct stat status {};
  ASSERT_EQ(::lstat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0640U);
  EXPECT_EQ(tests::read_text(path), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
}

TEST(AtomicFile, RefusesFoldersAndMissingFolders) {
  const tests::Folder folder;
  EXPECT_THAT(AtomicFile::create(folder.path()).error().message(), HasSubstr("not a regular file"));
  EXPECT_EQ(AtomicFile::create(folder / "no/a").error().detail(), Detail::not_found);
}

TEST(AtomicFile, AFailedRenameIsAnErrorAndTheOldFileStays) {
  const tests::Folder folder;
  const std::string path = folder.write("a", "old");
  AtomicFile file = *AtomicFile::create(path);
  const std::string name = folder.names().front() == "a" ? folder.names().back() : folder.names().front();
  EXPECT_THAT(name, HasSubstr(".forebay-"));
  std::filesystem::remove(folder / name);
  EXPECT_EQ(file.commit().error().code(), Code::io);
  EXPECT_EQ(tests::read_text(path), "old");
}

TEST(Identity, HasAChangeTimeThatNoProgramPutsBack) {
  const tests::Folder folder;
  const std::string path = folder.write("f", "0123456789");
  const auto file = File::open(path);
  ASSERT_TRUE(file.ok());
  const auto time = std::filesystem::last_write_time(path);
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  folder.write("f", "9876543210");
  std::filesystem::last_write_time(path, time);
  const auto same = file->unchanged();
  ASSERT_FALSE(same.ok());
  EXPECT_THAT(same.error().message(), HasSubstr("change time (ctime)"));
}

TEST(Identity, MayHaveAnotherChangeTimeWhenTheFileHasLostItsName) {
  const tests::Folder folder;
  const std::string path = folder.write("f", "0123456789");
  const auto file = File::open(path);
  ASSERT_TRUE(file.ok());
  std::this_thread::sleep_for(std::chrono::milliseconds{20});
  std::filesystem::rename(path, folder / "g");
  EXPECT_TRUE(file->unchanged().ok());
  folder.write("f", "another one");
  EXPECT_TRUE(file->unchanged().ok());
}

TEST(ClockTicksIn, IsNothingForAFileOlderThanATickOrOfAnotherClock) {
  const auto now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  constexpr std::int64_t second = 1'000'000'000;
  EXPECT_EQ(clock_ticks_in({.changed_ns = now - second}).count(), 0);
  EXPECT_EQ(clock_ticks_in({.changed_ns = now + second}).count(), 0);
  const auto wait = clock_ticks_in({.changed_ns = now});
  EXPECT_GE(wait.count(), 0);
  EXPECT_LE(wait.count(), second / 10);
}

}  // namespace
}  // namespace forebay::io
