// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <forebay/json.h>
#include <forebay/rows.h>
#include <forebay/run_options.h>
#include <forebay/schema.h>

namespace forebay {

/// The data files that are asked for (by stat) while a document is planned. The files of a pattern or of a folder are
/// known from the listing.
enum class FileChecks : std::uint8_t {
  few,  ///< Those that the document or its list file names, if they are at most 1,000. A run finds other missing files.
  all,  ///< All.
};

/// A stage of a plan, or another thing that the plan says of a run.
struct PlanStage {
  /// "source", "label", "files", "index", "open", "in part", "combine", "branch", "made", "records", "windows",
  /// "early", "batch", "batches", "late" (before the batch is handed over) or "finish" (of whole batches); of a tensor
  /// "input", "target", "in+target" or "output"; "run" for the rest.
  std::string where;
  std::string text;                         ///< What it does, with its options and the tensors that it makes.
  std::string plugin = {};                  ///< Empty: the engine does it.
  std::optional<std::int64_t> branch = {};  ///< Of the innermost combination that it is in; empty: of none.
  std::optional<std::int64_t> step = {};    ///< Its place in Stats::steps; empty: it is not counted there.
};

/// The checked, immutable description of a run. Made from a document, before any record is read. Copies are cheap; any
/// thread may use one.
class Plan {
 public:
  /// Plans a loader or pipeline document. Relative paths are relative to `folder`; `bindings` are the objects of the
  /// program that a pipeline document names. Fails with Code::config and every
  /// fault of the document, or Code::io when a manifest or list file cannot be read.
  [[nodiscard]] static Result<Plan> make(const Json& document, const std::string& folder = ".",
                                         const Bindings& bindings = {}, FileChecks checks = FileChecks::few);
  /// Reads the document from a file; its folder is what relative paths are relative to.
  [[nodiscard]] static Result<Plan> load(const std::string& path, const Bindings& bindings = {},
                                         FileChecks checks = FileChecks::few);

  /// The tensors of a batch; each shape is that of a row.
  [[nodiscard]] const std::vector<ColumnSpec>& outputs() const;
  [[nodiscard]] const std::vector<std::string>& inputs() const;   ///< Names of the tensors that are inputs.
  [[nodiscard]] const std::vector<std::string>& targets() const;  ///< Names of the tensors that are targets.
  [[nodiscard]] Json lowered() const;                             ///< The pipeline document, paths resolved. Made anew.
  [[nodiscard]] std::optional<std::int64_t> batches() const;      ///< Of the whole run, when known before reading.
  [[nodiscard]] std::uint64_t hash() const;  ///< Of everything that decides the stream's content and order.
  /// The same without the paths of the data: equal in processes that share a stream, wherever their files lie.
  [[nodiscard]] std::uint64_t stream() const;
  [[nodiscard]] const std::vector<PlanStage>& stages() const;
  [[nodiscard]] std::string text() const;                    ///< One line per stage: what it does, where it was placed.
  [[nodiscard]] std::optional<std::int64_t> epochs() const;  ///< Passes over the source; empty: for ever.
  /// The document's shard, which RunOptions may replace. `make` has resolved "auto".
  [[nodiscard]] const Shard& shard() const;

 private:
  friend struct PlanAccess;  ///< The planner's and the engine's way in: src/engine/program/plan_access.h.
  struct Parts;
  explicit Plan(std::shared_ptr<const Parts> parts) : parts_{std::move(parts)} {}
  std::shared_ptr<const Parts> parts_;
};

}  // namespace forebay
