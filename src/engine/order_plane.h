// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/position.h"
#include "engine/program.h"
#include "engine/streams.h"

namespace forebay::engine {

/// A batch as the order plane decides it: which record goes into which row.
struct Layout {
  std::vector<Handle> handles;             ///< One a row.
  std::vector<const std::byte*> payloads;  ///< By row: where the record lies, until the batch is finished.
  std::vector<Piece> pieces;               ///< What the handles name, each once.
  std::vector<Unmapped> unmapped;          ///< Records that are to be read from their files, by row.
  std::int64_t rows = 0;                   ///< At least handles.size(); more are filled with nothing.
  std::int64_t epoch = 0;
  std::int64_t number = 0;
  double complete_frac = 0;  ///< Of the run, or of the epoch when the run is endless.
  Position after;            ///< Where a run that goes on behind this batch stands.
  Charge charge;             ///< Of the rows, to the budget.

  [[nodiscard]] Record record(std::int64_t row) const {
    const auto at = static_cast<std::size_t>(row);
    return {payloads[at], handles[at].length};
  }
  /// Charges the room that there is for rows.
  void account(Pool& pool) { charge.set(pool, static_cast<std::int64_t>(handles.capacity()) * bytes_a_row); }
  /// Forgets the rows, but keeps their room.
  void clear() {
    handles.clear();
    payloads.clear();
    pieces.clear();
    unmapped.clear();
    rows = 0;
  }
  /// The piece that a row with a record belongs to.
  [[nodiscard]] const Piece& piece_of(std::int64_t row) const;
  /// Byte of the record's payload in the (uncompressed) file.
  [[nodiscard]] std::int64_t payload_offset(std::int64_t row) const {
    return piece_of(row).file_offset + handles[static_cast<std::size_t>(row)].offset;
  }
  [[nodiscard]] std::int64_t record_of(std::int64_t row) const {
    return piece_of(row).first_record + handles[static_cast<std::size_t>(row)].ordinal;
  }
};

/// Decides the order: pulls handles through the plan's orders, pass after pass, cuts them into batches, and keeps the
/// rows of its shard. One thread at a time.
class OrderPlane {
 public:
  OrderPlane(const Program& program, Streams& streams, Position start = {}, Shard shard = {});
  ~OrderPlane();

  /// Decides the next batch. False at the end of the run. Give an empty layout; after an error the call may be repeated
  /// with the same one.
  [[nodiscard]] Result<bool> next(Layout& layout);

 private:
  class Files;
  class FilesOfPass;
  class Passes;
  Result<bool> cut(Layout& layout);
  Result<bool> catch_up(Layout& layout);  // to the batch that the run starts with
  void keep_shard(Layout& layout);

  const Program& program_;
  Streams& streams_;
  const Position start_;
  const Shard shard_;
  std::unique_ptr<Passes> passes_;
  std::unique_ptr<Batcher> batcher_;
  std::int64_t number_;
  double complete_frac_ = 0;
  int passes_without_batch_ = 0;
  bool fetching_ = false;  // the layout is decided, its records are not all there
};

}  // namespace forebay::engine
