// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <forebay/loader.h>
#include <forebay/records.h>

namespace forebay::plan {

/// A pipeline over the first `count` records of one TFRecord file: batches of one string tensor, "record".
/// The path is taken as it is, wildcards in it mean themselves. A batch has `rows` rows at most; a fault takes the
/// others of its batch with it. Code::io when the file cannot be read.
[[nodiscard]] Result<Loader> open_records(const std::string& path, std::int64_t count, std::int64_t rows = 100);

/// Whether a record is a tf.train.SequenceExample: it has feature lists, which an Example has not.
[[nodiscard]] bool has_feature_lists(std::string_view record);

/// What was found in a file.
struct Inferred {
  Json manifest;                      ///< A manifest document with every feature that one can describe.
  std::vector<std::string> left_out;  ///< One sentence for each feature that it cannot, and why.
  std::int64_t records = 0;           ///< Looked at.
};

/// Collects examples and describes what they have in common.
class ManifestGuess {
 public:
  void add(const ExampleMap& example);
  /// Fixed features, by name: dtype, shape and how they are stored. `compression` is null, "GZIP" or "ZLIB".
  [[nodiscard]] Inferred result(Json compression) const;
  [[nodiscard]] std::int64_t records() const { return records_; }

 private:
  struct Seen {
    std::string kind;  // int, float, string; empty: none yet
    bool mixed = false;
    std::int64_t records = 0;      // that have values of it
    std::size_t min = 0, max = 0;  // values in a record
  };
  std::map<std::string, Seen> features_;
  std::int64_t records_ = 0;
};

/// Reads up to `records` records of a TFRecord file of Examples and describes them. Code::data when they are none,
/// Code::cancelled soon after `stop` says so.
[[nodiscard]] Result<Inferred> infer_manifest(const std::string& path, std::int64_t records = 1000,
                                              const std::function<bool()>& stop = {});

}  // namespace forebay::plan
