// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <forebay/error.h>
#include <forebay/json.h>
#include <forebay/loader.h>
#include <forebay/plan.h>

/// What is in some files: `forebay schema` and `fb.inspect`.
namespace forebay {

struct InspectOptions {
  /// Name of the source; empty: found by content and name. Of a run: what the report calls it.
  std::string source = {};
  Json options = Json::object();  ///< Options of that source, without its files.
  /// Records to look at; nothing: all. Of TFRecord and other files of records these are the first ones of at most 16
  /// files, as many of each.
  std::optional<std::int64_t> records = 10'000;
  std::int64_t threads = 0;  ///< 0: one for every CPU.
  /// Asked on the calling thread every few milliseconds; false ends the work with Code::cancelled.
  std::function<bool()> go_on = {};
};

/// What was found. It does not depend on the number of threads.
struct Inspection {
  Json report = Json::object();  ///< docs/inspect.md says what it has.
  Json document = {};            ///< The pipeline document that reads it; null of a run and a plan.
  std::string python = {};       ///< The same as a call of Python: statements that end in the name `pipe`.

  /// A table of the features for people; `stats`: with ranges, lengths and frequent values.
  [[nodiscard]] std::string text(bool stats) const;
  [[nodiscard]] std::string markdown(bool stats) const;
};

/// Looks into the files that paths, patterns and folders name. The document reads everything that was looked at without
/// an error, and every feature is in the report. Memory does not depend on the number of records: of frequent values
/// 256 are counted for each feature, and of names more than 4,096 features are left out and said so.
///
/// Fails with Code::config for files of an unknown kind and wrong options, and as reading does: a corrupt record is an
/// error with its place. Parquet and Arrow files, which Python reads, are Code::config, Detail::failed_precondition.
[[nodiscard]] Result<Inspection> inspect(const std::vector<std::string>& paths, const InspectOptions& options = {});

/// Counts the values of the batches of a run: every tensor, without padding. A row in which a tensor `present(x)` is
/// false has no value of x. One thread at a time uses it.
class BatchInspector {
 public:
  explicit BatchInspector(const Plan& plan);
  BatchInspector(BatchInspector&&) noexcept;
  BatchInspector& operator=(BatchInspector&&) noexcept;
  ~BatchInspector();

  /// Adds the first `rows` valid rows of a batch of the plan, or all that it has. Returns their number.
  std::int64_t add(const Batch& batch, std::int64_t rows);
  /// What was counted up to now. `what`: the title of the report; `sample`: whether there are more rows.
  [[nodiscard]] Inspection result(const std::string& what, bool sample) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Inspects the next `options.records` rows of a run, or the rest of its first epoch. Fails as the run does.
[[nodiscard]] Result<Inspection> inspect(Loader& loader, const InspectOptions& options = {});
/// The tensors of a plan; no row is read.
[[nodiscard]] Inspection inspect_schema(const Plan& plan);

/// The source that reads some files.
struct FoundSource {
  std::string name;  ///< "parquet" and "arrow_file" are no sources of documents: Python reads them.
  std::vector<std::string> files;
};
/// Finds out what files are, by their first bytes and their names. Fails as `inspect` does for files of an unknown
/// kind.
[[nodiscard]] Result<FoundSource> find_source(const std::vector<std::string>& paths, const std::string& source = {});

/// A pipeline document that reads the files in their order, `rows` of them in a batch, as `inspect` proposes it.
[[nodiscard]] Result<Json> document_for(const std::vector<std::string>& paths, std::int64_t rows,
                                        const InspectOptions& options = {});

/// Whether a path names a document rather than data: its name ends in ".json", or it is JSON text that has a source or
/// the members of a loader document. Fails with Code::io.
[[nodiscard]] Result<bool> looks_like_document(const std::string& path);

}  // namespace forebay
