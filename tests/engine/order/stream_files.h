// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <forebay/forebay.h>

#include "tests/support/how_much.h"

/// Real files and whole runs for the tests of this folder.
namespace forebay::testing {

/// A temporary folder; the destructor removes it.
class Folder {
 public:
  Folder()
      : path_{std::filesystem::path{::testing::TempDir()} /
              ("forebay_" + std::to_string(getpid()) + "_" + std::to_string(reinterpret_cast<std::uintptr_t>(this)))} {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// A record with an id, four floats and a variable number of tokens made from it.
[[nodiscard]] inline std::string example_of(std::int64_t id) {
  std::vector<std::int64_t> tokens;
  for (std::int64_t i = 0; i < id * 7 % 13; ++i) tokens.push_back(id * 100 + i);
  const auto f = static_cast<float>(id);
  return encode_example({{"id", std::vector<std::int64_t>{id}},
                         {"x", std::vector<float>{f, f + 0.25F, -f, 0.5F}},
                         {"tokens", tokens},
                         {"name", std::vector<std::string>{"record " + std::to_string(id)}}});
}

/// Writes `records` examples, ids from `first`, as one file.
inline std::string write_examples(const std::string& path, std::int64_t first, std::int64_t records,
                                  Compression compression = Compression::none) {
  std::vector<std::string> messages;
  for (std::int64_t id = first; id < first + records; ++id) messages.push_back(example_of(id));
  const auto written = write_records(path, messages, compression);
  return written.ok() ? path : written.error().text();
}

/// Which of several files are compressed.
struct CompressedParts {
  std::size_t gzip, zlib;
};
/// Writes a file of each size, ids going on from one to the next.
inline void write_parts(const Folder& folder, const std::vector<std::int64_t>& sizes, CompressedParts compressed) {
  std::int64_t id = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Compression compression = i == compressed.gzip   ? Compression::gzip
                                    : i == compressed.zlib ? Compression::zlib
                                                           : Compression::none;
    const std::string path = folder.file("part-" + std::to_string(i) + ".tfrecord");
    ASSERT_EQ(write_examples(path, id, sizes[i], compression), path);
    id += sizes[i];
  }
}

/// All output of a run as text: any difference in content, order or shape is visible.
struct Delivered {
  std::vector<std::string> batches;
  std::string error;  ///< Empty: a clean end.
  bool operator==(const Delivered&) const = default;
};

[[nodiscard]] inline std::string text_of(const Tensor& tensor) {
  std::string out{to_string(tensor.dtype)};
  out += tensor.shape.text();
  if (tensor.dtype == DType::string) {
    for (std::int64_t i = 0; i < tensor.count(); ++i) out += "|" + std::string{tensor.string(i)};
  } else {
    out.append(reinterpret_cast<const char*>(tensor.data),
               static_cast<std::size_t>(tensor.count()) * size_of(tensor.dtype));
  }
  return out;
}

[[nodiscard]] inline std::string text_of(const Batch& batch) {
  std::string out = std::to_string(batch.rows()) + " rows, epoch " + std::to_string(batch.epoch());
  for (const std::string& name : batch.names()) {
    const Value& value = *batch.find(name);
    out += "\n" + name + ": " + text_of(value.values);
    for (const Tensor& splits : value.row_splits) out += text_of(splits);
    if (value.kind == Value::Kind::sparse) out += text_of(value.indices) + value.dense_shape.text();
    if (const Tensor* lengths = batch.lengths(name)) out += text_of(*lengths);
  }
  for (std::int64_t row = 0; row < batch.valid_rows(); ++row) out += "\n" + batch.key(row);
  return out;
}

[[nodiscard]] inline Delivered run(const Json& document, RunOptions options = {}, const std::string& folder = ".") {
  Delivered out;
  auto pipeline = load(document, options, folder);
  if (!pipeline.ok()) return {.batches = {}, .error = pipeline.error().text()};
  while (true) {
    auto batch = pipeline->next();
    if (!batch.ok()) return out.error = batch.error().text(), out;
    if (!*batch) return out;
    out.batches.push_back(text_of(**batch));
  }
}

[[nodiscard]] inline Json parse(const std::string& text) {
  auto json = parse_json(text);
  return json.ok() ? *std::move(json) : Json{json.error().text()};
}

/// A pipeline over `files`; `steps` are its steps, batch included.
[[nodiscard]] inline Json document(const std::string& files, const std::string& steps, const std::string& more = "") {
  return parse(R"({"source": {"tfrecord": {"files": [")" + files + R"("]}},
    "decode": {"example": {"features": {
      "id": {"dtype": "int64", "shape": []},
      "x": {"dtype": "float32", "shape": [4]},
      "tokens": {"kind": "var_len", "dtype": "int32"},
      "name": {"dtype": "string", "shape": []}}}},
    "steps": [)" +
               steps + "]" + more + "}");
}

}  // namespace forebay::testing
