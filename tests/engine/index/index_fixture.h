// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <forebay/records.h>
#include <gtest/gtest.h>

#include "engine/index/index_file.h"
#include "engine/index/store_place.h"
#include "sources/framing.h"
#include "tests/io/files.h"

namespace forebay::engine {

/// Sets an environment variable; the destructor restores it.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_{name} {
    if (const char* const before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

/// The records of an index, and those of a sequential read of the file.
struct IndexLayout {
  std::vector<std::int64_t> offsets;
  std::vector<std::uint32_t> lengths;
  std::int64_t bytes = 0;
  bool operator==(const IndexLayout&) const = default;
};

inline IndexLayout layout_of(const RecordIndex& index) {
  IndexLayout out{.bytes = index.bytes()};
  for (std::int64_t i = 0; i < index.records(); ++i) {
    out.offsets.push_back(index.offset(i));
    out.lengths.push_back(index.length(i));
  }
  return out;
}

inline IndexLayout layout_of(const std::vector<std::string>& records) {
  IndexLayout out;
  for (const std::string& record : records) {
    out.offsets.push_back(out.bytes + 12);
    out.lengths.push_back(static_cast<std::uint32_t>(record.size()));
    out.bytes += static_cast<std::int64_t>(record.size()) + 16;
  }
  return out;
}

inline IndexRequest request_for(const std::string& file, Compression compression = Compression::automatic) {
  return {.file = file,
          .compression = compression,
          .format = sources::tfrecord_format(),
          .signature = sources::tfrecord_signature()};
}

inline std::vector<std::string> some_records(std::size_t count, std::size_t most = 200) {
  std::vector<std::string> out;
  std::uint64_t x = 3;
  for (std::size_t i = 0; i < count; ++i) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    std::string record((x >> 33) % most, static_cast<char>(x >> 40));
    for (std::size_t at = 0; at < record.size(); at += 3)
      record[at] = static_cast<char>((x = x * 25214903917U + 11) >> 40);
    out.push_back(std::move(record));
  }
  return out;
}

/// Files in a folder of their own, with a cache folder of its own.
class IndexTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::vector<std::string>& records,
                    Compression compression = Compression::none) {
    const std::string path = folder_.path() + "/" + name;
    EXPECT_TRUE(write_records(path, records, compression).ok());
    return path;
  }
  [[nodiscard]] std::string cache() const { return cache_.path() + "/made"; }
  /// The store beside the files, and its content.
  [[nodiscard]] std::string store() const { return folder_.path() + "/.forebay/index-v1"; }
  [[nodiscard]] std::string stored() const { return tests::read_text(store()); }
  void set_stored(const std::string& bytes) const { folder_.write(".forebay/index-v1", bytes); }

  tests::Folder folder_;
  tests::Folder cache_;
  Variable variable_{"FOREBAY_CACHE", cache_.path() + "/made"};
};

}  // namespace forebay::engine
