// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <forebay/json.h>
#include <forebay/run_options.h>
#include <forebay/schema.h>

namespace forebay {

/// The data files that are asked for (by stat) while a document is planned. The files of a pattern or of a folder are
/// known from the listing.
enum class FileChecks : std::uint8_t {
  few,  ///< Those that the document or its list file names, if they are at most 1,000. A run finds other missing files.
  all,  ///< All.
};

/// What a document asks for, checked and resolved: immutable, printable, hashable. No record has been read.
class Plan {
 public:
  /// Plans a loader or pipeline document. Relative paths are relative to `folder`. Fails with Code::config and every
  /// fault of the document, or Code::io when a manifest or list file cannot be read.
  [[nodiscard]] static Result<Plan> make(const Json& document, const std::string& folder = ".",
                                         FileChecks checks = FileChecks::few);
  /// Reads the document from a file; its folder is what relative paths are relative to.
  [[nodiscard]] static Result<Plan> load(const std::string& path, FileChecks checks = FileChecks::few);

  [[nodiscard]] const std::vector<ColumnSpec>& outputs() const;  ///< Tensors of a batch, rows' shapes.
  [[nodiscard]] const std::vector<std::string>& inputs() const;
  [[nodiscard]] const std::vector<std::string>& targets() const;
  [[nodiscard]] Json lowered() const;                         ///< The pipeline document, paths resolved. Made anew.
  [[nodiscard]] std::optional<std::int64_t> batches() const;  ///< Of the whole run, when known before reading.
  [[nodiscard]] std::uint64_t hash() const;  ///< Of everything that decides the stream's content and order.
  [[nodiscard]] std::string text() const;    ///< One line per stage: what it does, where it was placed.
  [[nodiscard]] std::optional<std::int64_t> epochs() const;  ///< Passes over the source; empty: for ever.
  [[nodiscard]] const Shard& shard() const;  ///< The document's, which a run may replace; "auto" was asked by `make`.

 private:
  friend struct PlanAccess;  ///< The planner's and the engine's way in: src/engine/program/plan_access.h.
  struct Parts;
  explicit Plan(std::shared_ptr<const Parts> parts) : parts_{std::move(parts)} {}
  std::shared_ptr<const Parts> parts_;
};

}  // namespace forebay
