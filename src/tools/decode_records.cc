// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/core.h>
#include <forebay/decode.h>
#include <forebay/plugin.h>

#include "engine/memory/buffer_pool.h"
#include "engine/memory/catch_all.h"
#include "engine/memory/machine.h"
#include "engine/program/program.h"
#include "engine/tickets/finish/finish.h"
#include "engine/tickets/job.h"
#include "plan/bind/outputs.h"

namespace forebay {

struct DecodeFunction::State {
  engine::Program program;  ///< Only what the Finisher reads: schema, decoder and outputs.
  std::vector<ColumnSpec> columns;
  std::int64_t memory = 0;
};

namespace {

constexpr std::size_t group_bytes = std::size_t{32} << 10;  // copied and decoded in the first-level cache
constexpr std::size_t group_records = 16;

bool in_place(const ColumnSpec& spec) { return spec.shape.known() && spec.dtype != DType::string; }

/// A private copy of some records, with the slack that decoders may read.
class RecordGroup {
 public:
  /// Copies the next few of `left`, and takes them away from it.
  std::span<const Record> take(std::span<const std::string_view>& left) {
    std::size_t count = 0, bytes = 0;
    for (; count < left.size() && count < group_records && bytes < group_bytes; ++count) bytes += left[count].size();
    bytes_.resize(bytes + record_slack);
    records_.clear();
    std::byte* next = bytes_.data();
    for (const std::string_view record : left.first(count)) {
      if (!record.empty()) std::memcpy(next, record.data(), record.size());
      records_.emplace_back(next, record.size());
      next += record.size();
    }
    left = left.subspan(count);
    return records_;
  }

 private:
  std::vector<std::byte> bytes_;
  std::vector<Record> records_;
};

/// The rows of fixed numeric tensors, which the decoder writes in place.
Result<void> lend_rows(const engine::Program& program, engine::BufferPool& pool, engine::Job& job, ColumnBlock& block) {
  const auto rows = static_cast<std::size_t>(job.layout.rows);
  std::size_t size = 0;
  std::vector<std::size_t> bytes;
  for (const engine::Output& output : program.batched) {
    std::size_t all = 0;
    const bool fixed = in_place(output.spec);
    if (__builtin_mul_overflow(fixed ? static_cast<std::size_t>(output.spec.shape.count()) : 0,
                               size_of(output.spec.dtype) * rows, &all) ||
        __builtin_add_overflow(size, (all + 63) & ~std::size_t{63}, &size) ||
        size > static_cast<std::size_t>(pool.limit())) {
      return Error{Code::data, Detail::resource_exhausted,
                   fmt::format("{} records need more than the memory budget of {} bytes; decode fewer at once", rows,
                               pool.limit()),
                   Place{.feature = output.spec.name}};
    }
    bytes.push_back(all);
  }
  job.fixed_bytes = static_cast<std::int64_t>(size);
  job.fixed = pool.lend(std::max<std::size_t>(size, 1));
  std::byte* next = job.fixed.get();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const engine::Output& output = program.batched[i];
    job.fixed_outputs.push_back(in_place(output.spec) ? next : nullptr);
    if (!in_place(output.spec)) continue;
    block[output.id].values.bind(next, bytes[i]);
    block[output.id].set_rows(job.layout.rows);
    next += (bytes[i] + 63) & ~std::size_t{63};
  }
  return {};
}

/// The error with the record's number in the call.
Error of_record(const Error& error, std::int64_t record) {
  Place place = error.place();
  place.row = -1;
  if (record >= 0) place.record = record;
  return {error.code(), error.detail(), error.message(), std::move(place)};
}

Result<void> decode_all(const engine::Program& program, std::span<const std::string_view> records, ColumnBlock& block) {
  const auto memory = program.decoder->memory();
  RecordGroup group;
  for (std::int64_t first = 0; !records.empty();) {
    const std::span<const Record> some = group.take(records);
    const auto done = program.decoder->decode(some, first, block, *memory);
    if (!done.ok()) return of_record(done.error(), first + std::max<std::int64_t>(0, done.error().place().row));
    first += static_cast<std::int64_t>(some.size());
  }
  return {};
}

/// Decodes, and makes tensors of the columns as for a batch of one ticket.
Result<void> fill(const engine::Program& program, std::span<const std::string_view> records, engine::BufferPool& pool,
                  Batch::Content& content) {
  engine::Job job;
  job.layout.rows = static_cast<std::int64_t>(records.size());
  job.layout.handles.resize(records.size());
  engine::Ticket& ticket = job.add_ticket(0);
  ticket.rows = job.layout.rows;
  ticket.columns = std::make_unique<engine::TicketColumns>();
  ColumnBlock& block = ticket.columns->block;
  block = engine::columns_of(program.schema);
  block.rows = ticket.rows;
  for (Column& column : block.columns) column.clear();
  FOREBAY_DO(lend_rows(program, pool, job, block));
  FOREBAY_DO(decode_all(program, records, block));
  for (const Column& column : block.columns) job.decoded += engine::owned_bytes(column);
  engine::Finisher finisher{program, pool, job};
  if (const auto failed = finisher.run(content)) return of_record(failed->error, failed->row);
  return {};
}

}  // namespace

Result<DecodeFunction> DecodeFunction::bind(const DecoderChoice& decoder, std::int64_t memory) {
  if (memory < 0) {
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("`memory` must be a number of bytes, or 0; found {}", memory)};
  }
  FOREBAY_TRY(Bound<Decoder> bound, bind_decoder(decoder));
  auto state = std::make_shared<State>();
  state->memory = memory > 0 ? memory : engine::usable_memory() / 4;
  state->program.decoder = std::move(bound.op);
  state->program.schema = std::move(bound.out);
  std::vector<Error> faults;
  state->program.batched = plan::batch_outputs(state->program.schema, {}, {}, faults);
  if (!faults.empty()) return Error::all(std::move(faults));
  state->program.outputs = state->program.batched;
  for (const engine::Output& output : state->program.outputs) state->columns.push_back(output.spec);
  return DecodeFunction{std::move(state)};
}

Result<std::vector<DecodedTensor>> DecodeFunction::decode(std::span<const std::string_view> records) const {
  const auto pool = std::make_shared<engine::BufferPool>(state_->memory);
  Batch::Content content;
  Result<void> done;
  if (const auto thrown = engine::catch_all([&] { done = fill(state_->program, records, *pool, content); }))
    return *thrown;
  FOREBAY_DO(done);
  std::vector<DecodedTensor> out;
  for (std::size_t i = 0; i < state_->columns.size(); ++i) {
    out.push_back({.name = state_->columns[i].name,
                   .value = std::move(content.values[i]),
                   .lengths = std::move(content.lengths[i])});
  }
  return out;
}

const std::vector<ColumnSpec>& DecodeFunction::columns() const { return state_->columns; }

Result<std::vector<DecodedTensor>> decode(const DecoderChoice& decoder, std::span<const std::string_view> records) {
  FOREBAY_TRY(const DecodeFunction function, DecodeFunction::bind(decoder));
  return function.decode(records);
}

}  // namespace forebay
