// SPDX-License-Identifier: Apache-2.0
#include <forebay/output_file.h>

#include <algorithm>

#include <fmt/format.h>

#include "tools/convert/feature_rows.h"

namespace forebay {

namespace {

using tools::FeatureRows;
using tools::FrameRows;
using tools::WireOut;

/// Adds the tensor `name`, for which `made` was made.
template <class Rows>
Result<void> add(const std::string& name, Result<Rows> made, std::vector<Rows>& rows) {
  if (!made.ok()) return made.error().at(Place{.feature = name});
  rows.push_back(*std::move(made));
  return {};
}

Result<void> add_feature(const std::string& name, const Batch& batch, std::vector<FeatureRows>& features) {
  return add(name, FeatureRows::make(name, *batch.find(name), batch.rows()), features);
}

/// Whether the tensor has the lengths of the frames of a list.
bool cuts_a_list(const Batch& batch, const std::string& name, const std::vector<std::string>& lists) {
  return tools::are_lengths(batch, name) &&
         std::ranges::any_of(lists, [&](const std::string& list) { return name == tools::lengths_name(list); });
}

template <class Rows>
std::size_t measure(std::vector<Rows>& all, std::int64_t row) {
  std::size_t size = 0;
  for (Rows& rows : all) size += rows.measure(row);
  return size;
}

}  // namespace

Result<void> write_examples(const Batch& batch, RecordWriter& writer) {
  std::vector<std::string> names = batch.names();
  std::ranges::sort(names);
  std::vector<FeatureRows> features;
  for (const std::string& name : names) FOREBAY_DO(add_feature(name, batch, features));
  std::string record;
  for (std::int64_t row = 0; row < batch.valid_rows(); ++row) {
    const std::size_t size = measure(features, row);
    record.resize(tools::field_size(size));
    WireOut out{record.data()};
    out.begin(1, size);
    for (const FeatureRows& feature : features) feature.write(out);
    FOREBAY_DO(writer.write(std::as_bytes(std::span{record})));
  }
  return {};
}

Result<void> write_sequence_examples(const Batch& batch, const std::vector<std::string>& lists, RecordWriter& writer) {
  std::vector<std::string> names = batch.names();
  std::ranges::sort(names);
  std::vector<FeatureRows> features;
  std::vector<FrameRows> frames;
  for (const std::string& name : lists) {
    if (batch.find(name) == nullptr)
      return Error{Code::config, Detail::not_found, fmt::format("the list '{}' is no tensor of the batch", name)};
  }
  for (const std::string& name : names) {
    if (cuts_a_list(batch, name, lists)) continue;
    if (std::ranges::find(lists, name) == lists.end()) {
      FOREBAY_DO(add_feature(name, batch, features));
      continue;
    }
    const Value* const lengths = tools::lengths_beside(batch, name);
    FOREBAY_DO(add(name, FrameRows::make(name, *batch.find(name), batch.rows(), lengths), frames));
  }
  std::string record;
  for (std::int64_t row = 0; row < batch.valid_rows(); ++row) {
    const std::size_t context = measure(features, row), steps = measure(frames, row);
    record.resize((context == 0 ? 0 : tools::field_size(context)) + (frames.empty() ? 0 : tools::field_size(steps)));
    WireOut out{record.data()};
    if (context > 0) out.begin(1, context);
    for (const FeatureRows& feature : features) feature.write(out);
    if (!frames.empty()) out.begin(2, steps);
    for (const FrameRows& list : frames) list.write(out);
    FOREBAY_DO(writer.write(std::as_bytes(std::span{record})));
  }
  return {};
}

}  // namespace forebay
