// SPDX-License-Identifier: Apache-2.0
#include "engine/index/trial_decode.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string>

#include "engine/memory/catch_all.h"
#include "engine/memory/ticket_columns.h"

namespace forebay::engine {

namespace {

constexpr std::size_t max_group = 64;  // records: their columns stay in the second-level cache

/// Runs `work`; what it throws becomes an error, except a lack of memory, which is not the fault of these records.
Result<void> attempt(const std::function<Result<void>()>& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const Closed&) {
    throw;
  } catch (const std::exception& thrown) {
    return Error{Code::internal, std::string{"the decoder: unexpected: "} + thrown.what()};
  } catch (...) {
    return Error{Code::internal, "the decoder: unexpected: an exception that is no std::exception"};
  }
}

}  // namespace

void each_group(std::span<const Record> records, std::vector<Malformed>& bad,
                const std::function<Result<void>(std::span<const Record> group, std::size_t first)>& work) {
  std::size_t usual = max_group;
  std::size_t max = usual;
  for (std::size_t first = 0; first < records.size();) {
    const std::size_t count = std::min(max, records.size() - first);
    const auto done = attempt([&] { return work(records.subspan(first, count), first); });
    max = usual;
    if (done.ok()) {
      first += count;
      continue;
    }
    if (done.error().code() == Code::internal && count > 1) {
      max = usual = 1;  // one by one, to find the bad record
      continue;
    }
    const auto row = static_cast<std::size_t>(std::max<std::int64_t>(0, done.error().place().row));
    if (row > 0 && row < count) {
      max = row;  // the records before it are good
      continue;
    }
    bad.push_back({.record = first, .error = done.error()});
    ++first;
  }
}

void begin_rows(ColumnBlock& block, std::span<const ColumnId> ids, std::int64_t rows) {
  block.rows = rows;
  for (const ColumnId id : ids) {
    Column& column = block[id];
    column.clear();
    if (column.fixed() && column.dtype != DType::string) column.set_rows(rows);
  }
}

TrialDecode::TrialDecode(const Program& program, const StopCheck* check)
    : program_{program}, memory_{program.decoder->memory()}, block_{columns_of(program.schema, check)} {}

Result<void> TrialDecode::decode(std::span<const Record> records) {
  begin_rows(block_, program_.decoded, std::ssize(records));
  return program_.decoder->decode(records, 0, block_, *memory_);
}

void TrialDecode::run(std::span<const Record> records, std::vector<Malformed>& bad) {
  each_group(records, bad, [this](std::span<const Record> group, std::size_t) { return decode(group); });
}

}  // namespace forebay::engine
