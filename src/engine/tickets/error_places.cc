// SPDX-License-Identifier: Apache-2.0
#include "engine/tickets/error_places.h"

#include <fmt/core.h>

#include "engine/blocks/part_in_files.h"
#include "engine/read/mapped_file.h"
#include "engine/read/sigbus_guard.h"
#include "engine/tickets/branch_tickets.h"

namespace forebay::engine {

Error ErrorPlaces::of_record(const Job& job, const Error& error, std::int64_t row) const {
  const BatchLayout& layout = job.layout;
  if (row >= static_cast<std::int64_t>(layout.handles.size())) return error;  // a row that no record fills
  if (branches_) return branches_->place(job, error, row);
  const Source& source = program_->source;
  const std::int64_t record = layout.record_of(row);
  const std::int64_t offset = source.rows ? -1 : source.format->record_offset(layout.payload_offset(row));
  const auto at = source.locate(layout.block_of(row).file, record, offset);
  return error.at(Place{.file = source.files[at.file], .record = at.record, .offset = at.offset});
}

Error ErrorPlaces::of_row(const Job& job, const Error& error, std::int64_t row) const {
  const std::int64_t element = job.layout.element_of(row);
  return element == RowSpans::no_element ? error : of_record(job, error, element);
}

Error ErrorPlaces::wrong_checksum(const Job& job, const Error& error, std::int64_t row) const {
  const UsedBlock& used = job.layout.block_of(row);
  const std::string change = used.mapping == nullptr ? "" : used.mapping->change(program_->source.files[used.file]);
  const Error told = change.empty()
                         ? error
                         : Error{Code::data, Detail::failed_precondition,
                                 fmt::format("the file changed while it was read ({}): {}", change, error.message())};
  return of_record(job, told.at(Place{.offset = job.layout.payload_offset(row)}), row);
}

Error ErrorPlaces::cut_short(const Job& job, const std::string& file) {
  return Error{Code::data, Detail::failed_precondition,
               fmt::format("batch {} is not delivered: the file was cut short while its records were decoded; leave "
                           "files alone while they are read",
                           job.layout.number),
               Place{.file = file}};
}

std::optional<Error> ErrorPlaces::find_cut_short(const Job& job) const {
  if (pages_replaced() == 0) return std::nullopt;
  for (const UsedBlock& piece : job.layout.blocks) {
    if (piece.mapping != nullptr && piece.mapping->corrupt()) return cut_short(job, program_->source.files[piece.file]);
    const std::string* const cut = piece.files == nullptr ? nullptr : piece.files->cut();
    if (cut != nullptr) return cut_short(job, *cut);
  }
  return std::nullopt;
}

}  // namespace forebay::engine
