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

constexpr std::size_t trial_records = 64;  // in one call: their columns stay in the second-level cache

}  // namespace

TrialDecode::TrialDecode(const Program& program, const StopCheck* check)
    : program_{program}, memory_{program.decoder->memory()}, block_{columns_of(program.schema, check)} {}

Result<void> TrialDecode::decode(std::span<const Record> records) {
  const auto rows = static_cast<std::int64_t>(records.size());
  block_.rows = rows;
  for (const ColumnId id : program_.decoded) {
    Column& column = block_[id];
    column.clear();
    if (column.fixed() && column.dtype != DType::string) column.set_rows(rows);
  }
  return program_.decoder->decode(records, 0, block_, *memory_);
}

Result<void> TrialDecode::attempt(std::span<const Record> records) {
  try {
    return decode(records);
  } catch (const std::bad_alloc&) {
    throw;  // a lack of memory is not a fault of these records
  } catch (const Closed&) {
    throw;
  } catch (const std::exception& thrown) {
    return Error{Code::internal, std::string{"the decoder: unexpected: "} + thrown.what()};
  } catch (...) {
    return Error{Code::internal, "the decoder: unexpected: an exception that is no std::exception"};
  }
}

void TrialDecode::run(std::span<const Record> records, std::vector<Malformed>& bad) {
  std::size_t max = trial_records;
  for (std::size_t first = 0; first < records.size();) {
    std::size_t count = std::min(max, records.size() - first);
    auto done = attempt(records.subspan(first, count));
    if (!done.ok() && done.error().code() == Code::internal && count > 1) {
      max = 1;  // one by one, to find the bad record
      continue;
    }
    if (!done.ok()) {
      const std::size_t row = static_cast<std::size_t>(std::max<std::int64_t>(0, done.error().place().row));
      bad.push_back({.record = first + row, .error = done.error()});
      count = row + 1;  // the records before it are good
    }
    first += count;
  }
}

RecordCheck trial_check(const Program& program, const StopCheck* check) {
  return [trial = std::make_shared<TrialDecode>(program, check)](
             std::span<const Record> records, std::vector<Malformed>& bad) { trial->run(records, bad); };
}

}  // namespace forebay::engine
