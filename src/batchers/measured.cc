// SPDX-License-Identifier: Apache-2.0
#include "batchers/measured.h"

#include <algorithm>

namespace forebay::batchers {
namespace {

Error no_length(const std::string& name, const ColumnSpec& column) {
  return Error{Code::config, Detail::invalid_argument,
               "tensor '" + name + "' has shape " + column.shape.text() + ", which has no first axis to count"};
}

}  // namespace

std::string quoted_name(const std::string& name) {
  std::string out = "`";
  for (const char c : name) {
    if (c == '`' || c == '\\') out += '\\';
    out += c;
  }
  return out + "`";
}

Result<LengthKeys> find_length_keys(const std::vector<TensorName>& names, const Schema& in, const std::string& option) {
  LengthKeys out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Field field{option, std::to_string(i)};
    FOREBAY_TRY(const ColumnId column, in.find(names[i]).at(field));
    if (in[column].shape.rank() == 0) return no_length(names[i], in[column]).at(field);
    if (std::ranges::find(out.columns, column) != out.columns.end())
      return Error{Code::config, Detail::invalid_argument, "tensor '" + names[i] + "' is named twice"}.at(field);
    out.columns.push_back(column);
  }
  for (const ColumnId id : in.visible()) {
    if (!names.empty() || in[id].shape.rank() == 0 || in[id].shape[0] != unknown_dim) continue;
    out.columns.push_back(id);
  }
  if (out.columns.empty())
    return Error{Code::config, Detail::invalid_argument, "no tensor has a first axis of unknown size to count"};
  for (const ColumnId id : out.columns) out.names.push_back(in[id].name);
  return out;
}

std::vector<Attribute> length_attributes(const LengthKeys& keys, const std::string& option) {
  std::vector<Attribute> out;
  for (const std::string& name : keys.names)
    out.push_back({.expression = Expression{"length(" + quoted_name(name) + ")"},
                   .kind = AttributeKind::integer,
                   .option = {option}});
  return out;
}

Result<bool> Measured::ready(Handles& in, const BatchRows& out) {
  if (next_ == filled_) FOREBAY_DO(refill(in, out));
  const std::span<const Handle> ahead = std::span{ahead_}.first(filled_);
  for (; measured_ < keys_ && !ahead.empty(); ++measured_)
    FOREBAY_DO(context_.reader.attributes(context_.first_attribute + measured_, ahead, lengths_[measured_]));
  if (next_ == filled_) return false;
  if (counts_ && !counted_) sequence_ = counter_.next(ahead_[next_], pass_);
  counted_ = true;
  return true;
}

std::uint64_t Measured::draw(std::uint64_t purpose) const {
  RowIdentity own = context_.identity(ahead_[next_]);
  own.epoch = pass_;
  return draw_of_row(context_.seed, own, purpose);
}

Result<void> Measured::refill(Handles& in, const BatchRows& out) {
  FOREBAY_TRY(const std::size_t count, in.pull(ahead_));
  next_ = 0;
  filled_ = count;
  measured_ = 0;
  if (count == 0 || out.pass() == pass_) return {};
  idle_passes_ = taken_ ? 0 : idle_passes_ + 1;
  pass_ = out.pass();
  taken_ = false;
  if (!context_.endless || idle_passes_ < max_idle_passes) return {};
  return Error{Code::data, Detail::failed_precondition,
               std::to_string(max_idle_passes) +
                   " passes one after the other had no element whose length the batches allow: this run would never "
                   "deliver anything; correct the limits"};
}

}  // namespace forebay::batchers
