// SPDX-License-Identifier: Apache-2.0
#include "decoders/lists/list_writer.h"

#include <algorithm>
#include <cstring>

#include "columns/cast.h"
#include "columns/packed.h"
#include "columns/varint.h"

namespace forebay::decoders {
namespace {

using columns::Wire;

constexpr std::int64_t steps_at_once = std::int64_t{1} << 16;  // between two looks at the StopCheck
constexpr std::size_t min_int_step = 7;                        // bytes of a step with one integer
constexpr std::size_t min_string_step = 6;                     // bytes of a step with one string

/// Looks at the StopCheck now and then: step `step` comes next.
void look_at_step(const StopCheck* check, std::int64_t step) {
  if (step % steps_at_once == steps_at_once - 1) StopCheck::look(check);
}

/// Copies the values of `count` steps. False: a step has another head.
bool copy_steps(const StepHead& head, const std::uint8_t* step, std::size_t count, std::size_t bytes, std::byte* to) {
  if (bytes == sizeof(float)) {
    for (; count > 0; --count, step += head.size() + sizeof(float), to += sizeof(float)) {
      if (!head.matches(step)) return false;
      std::memcpy(to, step + head.size(), sizeof(float));
    }
    return true;
  }
  for (; count > 0; --count, step += head.size() + bytes, to += bytes) {
    if (!head.matches(step)) return false;
    std::memcpy(to, step + head.size(), bytes);
  }
  return true;
}

void reverse_items(std::byte* at, std::size_t size, std::size_t item) {
  for (std::byte* const end = at + size; at != end; at += item) std::reverse(at, at + item);
}

/// Appends the integers of a packed run. False: malformed.
bool append_packed(Wire run, Column& column) {
  const auto& kernels = columns::packed();
  const std::size_t count = kernels.count(run.at, run.size());
  auto* const to = reinterpret_cast<std::int64_t*>(column.values.extend(count * sizeof(std::int64_t)));
  return kernels.decode(run.at, run.size(), to, count);
}

/// Appends the strings of a list, and counts them. False: malformed, or another field.
bool append_strings(Wire list, Column& column, std::int64_t& count) {
  for (; !list.empty(); ++count) {
    Wire text;
    if (*list.at != 0x0a) return false;
    ++list.at;
    if (!columns::read_bytes(list, text)) return false;
    column.push_string({reinterpret_cast<const std::byte*>(text.at), text.size()});
  }
  return true;
}

/// Appends one string of each step, and counts the steps. Uses no more memory than the record, and a third more for the
/// splits.
bool one_string_each(Wire steps, std::uint8_t tag, Column& column, std::int64_t& count) {
  const std::size_t splits = column.byte_splits.size();
  const std::size_t bytes = column.bytes.size();
  column.byte_splits.extend((steps.size() / min_string_step + 1) * sizeof(std::int64_t));
  column.bytes.extend(steps.size());
  auto* end = reinterpret_cast<std::int64_t*>(column.byte_splits.data() + splits);
  std::byte* const first = column.bytes.data();
  std::byte* to = first + bytes;
  for (Wire list, text; !steps.empty(); ++count) {
    look_at_step(column.bytes.check(), count);
    if (!next_list(steps, tag, list) || list.empty() || !only_run(list, text)) return false;
    if (!text.empty()) std::memcpy(to, text.at, text.size());
    to += text.size();
    *end++ = to - first;
  }
  column.bytes.resize(static_cast<std::size_t>(to - first));
  column.byte_splits.resize(splits + static_cast<std::size_t>(count) * sizeof(std::int64_t));
  return true;
}

/// Decodes one integer of each step. `to` has room for a step of every `min_int_step` bytes. False: a step has
/// another form or number of values.
bool one_int_each(Wire steps, std::uint8_t tag, const StopCheck* check, std::int64_t* to, std::int64_t& count) {
  for (Wire list, run; !steps.empty(); ++count) {
    std::uint64_t value;
    look_at_step(check, count);
    if (!next_list(steps, tag, list) || !only_run(list, run) || run.empty()) return false;
    if (!columns::varint_of_size(run.at, run.size(), value)) return false;
    to[count] = static_cast<std::int64_t>(value);
  }
  return true;
}

}  // namespace

ListWriter::ListWriter(const FeaturePlan& plan) : targets_(plan.sources.size()) {
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (plan.sources[i].uses > 0) targets_[i].action = ListAction::hold;
  }
  for (const Output& output : plan.outputs) {
    const auto source = static_cast<std::size_t>(output.source);
    if (plan.sources[source].uses == 1) targets_[source] = target_of(output);
  }
}

ListWriter::Target ListWriter::target_of(const Output& output) {
  static constexpr std::uint8_t tags[]{0x1a, 0x12, 0x0a};
  Target out{.action = ListAction::hold,
             .tag = tags[static_cast<std::size_t>(output.stored)],
             .output = &output,
             .head = std::nullopt};
  const bool floats = output.stored == StoredAs::float_;
  const bool texts = output.stored == StoredAs::bytes;
  out.stored = floats ? DType::float32 : DType::int64;
  if (output.kind == FeatureKind::raw) {
    out.stored = output.dtype;
    out.value_bytes = static_cast<std::size_t>(output.count) * size_of(output.dtype);
    out.head = StepHead::of(out.tag, out.value_bytes);
    if (out.head && output.fixed_length == 0 && output.dtype != DType::boolean) out.action = ListAction::copy;
  } else if (output.kind == FeatureKind::fixed_len_sequence && floats) {
    out.value_bytes = static_cast<std::size_t>(output.count) * sizeof(float);
    out.head = StepHead::of(out.tag, out.value_bytes);
    if (out.head) out.action = ListAction::copy;
  } else if (output.kind == FeatureKind::fixed_len_sequence) {
    if (output.count > 0) out.action = texts ? ListAction::strings : ListAction::ints;
  } else if (output.partitions.empty() && output.inner_lengths.empty()) {
    const bool as_stored = texts || output.dtype == out.stored;
    const ListAction action = texts    ? ListAction::ragged_strings
                              : floats ? ListAction::ragged_floats
                                       : ListAction::ragged_ints;
    if (as_stored) out.action = action;
  }
  return out;
}

bool ListWriter::write(int source, Wire steps, ColumnBlock& block, Values& scratch) const {
  const Target& target = targets_[static_cast<std::size_t>(source)];
  Column& column = block[target.output->column];
  switch (target.action) {
    case ListAction::copy:
      return copy(target, steps, column, scratch);
    case ListAction::ints:
      return ints(target, steps, column, scratch);
    case ListAction::strings:
      return strings(target, steps, column);
    case ListAction::ragged_floats:
      return ragged(target, steps, column, [&column](Wire list, std::int64_t& count) {
        Wire run;
        if (!only_run(list, run) || run.size() % sizeof(float) != 0) return false;
        std::byte* const to = column.values.extend(run.size());
        if (!run.empty()) std::memcpy(to, run.at, run.size());
        count += static_cast<std::int64_t>(run.size() / sizeof(float));
        return true;
      });
    case ListAction::ragged_ints:
      return ragged(target, steps, column, [&column](Wire list, std::int64_t& count) {
        Wire run;
        const std::size_t before = column.values.size();
        if (!only_run(list, run) || !append_packed(run, column)) return false;
        count += static_cast<std::int64_t>((column.values.size() - before) / sizeof(std::int64_t));
        return true;
      });
    case ListAction::ragged_strings:
      return ragged(target, steps, column,
                    [&column](Wire list, std::int64_t& count) { return append_strings(list, column, count); });
    case ListAction::skip:
    case ListAction::hold:
      break;
  }
  return false;
}

/// Steps of one size: their number follows from the bytes of the list.
bool ListWriter::copy(const Target& target, Wire steps, Column& column, Values& scratch) {
  const std::size_t stride = target.head->size() + target.value_bytes;
  const std::size_t count = steps.size() / stride;
  if (count * stride != steps.size()) return false;
  const Output& output = *target.output;
  const bool as_stored = output.dtype == target.stored;
  const std::size_t bytes = count * target.value_bytes;
  const StopCheck* const check = column.values.check();
  if (!as_stored) scratch.floats.resize(bytes / sizeof(float));
  std::byte* const first =
      as_stored ? column.values.extend(bytes) : reinterpret_cast<std::byte*>(scratch.floats.data());
  const std::size_t most = StopCheck::interval / stride + 1;
  for (std::size_t done = 0, next = 0; done < count; done += next) {
    if (done > 0) StopCheck::look(check);
    next = std::min(most, count - done);
    if (!copy_steps(*target.head, steps.at + done * stride, next, target.value_bytes,
                    first + done * target.value_bytes))
      return false;
  }
  const std::size_t item = size_of(output.dtype);
  if (!as_stored) {
    const std::size_t values = scratch.floats.size();
    columns::cast(first, DType::float32, column.values.extend(values * item), output.dtype, values);
  } else if (output.swaps && item > 1) {
    reverse_items(first, bytes, is_complex(output.dtype) ? item / 2 : item);
  }
  const auto rows = static_cast<std::int64_t>(count);
  column.end_row({&rows, 1});
  return true;
}

bool ListWriter::ints(const Target& target, Wire steps, Column& column, Values& scratch) {
  const Output& output = *target.output;
  const auto each = static_cast<std::size_t>(output.count);
  const bool as_stored = output.dtype == DType::int64;
  const StopCheck* const check = column.values.check();
  std::vector<std::int64_t>& values = scratch.ints;
  const std::size_t before = column.values.size();
  std::size_t used = 0;  // values
  const auto room = [&](std::size_t more) {
    if (as_stored) return reinterpret_cast<std::int64_t*>(column.values.extend(more * sizeof(std::int64_t)));
    values.resize(used + more);
    return values.data() + used;
  };
  std::int64_t count = 0;
  if (each == 1) {
    std::int64_t* const to = room(steps.size() / min_int_step + 1);
    if (!one_int_each(steps, target.tag, check, to, count)) return false;
    used = static_cast<std::size_t>(count);
  } else {
    for (Wire list, run; !steps.empty(); ++count, used += each) {
      look_at_step(check, count);
      if (!next_list(steps, target.tag, list) || !only_run(list, run)) return false;
      if (run.size() < each || !columns::packed().decode(run.at, run.size(), room(each), each)) return false;
    }
  }
  if (as_stored) {
    column.values.resize(before + used * sizeof(std::int64_t));
  } else {
    columns::cast(reinterpret_cast<const std::byte*>(values.data()), DType::int64,
                  column.values.extend(used * size_of(output.dtype)), output.dtype, used);
  }
  column.end_row({&count, 1});
  return true;
}

bool ListWriter::strings(const Target& target, Wire steps, Column& column) {
  const StopCheck* const check = column.bytes.check();
  std::int64_t count = 0;
  if (target.output->count == 1) {
    if (!one_string_each(steps, target.tag, column, count)) return false;
  } else {
    for (Wire list; !steps.empty(); ++count) {
      look_at_step(check, count);
      std::int64_t found = 0;
      if (!next_list(steps, target.tag, list) || !append_strings(list, column, found)) return false;
      if (found != target.output->count) return false;
    }
  }
  column.end_row({&count, 1});
  return true;
}

/// Steps of any length: `append(list, count)` appends the values of a step and adds their number to `count`.
template <class Append>
bool ListWriter::ragged(const Target& target, Wire steps, Column& column, Append append) {
  Column& part = column.parts.front();
  const StopCheck* const check = column.values.check();
  std::int64_t count = 0;
  std::int64_t splits = 1;
  part.values.push<std::int64_t>(0);
  for (Wire list; !steps.empty(); ++splits) {
    look_at_step(check, splits);
    if (!next_list(steps, target.tag, list) || !append(list, count)) return false;
    part.values.push(count);
  }
  column.end_row({&count, 1});
  part.end_row({&splits, 1});
  return true;
}

}  // namespace forebay::decoders
