// SPDX-License-Identifier: Apache-2.0
// Errors of batches that could not be made.
#include <vector>

#include <fmt/core.h>

#include "engine/blocks/part_in_files.h"
#include "engine/index/trial_decode.h"
#include "engine/read/mapped_file.h"
#include "engine/read/sigbus_guard.h"
#include "engine/tickets/branch_tickets.h"
#include "engine/tickets/executor.h"

namespace forebay::engine {

/// The error of a decoder that threw. `worker.records` begin at `row` of the ticket. They are decoded again one by one,
/// so that the named record does not depend on how the batch was cut.
RowError Executor::thrown(const Ticket& ticket, Worker& worker, const Error& error, std::int64_t row) const {
  const std::int64_t first = ticket.first_row + row;
  if (error.code() != Code::internal) return {error, first};  // no memory, or stopped: not the fault of a record
  std::vector<Malformed> bad;
  TrialDecode{*program_, pool_.get()}.run(worker.records, bad);
  if (bad.empty()) return {place(*ticket.job, error.at("the decoder"), first), first};
  const std::int64_t culprit = first + static_cast<std::int64_t>(bad.front().record);
  return {place(*ticket.job, bad.front().error, culprit), culprit};
}

Error Executor::place(const Job& job, const Error& error, std::int64_t row) const {
  const BatchLayout& layout = job.layout;
  if (row >= static_cast<std::int64_t>(layout.handles.size())) return error;  // a row that no record fills
  if (branches_) return branches_->place(job, error, row);
  const Source& source = program_->source;
  const std::int64_t record = layout.record_of(row);
  const std::int64_t offset = source.rows ? -1 : source.format->record_offset(layout.payload_offset(row));
  const auto at = source.locate(layout.block_of(row).file, record, offset);
  return error.at(Place{.file = source.files[at.file], .record = at.record, .offset = at.offset});
}

Error Executor::place_row(const Job& job, const Error& error, std::int64_t row) const {
  const std::int64_t element = job.layout.element_of(row);
  return element == RowSpans::no_element ? error : place(job, error, element);
}

/// A wrong checksum of a record whose file changed is no corruption of the file.
Error Executor::wrong_checksum(const Job& job, const Error& error, std::int64_t row) const {
  const UsedBlock& used = job.layout.block_of(row);
  const std::string change = used.mapping == nullptr ? "" : used.mapping->change(program_->source.files[used.file]);
  const Error told = change.empty()
                         ? error
                         : Error{Code::data, Detail::failed_precondition,
                                 fmt::format("the file changed while it was read ({}): {}", change, error.message())};
  return place(job, told.at(Place{.offset = job.layout.payload_offset(row)}), row);
}

Error Executor::cut_short(const Job& job, const std::string& file) {
  return Error{Code::data, Detail::failed_precondition,
               fmt::format("batch {} is not delivered: the file was cut short while its records were decoded; leave "
                           "files alone while they are read",
                           job.layout.number),
               Place{.file = file}};
}

/// Finds a file that was cut short while records of the batch were copied. A page that vanishes reads as zeros, and the
/// SIGBUS guard counts it. Most formats notice by a checksum; this finds it for the others.
std::optional<Error> Executor::find_cut_short(const Job& job) const {
  if (pages_replaced() == 0) return std::nullopt;
  for (const UsedBlock& piece : job.layout.blocks) {
    if (piece.mapping != nullptr && piece.mapping->corrupt()) return cut_short(job, program_->source.files[piece.file]);
    const std::string* const cut = piece.files == nullptr ? nullptr : piece.files->cut();
    if (cut != nullptr) return cut_short(job, *cut);
  }
  return std::nullopt;
}

std::string Executor::take_note() const {
  std::string note = chain_.take_note();
  return note.empty() && branches_ ? branches_->take_note() : note;
}

std::vector<StepSeconds> Executor::step_seconds() const {
  std::vector<StepSeconds> out;
  if (branches_) out = branches_->step_seconds();
  std::size_t step = 0;
  for (const auto* steps : {&program_->late, &program_->after}) {
    for (const PlacedStep& placed : *steps) out.push_back({.name = placed.name, .seconds = clock_.seconds(step++)});
  }
  return out;
}

std::optional<Error> Executor::too_large(const Job& job) const {
  if (job.bytes() <= pool_->limit()) return std::nullopt;
  return Error{Code::data, Detail::resource_exhausted,
               fmt::format("batch {} needs {} bytes for what its {} rows decode to, more than the memory budget of {} "
                           "bytes; raise `memory`, make batches smaller, or drop the outlier",
                           job.layout.number, job.bytes(), job.layout.filled_rows(), pool_->limit())};
}

}  // namespace forebay::engine
