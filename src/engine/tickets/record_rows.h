// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "engine/memory/buffer_pool.h"
#include "engine/program/program.h"
#include "engine/read/file_cache.h"
#include "engine/tickets/error_places.h"
#include "engine/tickets/job.h"

namespace forebay::engine {

struct Worker;

/// Decodes the records of tickets into rows. Const while running: any number of workers call it at once, each with its
/// own Worker.
///
/// Another process may write to a mapped file at any time, so a record is first copied and only its copy is checked and
/// decoded (ADR 0009):
///
///     mapped file ──copy──► worker's buffer ─┐
///     decompressed block ────────────────────┼─ verify checksum ─► decode ─► row i of the ticket's columns
///     record read by FileCache ──────────────┘
///                    private memory; groups of a few records, so all of it happens in the first-level cache
///
/// Where nothing is verified and the decoder copies the bytes into the row, it reads the mapping (ADR 0060).
///
/// A record whose checksum is wrong is an error of its row. When the file's identity is no longer that of the mapping,
/// the error says that the file changed.
class RecordRows {
 public:
  /// `errors` outlives this object.
  RecordRows(std::shared_ptr<const Program> program, std::shared_ptr<BufferPool> pool, const ErrorPlaces& errors);

  [[nodiscard]] std::size_t trailer() const { return trailer_; }  ///< Bytes after a record that its format verifies.
  /// Whether records are decoded where they lie in a mapping.
  [[nodiscard]] bool copies_only() const { return copies_only_; }
  [[nodiscard]] std::optional<RowError> fill(Ticket& ticket, Worker& worker) const;

 private:
  class Fetching;
  [[nodiscard]] std::optional<RowError> read_unmapped(Ticket& ticket, Worker& worker,
                                                      std::shared_ptr<std::byte>& memory) const;
  void copy_some(const Job& job, std::int64_t first_row, std::span<Record> records, Worker& worker) const;
  [[nodiscard]] std::optional<RowError> verify(const Ticket& ticket, Worker& worker, std::int64_t first,
                                               Fetching& fetching) const;
  [[nodiscard]] std::optional<RowError> decode(Ticket& ticket, Worker& worker) const;
  [[nodiscard]] std::optional<RowError> decode_groups(Ticket& ticket, Worker& worker) const;
  [[nodiscard]] std::optional<RowError> decode_group(Ticket& ticket, Worker& worker, std::int64_t first,
                                                     Fetching& fetching) const;
  [[nodiscard]] std::optional<RowError> one_by_one(Ticket& ticket, Worker& worker, std::int64_t first,
                                                   std::int64_t end) const;
  [[nodiscard]] RowError thrown(const Ticket& ticket, Worker& worker, const Error& error, std::int64_t row) const;
  void account(Worker& worker) const;

  const std::shared_ptr<const Program> program_;
  const std::shared_ptr<BufferPool> pool_;
  const ErrorPlaces& errors_;
  const std::size_t trailer_;
  const bool copies_only_;
  const std::unique_ptr<FileCache> files_;
};

}  // namespace forebay::engine
