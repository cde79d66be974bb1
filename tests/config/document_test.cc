// SPDX-License-Identifier: Apache-2.0
#include "config/document.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace forebay {
namespace {

class ReadDocument : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = folder() / name;
    std::ofstream{path, std::ios::binary} << text;
    return path.string();
  }
  static std::filesystem::path folder() {
    const std::filesystem::path path =
        std::filesystem::path{testing::TempDir()} / ("read_document_" + std::to_string(getpid()));
    std::filesystem::create_directories(path);
    return path;
  }
};

TEST_F(ReadDocument, PlacesNameTheFile) {
  const std::string path = write("a.json", "{ // no newline at the end\n\"a\": 1}");
  const auto json = read_document(path);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(json->find("a")->place().file, path);
  EXPECT_EQ(json->find("a")->place().line, 2);
}
TEST_F(ReadDocument, TheTopLevelMustBeAnObject) {
  const std::string path = write("list.json", "\n[1]");
  EXPECT_EQ(read_document(path).error().text(),
            path + ":2:1: a document must be an object at its top level, found a list");
}
TEST_F(ReadDocument, AMissingFileIsAnIoError) {
  const Error error = read_document((folder() / "none.json").string()).error();
  EXPECT_EQ(error.code(), Code::io);
  EXPECT_EQ(error.detail(), Detail::not_found);
  EXPECT_EQ(error.place().file, (folder() / "none.json").string());
}
TEST_F(ReadDocument, ADirectoryAndADeviceAreRefused) {
  EXPECT_EQ(read_document(folder().string()).error().code(), Code::io);
  EXPECT_EQ(read_document("/dev/zero").error().code(), Code::io);
}
TEST_F(ReadDocument, APipeIsReadToItsEndWheneverItsBytesCome) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::jthread writer{[&] {
    for (const std::string piece : {"{\"a\"", ": [1, ", "2]}"}) {
      std::this_thread::sleep_for(std::chrono::milliseconds{20});
      EXPECT_EQ(::write(ends[1], piece.data(), piece.size()), std::ssize(piece));
    }
    ::close(ends[1]);
  }};
  const auto json = read_document("/dev/fd/" + std::to_string(ends[0]));
  ::close(ends[0]);
  ASSERT_TRUE(json.ok()) << json.error().text();
  EXPECT_EQ(json->text(), R"({"a":[1,2]})");
}
TEST_F(ReadDocument, APipeWithoutAWriterIsNoDocument) {
  const std::string path = (folder() / "pipe").string();
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(read_document(path).error().code(), Code::config);
  ::unlink(path.c_str());
}
TEST_F(ReadDocument, PathsInItAreRelativeToItsFileAndToTheWorkingFolderFromAPipe) {
  const auto folders = [](std::initializer_list<const char*> paths) {
    std::vector<std::string> out;
    for (const char* path : paths) out.push_back(document_folder(path));
    return out;
  };
  EXPECT_EQ(folders({"a/b.json", "/b.json", "b.json", "/dev/stdin", "/dev/fd/63", "/proc/self/fd/0"}),
            (std::vector<std::string>{"a", "/", "", "", "", ""}));
}
TEST_F(ReadDocument, ASyntaxErrorNamesFileLineAndColumn) {
  const std::string path = write("broken.json", "{\"a\":\n  ?}");
  EXPECT_EQ(read_document(path).error().text().substr(0, path.size() + 5), path + ":2:3:");
}

}  // namespace
}  // namespace forebay
