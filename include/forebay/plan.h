// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <forebay/json.h>
#include <forebay/schema.h>

namespace forebay {

namespace engine {
struct Program;
}

/// What a document asks for, checked and resolved: immutable, printable, hashable. No record has been read.
class Plan {
 public:
  /// Plans a loader or pipeline document. Relative paths are relative to `folder`. Fails with Code::config and every
  /// fault of the document, or Code::io when a manifest or list file cannot be read.
  [[nodiscard]] static Result<Plan> make(const Json& document, const std::string& folder = ".");
  /// Reads the document from a file; its folder is what relative paths are relative to.
  [[nodiscard]] static Result<Plan> load(const std::string& path);

  [[nodiscard]] const std::vector<ColumnSpec>& outputs() const;  ///< Tensors of a batch, rows' shapes.
  [[nodiscard]] const std::vector<std::string>& inputs() const;
  [[nodiscard]] const std::vector<std::string>& targets() const;
  [[nodiscard]] const Json& lowered() const;                  ///< The pipeline document, paths resolved.
  [[nodiscard]] std::optional<std::int64_t> batches() const;  ///< Of the whole run, when known before reading.
  [[nodiscard]] std::uint64_t hash() const;  ///< Of everything that decides the stream's content and order.
  [[nodiscard]] std::string text() const;    ///< One line per stage: what it does, where it was placed.
  [[nodiscard]] const engine::Program& program() const { return *program_; }
  [[nodiscard]] std::shared_ptr<const engine::Program> share() const { return program_; }

  struct Parts;
  [[nodiscard]] const Parts& parts() const;  ///< The planner's own.
  explicit Plan(std::shared_ptr<const Parts> parts, std::shared_ptr<const engine::Program> program)
      : parts_{std::move(parts)}, program_{std::move(program)} {}

 private:
  std::shared_ptr<const Parts> parts_;
  std::shared_ptr<const engine::Program> program_;
};

}  // namespace forebay
