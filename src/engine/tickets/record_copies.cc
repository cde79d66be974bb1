// SPDX-License-Identifier: Apache-2.0
#include "engine/tickets/record_copies.h"

#include <algorithm>
#include <cstring>

#include "columns/gather.h"

namespace forebay::engine {

namespace {

constexpr std::size_t min_buffer = std::size_t{64} << 10;
static_assert(RecordCopies::step <= record_slack);

/// Where the copy of a record ends that begins at `out`.
std::byte* end_of(std::byte* out, std::size_t length) {
  return out + (length + RecordCopies::step - 1) / RecordCopies::step * RecordCopies::step;
}

}  // namespace

/// Copies whole steps, so that no code is needed for the last few bytes. Not inlined, so that bench/instructions.py can
/// count its instructions apart.
[[gnu::noinline]] std::byte* RecordCopies::copy_records(std::span<Record> records, std::size_t trailer,
                                                        std::byte* out) {
  for (Record& record : records) {
    const std::byte* in = record.data();
    const std::byte* const end = in + record.size() + trailer;
    record = {out, record.size()};
    do {
      std::memcpy(out, in, step);
      in += step;
      out += step;
    } while (in < end);
  }
  return out;
}

std::byte* RecordCopies::copy_large(std::span<Record> records, const StopCheck& check) {
  std::byte* out = next_;
  for (Record& record : records) {
    columns::copy_bytes({record.data(), record.size() + trailer_}, out, &check);
    record = {out, record.size()};
    out = end_of(out, record.size() + trailer_);
  }
  return out;
}

void RecordCopies::lend(BufferPool& pool, std::size_t bytes) {
  buffer_.reset();
  capacity_ = 0;
  const std::size_t capacity = std::max(bytes, min_buffer);
  buffer_ = pool.lend(capacity);  // with slack
  capacity_ = capacity;
}

}  // namespace forebay::engine
