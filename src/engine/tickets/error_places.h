// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <forebay/error.h>

#include "engine/program/program.h"
#include "engine/tickets/job.h"

namespace forebay::engine {

class BranchTickets;

/// A failure and the row of the batch it belongs to.
struct RowError {
  Error error;
  std::int64_t row;
};

/// Says which record of which file an error of a batch belongs to. Const: any thread.
class ErrorPlaces {
 public:
  /// `branches`: of a combination, which outlive this object; else null.
  ErrorPlaces(std::shared_ptr<const Program> program, const BranchTickets* branches)
      : program_{std::move(program)}, branches_{branches} {}

  /// The error with the place of a record of the layout.
  [[nodiscard]] Error of_record(const Job& job, const Error& error, std::int64_t record) const;
  /// The error with the place of the first element of a row.
  [[nodiscard]] Error of_row(const Job& job, const Error& error, std::int64_t row) const;
  /// A wrong checksum of a record whose file changed is no corruption of the file.
  [[nodiscard]] Error wrong_checksum(const Job& job, const Error& error, std::int64_t record) const;
  [[nodiscard]] static Error cut_short(const Job& job, const std::string& file);
  /// Finds a file that was cut short while records of the batch were copied. A page that vanishes reads as zeros, and
  /// the SIGBUS guard counts it. Most formats notice by a checksum; this finds it for the others.
  [[nodiscard]] std::optional<Error> find_cut_short(const Job& job) const;

 private:
  const std::shared_ptr<const Program> program_;
  const BranchTickets* const branches_;
};

}  // namespace forebay::engine
