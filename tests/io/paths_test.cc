// SPDX-License-Identifier: Apache-2.0
#include "io/paths.h"

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/atomic_file.h"
#include "io/file.h"
#include "io/folder.h"
#include "tests/io/files.h"
#include "tests/support/slow_files.h"

namespace forebay::io {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using Names = std::vector<std::string>;

/// Paths as they are seen from the folder.
Names inside(const tests::Folder& folder, const Names& paths) {
  Names out;
  for (const std::string& path : paths) {
    out.push_back(path.starts_with(folder.path() + "/") ? path.substr(folder.path().size() + 1) : path);
  }
  return out;
}

Names expanded(const tests::Folder& folder, const Names& patterns) {
  return inside(folder, *expand(patterns, folder.path()));
}

std::string refused(const tests::Folder& folder, const Names& patterns) {
  const auto result = expand(patterns, folder.path());
  if (result.ok()) return "accepted";
  EXPECT_EQ(result.error().code(), Code::config);
  return result.error().message();
}

TEST(Paths, ParentAndResolve) {
  EXPECT_EQ((Names{parent("a/b"), parent("b"), parent("/b"), parent("/a/b/c")}), (Names{"a", "", "/", "/a/b"}));
  EXPECT_EQ((Names{resolve("b", "a"), resolve("b", ""), resolve("/b", "a"), resolve("b", "/")}),
            (Names{"a/b", "b", "/b", "/b"}));
}

TEST(Matches, FollowsTheRulesOfTheShell) {
  const auto yes = [](const char* pattern, const char* name) { return matches(pattern, name); };
  EXPECT_TRUE(yes("*", "") && yes("*", ".hidden") && yes("a*c", "abc") && yes("a*c", "ac") && yes("**", "x"));
  EXPECT_TRUE(yes("a?c", "abc") && yes("[a-c]x", "bx") && yes("[!a-c]x", "dx") && yes("[^a]", "b") && yes("[]]", "]"));
  EXPECT_TRUE(yes("[a-]", "-") && yes("a[", "a[") && yes("\\*", "*") && yes("[\\]]", "]") &&
              yes("*.tf*-0?", "x.tfr-01"));
  EXPECT_FALSE(yes("a?c", "ac") || yes("[a-c]x", "dx") || yes("[!a-c]x", "ax") || yes("\\*", "a") || yes("", "a") ||
               yes("a", ""));
}

TEST(Matches, ManyStarsCostNoMoreThanTheirProduct) {
  std::string pattern;
  for (int i = 0; i < 2000; ++i) pattern += "*a";
  EXPECT_FALSE(matches(pattern + "b", std::string(255, 'a')));
}

TEST(Expand, MatchesAreSortedByBytePerPatternAndPatternsKeepTheirOrder) {
  const tests::Folder folder;
  for (const char* name : {"b-2", "b-10", "a-1", "B-3", "c"}) folder.write(name);
  EXPECT_EQ(expanded(folder, {"b-*", "a-*", "?-[13]"}), (Names{"b-10", "b-2", "a-1", "B-3", "a-1"}));
}

TEST(Expand, DotFilesMatchAndAStarDoesNotCrossASlash) {
  const tests::Folder folder;
  folder.write(".hidden.x");
  folder.write("in/a.x");
  folder.write("in/deep/b.x");
  EXPECT_EQ(expanded(folder, {"*.x"}), (Names{".hidden.x"}));
  EXPECT_EQ(expanded(folder, {"*/*.x"}), (Names{"in/a.x"}));
  EXPECT_EQ(expanded(folder, {"i[n]/deep/*"}), (Names{"in/deep/b.x"}));
}

TEST(Expand, TwoStarsAreFoldersAtAnyDepth) {
  const tests::Folder folder;
  for (const char* name : {"a.txt", "b/a.txt", "b/c/a.txt", "b/c/d.bin", ".forebay/a.txt", "e/.hidden/a.txt"})
    folder.write(name);
  std::filesystem::create_directory_symlink(folder / "b", folder / "b/c/loop");
  EXPECT_EQ(expanded(folder, {"**/a.txt"}), (Names{"a.txt", "b/a.txt", "b/c/a.txt", "e/.hidden/a.txt"}));
  EXPECT_EQ(expanded(folder, {"b/**"}), (Names{"b/a.txt", "b/c/a.txt", "b/c/d.bin"}));
  EXPECT_EQ(expanded(folder, {"**/c/**/*.bin"}), (Names{"b/c/d.bin"}));
  EXPECT_EQ(expanded(folder, {"**/**/d.bin"}), (Names{"b/c/d.bin"}));
}

TEST(Expand, WildcardsPassOverTheFolderOfTheIndexes) {
  const tests::Folder folder;
  for (const char* name : {"a", ".forebay/index-v1", "in/.forebay/index-v1", "in/index-v1"}) folder.write(name, "");
  EXPECT_EQ(expanded(folder, {"*"}), (Names{"a", "in"}));
  EXPECT_EQ(expanded(folder, {"*/*"}), (Names{"in/index-v1"}));
  EXPECT_THAT(refused(folder, {".f*/*"}), HasSubstr("no file matches"));
  EXPECT_EQ(expanded(folder, {".forebay/index-v1"}), (Names{".forebay/index-v1"}));
  EXPECT_EQ(*find_files(folder.path(), "-v1"), (Names{*io::real_path(folder.path()) + "/in/index-v1"}));
}

TEST(Expand, WildcardsPassOverFilesWhoseWriterWasKilled) {
  const tests::Folder folder;
  folder.write("a", "");
  const pid_t writer = fork();
  if (writer == 0) {
    const auto file = AtomicFile::create(folder / "b");
    ::kill(::getpid(), SIGKILL);
  }
  ASSERT_EQ(::waitpid(writer, nullptr, 0), writer);
  const auto files = std::filesystem::directory_iterator{folder.path()};
  ASSERT_EQ(std::distance(begin(files), end(files)), 2);
  EXPECT_EQ(expanded(folder, {"*"}), (Names{"a"}));
  EXPECT_THAT(refused(folder, {".forebay*"}), HasSubstr("no file matches"));
}

TEST(Expand, APathWithoutWildcardsIsKeptEvenWhenMissing) {
  const tests::Folder folder;
  EXPECT_EQ(expanded(folder, {"no/such", "no/such", "/abs/olute"}), (Names{"no/such", "no/such", "/abs/olute"}));
}

TEST(Expand, TheFolderMayHaveWildcardsInItsName) {
  const tests::Folder folder;
  folder.write("a[1]/x.y");
  EXPECT_EQ(inside(folder, *expand({"*.y"}, folder / "a[1]")), (Names{"a[1]/x.y"}));
}

TEST(Expand, AFileNamedLikeAPatternIsFound) {
  const tests::Folder folder;
  folder.write("a[1].x");
  EXPECT_EQ(expanded(folder, {"a[1].x"}), (Names{"a[1].x"}));
}

TEST(Expand, AbsolutePatternsIgnoreTheFolder) {
  const tests::Folder folder;
  folder.write("a.x");
  EXPECT_EQ(inside(folder, *expand({folder.path() + "//*.x"}, "/nowhere")), (Names{"a.x"}));
}

TEST(Expand, AnEscapedWildcardNamesAFileThatNeedNotExist) {
  const tests::Folder folder;
  EXPECT_EQ(expanded(folder, {R"(a\[1].x)", R"(no\*\\pe)"}), (Names{"a[1].x", R"(no*\pe)"}));
  EXPECT_THAT(refused(folder, {R"(a\[1]*.x)"}), HasSubstr("no file matches"));
}

TEST(Expand, ShardsOfAListOfMoreThan1000FilesNeedNotExist) {
  const tests::Folder folder;
  EXPECT_EQ(expanded(folder, {"t@1001"}).at(1000), "t-01000-of-01001");
  EXPECT_THAT(refused(folder, {"t@1000"}), HasSubstr("t-00000-of-01000' is missing"));
  std::filesystem::create_directory(folder / "f-00000-of-00001");
  EXPECT_THAT(expand({"f@1"}, folder.path()).error().message(), HasSubstr("is a folder"));
}

TEST(Expand, APatternThatMatchesNothingIsNamed) {
  const tests::Folder folder;
  folder.write("a.x");
  EXPECT_EQ(refused(folder, {"*.x", "*.y"}), "no file matches '" + folder.path() + "/*.y'");
  EXPECT_THAT(refused(folder, {"no/*/such/*"}), HasSubstr("no/*/such/*"));
}

TEST(Expand, WhatAShellWouldHaveExpandedIsNamed) {
  const tests::Folder folder;
  EXPECT_THAT(refused(folder, {"{a,b}*"}),
              EndsWith("/{a,b}*'; `{…,…}` is not expanded here: give a list of paths or patterns"));
  EXPECT_THAT(refused(folder, {"~/x*"}),
              EndsWith("/~/x*'; `~` is not expanded here: give the path of the home folder"));
  EXPECT_THAT(refused(folder, {"$HOME/x*"}), EndsWith("; `$…` is not expanded here: give the path in full"));
  EXPECT_THAT(File::open("{a,b}.x").error().message(),
              HasSubstr("No such file or directory; `{…,…}` is not expanded here"));
  EXPECT_EQ(refused(folder, {"{a}b*"}), "no file matches '" + folder.path() + "/{a}b*'");
}

TEST(Expand, EveryPatternWithoutAMatchIsNamed) {
  const tests::Folder folder;
  folder.write("a.x");
  const auto result = expand({"*.y", "*.x", "t@2"}, folder.path());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().text(), "2 faults:\n  no file matches '" + folder.path() + "/*.y'\n  '" + folder.path() +
                                       "/t@2': shard '" + folder.path() + "/t-00000-of-00002' is missing");
}

/// Root may read everything, so this runs as user nobody.
class AsNobody {
 public:
  AsNobody() { changed_ = ::geteuid() == 0 && ::seteuid(65534) == 0; }
  ~AsNobody() {
    if (changed_ && ::seteuid(0) != 0) ADD_FAILURE();
  }

 private:
  bool changed_ = false;
};

TEST(Expand, AFolderThatMayNotBeReadIsToldAndNotTakenForAnEmptyOne) {
  const tests::Folder folder;
  folder.write("shut/in/a.x");
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod((folder / "shut").c_str(), 0), 0);
  for (const char* pattern : {"shut/*.x", "*/*.x", "shut/in/*.x"}) {
    const AsNobody nobody;
    const auto result = expand({pattern}, folder.path());
    ASSERT_FALSE(result.ok()) << pattern;
    EXPECT_EQ(result.error().code(), Code::io);
    EXPECT_EQ(result.error().detail(), Detail::permission_denied);
    EXPECT_THAT(result.error().message(), HasSubstr(folder / "shut"));
  }
  ASSERT_EQ(::chmod((folder / "shut").c_str(), 0755), 0);
}

TEST(Expand, APatternThatMultipliesItsPathsIsStopped) {
  const tests::Folder folder;
  for (int i = 0; i < 60; ++i) folder.write(std::to_string(i) + "/x");
  const auto result = expand({"*/../*/../*/../*/../*/x"}, folder.path());
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().detail(), Detail::resource_exhausted);
}

TEST(Expand, ShardsAreSpelledOutAndMustAllBeThere) {
  const tests::Folder folder;
  folder.write("t-00000-of-00002");
  folder.write("t-00001-of-00002");
  EXPECT_EQ(expanded(folder, {"t@2"}), (Names{"t-00000-of-00002", "t-00001-of-00002"}));
  EXPECT_THAT(refused(folder, {"t@3"}), HasSubstr("t-00000-of-00003' is missing"));
  EXPECT_EQ(expanded(folder, {"mail@host", "t@"}), (Names{"mail@host", "t@"}));
  folder.write("plain@7");
  EXPECT_EQ(expanded(folder, {"plain@7"}), (Names{"plain@7"}));
}

TEST(Expand, PathsOfSchemesThatNothingReadsAreRefused) {
  const tests::Folder folder;
  for (const char* url : {"hdfs://host/*", "az://a"}) {
    EXPECT_THAT(refused(folder, {url}), StartsWith(std::string{"'"} + url + "': only local files can be read here"));
  }
  EXPECT_THAT(refused(folder, {""}), HasSubstr("must not be empty"));
  EXPECT_THAT(refused(folder, {std::string{"a\0b", 3}}), HasSubstr("NUL"));
  EXPECT_EQ(expanded(folder, {"a:b", "://x"}), (Names{"a:b", "://x"}));
}

TEST(Expand, PatternsOfAFileSystemMatchAsLocalOnesDo) {
  const tests::Folder folder;
  for (const char* name : {"a/1.txt", "a/2.txt", "a/b/3.txt", "a/b/c/4.txt", "b/5.txt", "a/[x].txt", ".forebay/6.txt"})
    folder.write(name);
  tests::SlowFiles::get().behave({});
  const std::string root = tests::SlowFiles::path(folder.path()) + "/";
  for (const char* pattern : {"a/*.txt", "*/*.txt", "**/*.txt", "a/**", "a/b/?.txt", "?/[0-4].txt", R"(a/\[x\].txt)",
                              "a/**/4.txt", "[!b]/1.txt", "**/b/**", "**/**/3.txt", "a/**/c/*", "**/c/**/4.txt"}) {
    Names found = *expand({root + pattern}, "");
    for (std::string& path : found) path.erase(0, root.size());
    EXPECT_EQ(found, expanded(folder, {pattern})) << pattern;
  }
  EXPECT_THAT(refused(folder, {root + "none-*"}), StartsWith("no file matches 'slow://"));
}

TEST(ReadList, LinesAreStrippedAndOrderAndDuplicatesKept) {
  const tests::Folder folder;
  const std::string list = folder.write("l/list", "\xef\xbb\xbf  b \r\n\r\n\t\na b\nb\n~/x\n$HOME\n/abs\r\nlast");
  EXPECT_EQ(inside(folder, *read_list(list)), (Names{"l/b", "l/a b", "l/b", "l/~/x", "l/$HOME", "/abs", "l/last"}));
}

TEST(ReadList, AListWithoutPathsIsAnError) {
  const tests::Folder folder;
  EXPECT_THAT(read_list(folder.write("list", " \n\r\n")).error().message(), HasSubstr("names no file"));
  EXPECT_THAT(read_list(folder.write("empty")).error().message(), HasSubstr("names no file"));
}

TEST(ReadList, AFaultSaysItsLine) {
  const tests::Folder folder;
  const std::string list = folder.write("list", "a\n\naz://b/c\n");
  EXPECT_THAT(read_list(list).error().text(), StartsWith(list + ":3:1: 'az://b/c': only local files can be read"));
}

TEST(ReadList, FoldersAndDevicesAreRefused) {
  const tests::Folder folder;
  EXPECT_EQ(read_list(folder.path()).error().code(), Code::io);
  EXPECT_EQ(read_list("/dev/zero").error().code(), Code::io);
  EXPECT_FALSE(read_list("/proc/self/mem").ok());
}

TEST(FindFiles, WalksDownAndSortsFullPathsByByte) {
  const tests::Folder folder;
  for (const char* name :
       {"b.tfrecords", "a/z.TFRecords", "a.tfrecords", "a/.h.tfrecords", "a/b/c/d.tfrecords", "x.txt", "tfrecords"}) {
    folder.write(name);
  }
  EXPECT_EQ(inside(folder, *find_files(folder.path(), ".tfrecords")),
            (Names{"a.tfrecords", "a/.h.tfrecords", "a/b/c/d.tfrecords", "a/z.TFRecords", "b.tfrecords"}));
}

TEST(FindFiles, LinksToFilesAreFollowedAndLinksToFoldersAreNot) {
  const tests::Folder folder;
  folder.write("in/a.x");
  ASSERT_EQ(::symlink("..", (folder / "in/loop.x").c_str()), 0);
  ASSERT_EQ(::symlink("in/a.x", (folder / "link.x").c_str()), 0);
  ASSERT_EQ(::symlink("nothing", (folder / "dangling.x").c_str()), 0);
  EXPECT_EQ(inside(folder, *find_files(folder.path(), ".x")), (Names{"dangling.x", "in/a.x", "link.x"}));
  ASSERT_EQ(::symlink(folder.path().c_str(), (folder / "root").c_str()), 0);
  EXPECT_EQ(inside(folder, *find_files(folder / "root", ".x")), (Names{"dangling.x", "in/a.x", "link.x"}));
}

TEST(FindFiles, OfAFileSystemAreThoseBelowTheFolder) {
  const tests::Folder folder;
  for (const char* name : {"a/1.TXT", "a/b/2.txt", "a/b/3.bin", "a/.forebay/4.txt", "5.txt"}) folder.write(name);
  tests::SlowFiles::get().behave({});
  const std::string root = tests::SlowFiles::path(folder.path() + "/a");
  EXPECT_THAT(*find_files(root, ".txt"), ElementsAre(root + "/1.TXT", root + "/b/2.txt"));
  EXPECT_THAT(*find_files(root + "/", ".bin"), ElementsAre(root + "/b/3.bin"));
  EXPECT_THAT(find_files(root, ".none").error().message(), StartsWith("no file ending in '.none' in 'slow://"));
}

TEST(FindFiles, NamesAreBytes) {
  const tests::Folder folder;
  folder.write("\xff\xfe.x");
  folder.write("\xc3\xa9.x");
  EXPECT_EQ(inside(folder, *find_files(folder.path(), ".x")), (Names{"\xc3\xa9.x", "\xff\xfe.x"}));
}

TEST(FindFiles, NothingFoundAndMissingFoldersAreErrors) {
  const tests::Folder folder;
  EXPECT_THAT(find_files(folder.path(), ".x").error().message(),
              HasSubstr("no file ending in '.x' in '" + folder.path()));
  EXPECT_EQ(find_files(folder / "no", ".x").error().detail(), Detail::not_found);
  EXPECT_EQ(find_files(folder.write("file"), ".x").error().code(), Code::io);
}

}  // namespace
}  // namespace forebay::io
