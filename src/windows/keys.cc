// SPDX-License-Identifier: Apache-2.0
#include "windows/keys.h"

#include <algorithm>

namespace forebay::windows {

Error bad_window(const std::string& message) { return {Code::config, Detail::invalid_argument, message}; }

Error bad_element(std::int64_t element, const std::string& message) {
  Place place;
  place.record = element;
  return Error{Code::data, Detail::invalid_argument, message}.at(place);
}

Result<Windowing> find_keys(const std::vector<TensorName>& names, const Schema& in) {
  Windowing out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Field field{"keys", std::to_string(i)};
    FOREBAY_TRY(const ColumnId column, in.find(names[i]).at(field));
    if (std::find(out.keys.begin(), out.keys.end(), column) != out.keys.end())
      return bad_window("tensor '" + names[i] + "' is named twice").at(field);
    if (in[column].shape.rank() == 0)
      return bad_window("tensor '" + names[i] + "' has the shape [], so it has no time axis to cut").at(field);
    if (!in[column].parts.empty())
      return bad_window("tensor '" + names[i] + "' is sparse or ragged in several axes, which windows cannot cut")
          .at(field);
    out.keys.push_back(column);
  }
  for (const ColumnId column : in.visible()) {
    const ColumnSpec& spec = in[column];
    const bool variable = spec.shape.rank() > 0 && spec.shape[0] == unknown_dim && spec.parts.empty();
    if (names.empty() && variable) {
      out.keys.push_back(column);
    } else if (std::find(out.keys.begin(), out.keys.end(), column) == out.keys.end()) {
      out.whole.push_back(column);
    }
  }
  if (out.keys.empty())
    return bad_window("no tensor has an unknown first size; `keys` names the tensors to cut").at(Field{"keys"});
  return out;
}

namespace {

/// Adds a column for each key; `change` turns the sizes of its elements into those of its windows.
template <class Change>
void make_changed(Windowing& windowing, const Schema& in, Change change) {
  windowing.out = in;
  for (const ColumnId key : windowing.keys) {
    ColumnSpec spec = in[key];
    std::vector<std::int64_t> sizes = spec.shape.dims();
    change(sizes);
    spec.shape = Shape{std::move(sizes)};
    if (spec.shape.known() && (spec.delivery == Delivery::ragged || windowing.frames)) spec.delivery = Delivery::equal;
    windowing.made.push_back(windowing.out.put(std::move(spec)));
  }
}

}  // namespace

void make_columns(Windowing& windowing, const Schema& in, std::int64_t frames) {
  make_changed(windowing, in, [&](std::vector<std::int64_t>& sizes) { sizes[0] = frames; });
}

void make_frame_columns(Windowing& windowing, const Schema& in) {
  windowing.frames = true;
  make_changed(windowing, in, [](std::vector<std::int64_t>& sizes) { sizes.erase(sizes.begin()); });
}

Result<void> add_generated(const std::optional<NewTensorName>& name, Generated kind, const std::string& option,
                           Windowing& windowing, std::int64_t size) {
  if (!name) return {};
  if (name->empty()) return bad_window("a tensor's name must not be empty").at(Field{option});
  if (windowing.out.find(*name).ok())
    return bad_window("there is already a tensor '" + *name + "'; choose another name").at(Field{option});
  ColumnSpec spec = generated_spec(kind, *name);
  if (spec.shape.rank() > 0) {
    spec.shape = {size};
    spec.delivery = size == unknown_dim ? Delivery::ragged : Delivery::equal;
  }
  const ColumnId column = windowing.out.put(std::move(spec));
  windowing.generated.push_back({.kind = kind, .column = column});
  return {};
}

std::vector<std::string> key_names(const Windowing& windowing, const Schema& in) {
  std::vector<std::string> out;
  for (const ColumnId key : windowing.keys) out.push_back(in[key].name);
  return out;
}

Result<void> check_equal(const std::vector<std::string>& names, std::span<const std::int64_t> lengths,
                         std::int64_t element, const std::string& rule) {
  for (std::size_t key = 1; key < lengths.size(); ++key) {
    if (lengths[key] == lengths[0]) continue;
    return bad_element(element, "'" + names[0] + "' has " + std::to_string(lengths[0]) + " frames and '" + names[key] +
                                    "' has " + std::to_string(lengths[key]) + "; " + rule + " the same first size");
  }
  return {};
}

Result<std::size_t> count_elements(const WindowRows& rows, std::size_t keys) {
  if (rows.lengths.size() % keys != 0)
    return Error{Code::internal,
                 std::to_string(rows.lengths.size()) + " lengths for " + std::to_string(keys) + " keys"};
  const auto negative =
      std::find_if(rows.lengths.begin(), rows.lengths.end(), [](std::int64_t length) { return length < 0; });
  if (negative != rows.lengths.end()) {
    const auto element =
        static_cast<std::int64_t>((negative - rows.lengths.begin()) / static_cast<std::ptrdiff_t>(keys));
    return bad_element(rows.first_element + element, "the length is " + std::to_string(*negative));
  }
  return rows.lengths.size() / keys;
}

}  // namespace forebay::windows
