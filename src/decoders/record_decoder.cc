// SPDX-License-Identifier: Apache-2.0
#include "decoders/record_decoder.h"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "columns/cast.h"
#include "columns/packed.h"
#include "columns/take/column_rows.h"
#include "columns/varint.h"
#include "decoders/value_list.h"

namespace forebay::decoders {
namespace {

using columns::Wire;

constexpr std::size_t max_skeletons = 512;
constexpr std::size_t look_ahead = 8;
constexpr std::size_t cast_at_once = 2048;  // bytes, and so the maximum of integers

Wire wire_of(Record record) {
  const auto* at = reinterpret_cast<const std::uint8_t*>(record.data());
  return {at, at + record.size()};
}

/// Whether decoding appends rows to the column. The rows of other columns have their memory before decoding.
bool appended(const Output& output) { return output.variable || output.dtype == DType::string; }

Action action_of(const Output& output) {
  const bool ints = output.stored == StoredAs::int_;
  const bool floats = output.stored == StoredAs::float_;
  const bool as_stored = (ints && output.dtype == DType::int64) || (floats && output.dtype == DType::float32);
  switch (output.kind) {
    case FeatureKind::fixed_len:
      if (output.stored == StoredAs::bytes) return output.count == 1 ? Action::one_string : Action::general;
      if (!as_stored) return ints ? Action::cast_ints : Action::cast_floats;
      if (floats) return Action::copy;
      return output.count == 1 ? Action::one_int : Action::ints;
    case FeatureKind::var_len:
    case FeatureKind::fixed_len_sequence:
      if (!as_stored) return Action::general;
      return ints ? Action::append_ints : Action::append_floats;
    case FeatureKind::raw:
      if (output.variable || output.len != 1 || output.fixed_length != 0 || output.swaps ||
          output.dtype == DType::boolean)
        return Action::general;
      return Action::copy;
    default:
      return Action::hold;
  }
}

bool append_floats(Wire values, const Sink& sink) {
  if (values.size() % sizeof(float) != 0) return false;
  const auto count = static_cast<std::int64_t>(values.size() / sizeof(float));
  const std::int64_t step = sink.output->kind == FeatureKind::var_len ? 1 : sink.output->count;
  if (count % step != 0) return false;
  std::byte* const to = sink.column->values.extend(values.size());
  if (!values.empty()) std::memcpy(to, values.at, values.size());
  const std::int64_t steps = count / step;
  sink.column->end_row({&steps, 1});
  return true;
}

bool append_ints(Wire values, const Sink& sink) {
  const auto& kernels = columns::packed();
  const std::size_t count = kernels.count(values.at, values.size());
  const std::int64_t step = sink.output->kind == FeatureKind::var_len ? 1 : sink.output->count;
  const auto steps = static_cast<std::int64_t>(count) / step;
  if (steps * step != static_cast<std::int64_t>(count)) return false;
  auto* const to = reinterpret_cast<std::int64_t*>(sink.column->values.extend(count * sizeof(std::int64_t)));
  if (!kernels.decode(values.at, values.size(), to, count)) return false;
  sink.column->end_row({&steps, 1});
  return true;
}

/// Decodes and casts integers, in pieces that stay in the first-level cache between the two. False: malformed values,
/// or another number of values than the column has.
bool cast_ints(Wire values, const Sink& sink, std::byte* to, Scratch& scratch) {
  const auto& kernels = columns::packed();
  const DType dtype = sink.output->dtype;
  auto left = static_cast<std::size_t>(sink.output->count);
  std::vector<std::int64_t>& ints = scratch.values.ints;
  while (left > 0 || !values.empty()) {
    const Wire piece = first_varints(values, cast_at_once);
    const std::size_t count = piece.end == values.end ? left : kernels.count(piece.at, piece.size());
    if (count > left || count > cast_at_once) return false;
    ints.resize(count);
    if (piece.empty() || !kernels.decode(piece.at, piece.size(), ints.data(), count)) return false;
    columns::cast(reinterpret_cast<const std::byte*>(ints.data()), DType::int64, to, dtype, count);
    to += count * size_of(dtype);
    left -= count;
    values.at = piece.end;
  }
  return true;
}

bool cast_floats(Wire values, const Sink& sink, std::byte* to) {
  const auto count = static_cast<std::size_t>(sink.output->count);
  if (values.size() != count * sizeof(float)) return false;
  columns::cast(reinterpret_cast<const std::byte*>(values.at), DType::float32, to, sink.output->dtype, count);
  return true;
}

/// As entries_of, for every length.
[[gnu::noinline]] Wire entries_of_any_length(Wire record) {
  ++record.at;
  Wire entries;
  return columns::read_bytes(record, entries) && record.empty() ? entries : Wire{};
}

/// The entries of a record that is one map of features and nothing else; empty: it has another form. Lengths below 2^14
/// are read here, without a variable whose address is taken, which would cost each record a guard of the stack.
Wire entries_of(Wire record) {
  if (record.size() < 2 || record.at[0] != 0x0a) return {};
  std::size_t length = record.at[1];
  std::size_t before = 2;
  if (length >= 0x80) {
    if (record.size() < 3 || record.at[2] >= 0x80) return entries_of_any_length(record);
    length = (length & 0x7f) | std::size_t{record.at[2]} << 7;
    before = 3;
  }
  return length == record.size() - before ? Wire{record.at + before, record.end} : Wire{};
}

}  // namespace

Error malformed_record(std::string_view message, Record record, const Parsed& parsed, std::int64_t index) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(record.data());
  const std::ptrdiff_t at = parsed.bad == nullptr ? 0 : parsed.bad - begin;
  return {
      Code::data, Detail::data_loss,
      fmt::format("not a {}: the field at byte {} of {} is cut short or malformed; are these records of another kind?",
                  message, at, record.size()),
      Place{.row = index}};
}

ExampleDecoder::ExampleDecoder(FeaturePlan plan, Path path, StraightKernel straight)
    : plan_{std::move(plan)}, path_{path}, straight_{straight}, targets_(plan_.sources.size()) {
  for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
    const Output& output = plan_.outputs[i];
    const Source& source = plan_.sources[static_cast<std::size_t>(output.source)];
    const Action action = source.uses > 1 ? Action::hold : action_of(output);
    static constexpr std::uint8_t tags[]{0x1a, 0x12, 0x0a};
    targets_[static_cast<std::size_t>(output.source)] = {action, tags[static_cast<std::size_t>(output.stored)]};
    if (action == Action::hold) together_.push_back(i);
  }
  for (std::size_t i = 0; i < plan_.sources.size(); ++i) {
    if (plan_.sources[i].uses > 0) ++wanted_;
    const bool direct =
        std::ranges::any_of(plan_.outputs, [i](const Output& output) { return output.source == static_cast<int>(i); });
    if (!direct) targets_[i].action = Action::hold;
  }
}

/// Updates the addresses of the columns, which differ between calls. The rest of the sinks is set in the first call.
void ExampleDecoder::prepare(ColumnBlock& block, ExampleMemory& memory) const {
  const bool first = memory.sinks.empty();
  if (first) {
    memory.parsed.features.resize(plan_.sources.size());
    memory.first_rows.resize(plan_.outputs.size());
    memory.sinks.resize(plan_.sources.size());  // last: stays empty if an allocation before it fails
  }
  for (std::size_t i = 0; i < plan_.outputs.size(); ++i) {
    const Output& output = plan_.outputs[i];
    Column& column = block[output.column];
    memory.first_rows[i] = column.rows;
    if (targets_[static_cast<std::size_t>(output.source)].action == Action::hold) continue;
    Sink& sink = memory.sinks[static_cast<std::size_t>(output.source)];
    sink.column = &column;
    if (first) sink.output = &output;
    if (appended(output)) continue;
    sink.rows = column.values.data();
    if (first) sink.row_bytes = column.row_bytes();
  }
}

Result<void> ExampleDecoder::decode(std::span<const Record> records, std::int64_t first_row, ColumnBlock& block,
                                    DecoderMemory& kept) const {
  auto& memory = static_cast<ExampleMemory&>(kept);
  prepare(block, memory);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto index = static_cast<std::int64_t>(i);
    if (path_ == Path::fast && !memory.rest.goes_on()) {
      if (fast(wire_of(records[i]), first_row + index, block, memory)) {
        memory.rest.worked();
        continue;
      }
      undo(index, block, memory);
      memory.rest.failed();
    }
    FOREBAY_DO(plain(records[i], first_row + index, index, block, memory));
  }
  return {};
}

void ExampleDecoder::undo(std::int64_t rows, ColumnBlock& block, const ExampleMemory& memory) const {
  for (std::size_t output = 0; output < plan_.outputs.size(); ++output) {
    if (appended(plan_.outputs[output]))
      columns::truncate(block[plan_.outputs[output].column], memory.first_rows[output] + rows);
  }
}

Result<void> ExampleDecoder::plain(Record record, std::int64_t row, std::int64_t index, ColumnBlock& block,
                                   ExampleMemory& memory) const {
  memory.parsed.clear(plan_.sources.size(), 0);
  if (!parse_example(wire_of(record), plan_.keys, memory.parsed))
    return malformed_record("tf.train.Example", record, memory.parsed, index);
  FeatureWriter writer{plan_, memory.parsed, memory.scratch, block, wire_of(record)};
  for (const Output& output : plan_.outputs) FOREBAY_DO(writer.write(output, row, index));
  return {};
}

/// Finds or learns the template of the entry at `run.at`, which the next template does not match, and sets `run.head`.
/// The first two entries of a record, from `entries` on, decide which layout it has. False: the entry cannot be
/// learned.
bool ExampleDecoder::find(LayoutBook& book, StraightRun& run, const std::uint8_t* entries) const {
  Layout*& layout = run.layout;
  const std::uint8_t* const p = run.at;
  const std::uint8_t* const end = run.end;
  auto at = static_cast<std::size_t>(run.head - layout->begin());
  const auto set = [&](std::size_t found) { return run.head = layout->begin() + found, true; };
  if (at < layout->size() && layout->resize(at, p, end)) return set(at);
  if (at < 2 && at < layout->size()) {
    layout = book.search(entries, end);
    if (at == 1 && layout->size() == 0 && !layout->learn(0, entries, end, plan_.keys, targets_)) return false;
    if (at < layout->size() && layout->matches(at, p)) return set(at);
  }
  for (std::size_t ahead = at + 1; ahead < std::min(layout->size(), at + look_ahead); ++ahead) {
    if (layout->matches(ahead, p)) return set(ahead);
  }
  if (layout->size() < max_skeletons)
    layout->insert(at);
  else
    at %= max_skeletons;
  return layout->learn(at, p, end, plan_.keys, targets_) && set(at);
}

/// Writes the values of an entry that matches a template. False: the values have another form, or are malformed. Always
/// inlined, as the call would cost more than the work.
[[gnu::always_inline]] inline bool ExampleDecoder::put(const MessageTemplate& head, Wire values, Sink& sink,
                                                       std::int64_t row, ColumnBlock& block,
                                                       ExampleMemory& memory) const {
  std::byte* const to = sink.rows + static_cast<std::size_t>(row) * sink.row_bytes;
  std::uint64_t value;
  switch (head.action) {
    case Action::copy:
      if (values.size() != sink.row_bytes) return false;
      if (sink.row_bytes == 4)
        std::memcpy(to, values.at, 4);
      else if (sink.row_bytes != 0)
        std::memcpy(to, values.at, sink.row_bytes);
      return true;
    case Action::one_int:
      if (!columns::varint_of_size(values.at, values.size(), value)) return false;
      std::memcpy(to, &value, sizeof(value));
      return true;
    case Action::ints:
      return columns::packed().decode(values.at, values.size(), reinterpret_cast<std::int64_t*>(to),
                                      static_cast<std::size_t>(sink.output->count));
    case Action::one_string:
      sink.column->push_string({reinterpret_cast<const std::byte*>(values.at), values.size()});
      ++sink.column->rows;
      return true;
    case Action::append_floats:
      return append_floats(values, sink);
    case Action::append_ints:
      return append_ints(values, sink);
    case Action::cast_ints:
      return cast_ints(values, sink, to, memory.scratch);
    case Action::cast_floats:
      return cast_floats(values, sink, to);
    default:
      return slow_values(head, values, row, block, memory);
  }
}

bool ExampleDecoder::fast(Wire record, std::int64_t row, ColumnBlock& block, ExampleMemory& memory) const {
  const Wire entries = entries_of(record);
  return !entries.empty() && read_entries(entries, row, block, memory);
}

bool ExampleDecoder::read_entries(Wire entries, std::int64_t row, ColumnBlock& block, ExampleMemory& memory) const {
  memory.parsed.pieces.clear();
  Layout* const layout = memory.layouts.last();
  StraightRun run{.layout = layout,
                  .head = layout->begin(),
                  .at = entries.at,
                  .end = entries.end,
                  .sinks = memory.sinks.data(),
                  .row = row,
                  .stamp = ++memory.stamp};
  while (true) {
    const bool matched = straight_ != nullptr && straight_(run);
    if (run.at == run.end) break;
    if (!matched &&
        (run.head == run.layout->end() ||
         !run.layout->matches(static_cast<std::size_t>(run.head - run.layout->begin()), run.at)) &&
        !find(memory.layouts, run, entries.at))
      return false;
    const MessageTemplate& head = *run.head++;
    const std::uint32_t size = head.payload_of(run.at);
    if (std::size_t{head.bytes} + size > static_cast<std::size_t>(run.end - run.at)) return false;
    const Wire values{run.at + head.bytes, run.at + head.bytes + size};
    run.at = values.end;
    if (head.action == Action::skip) continue;
    Sink& sink = run.sinks[head.target];
    if (sink.seen == run.stamp) return false;  // the last entry of a key counts, but the row is already written
    sink.seen = run.stamp;
    ++run.found;
    if (!put(head, values, sink, row, block, memory)) return false;
  }
  return (run.found == wanted_ && together_.empty()) || finish(row, block, memory);
}

bool ExampleDecoder::slow_values(const MessageTemplate& head, Wire values, std::int64_t row, ColumnBlock& block,
                                 ExampleMemory& memory) const {
  const auto source = static_cast<std::size_t>(head.target);
  if (!parse_feature({&values, 1}, memory.parsed, memory.parsed.features[source])) return false;
  if (head.action == Action::hold) return true;
  FeatureWriter writer{plan_, memory.parsed, memory.scratch, block};
  return writer.write(*memory.sinks[source].output, row, 0).ok();
}

/// Writes the defaults of features that the record lacks, and the columns that are made of several keys. False: an
/// error, which the plain path reports.
bool ExampleDecoder::finish(std::int64_t row, ColumnBlock& block, ExampleMemory& memory) const {
  FeatureWriter writer{plan_, memory.parsed, memory.scratch, block};
  for (std::size_t source = 0; source < plan_.sources.size(); ++source) {
    if (memory.sinks[source].seen == memory.stamp) continue;
    memory.parsed.features[source] = {};
    if (memory.sinks[source].output != nullptr && !writer.write(*memory.sinks[source].output, row, 0).ok())
      return false;
  }
  for (const std::size_t output : together_) {
    if (!writer.write(plan_.outputs[output], row, 0).ok()) return false;
  }
  return true;
}

}  // namespace forebay::decoders
