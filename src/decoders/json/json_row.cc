// SPDX-License-Identifier: Apache-2.0
#include "decoders/json/json_row.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/core.h>
#include <forebay/messages.h>

#include "columns/cast.h"
#include "decoders/csv/values.h"
#include "decoders/json/json_values.h"

namespace forebay::decoders {
void JsonRow::begin(std::int64_t row, ColumnBlock& block) {
  row_ = row;
  block_ = &block;
  frames_.clear();
  states_.assign(states_.size(), {});
  fault_.clear(), feature_.clear();
  target_ = 0;
  passed_over_ = 0;
  leaf_ = JsonTree::none;
  depth_ = 0;
}

bool JsonRow::refuse(std::string message, int leaf) {
  fault_ = std::move(message);
  if (leaf != JsonTree::none) feature_ = tree_.leaves[static_cast<std::size_t>(leaf)].name;
  return false;
}

std::string JsonRow::expected(const JsonLeaf& leaf) const {
  if (leaf.shape.rank() == 0) return fmt::format("one {}", to_string(leaf.dtype));
  return fmt::format("a list of shape {} of {}", leaf.shape.text(), to_string(leaf.dtype));
}

bool JsonRow::refuse(int leaf, std::string_view found) {
  const JsonLeaf& of = tree_.leaves[static_cast<std::size_t>(leaf)];
  return refuse(fmt::format("{}: found {}, expected {}", quote(of.where), found, expected(of)), leaf);
}

bool JsonRow::in_list() const {
  for (const Frame& frame : frames_)
    if (frame.list) return true;
  return false;
}

/// The lists of the leaf that are in the record itself: one of them may be the list of objects around it.
std::size_t JsonRow::rank_below(const JsonLeaf& leaf) const { return leaf.shape.rank() - (in_list() ? 1 : 0); }

bool JsonRow::Key(const char* text, rapidjson::SizeType size, bool) {
  if (passed_over_ > 0) return true;
  Frame& frame = frames_.back();
  target_ = tree_.member(frame.node, {text, size}, frame.expected);
  return true;
}

bool JsonRow::StartObject() {
  if (passed_over_ > 0 || (target_ == JsonTree::none && leaf_ == JsonTree::none)) {
    ++passed_over_;
    return true;
  }
  if (leaf_ != JsonTree::none) return refuse(leaf_, "an object");
  const int leaf = tree_.nodes[static_cast<std::size_t>(target_)].leaf;
  if (leaf != JsonTree::none) return refuse(leaf, "an object");
  const bool item = !frames_.empty() && frames_.back().list;
  if (!item)
    for (const int each : tree_.nodes[static_cast<std::size_t>(target_)].below)
      if (states_[static_cast<std::size_t>(each)].seen && !in_list())
        return refuse(fmt::format("{} is there twice", quote(tree_.leaves[static_cast<std::size_t>(each)].where)),
                      each);
  frames_.push_back({.node = target_, .item = item});
  return true;
}

bool JsonRow::EndObject(rapidjson::SizeType) {
  if (passed_over_ > 0) {
    --passed_over_;
    return true;
  }
  const Frame frame = frames_.back();
  frames_.pop_back();
  if (frame.item) {
    Frame& list = frames_.back();
    ++list.items;
    for (const int leaf : tree_.nodes[static_cast<std::size_t>(frame.node)].below)
      if (states_[static_cast<std::size_t>(leaf)].count < list.items && !put_default(leaf, "nothing")) return false;
    target_ = list.node;
  }
  return true;
}

bool JsonRow::StartArray() {
  if (passed_over_ > 0 || (target_ == JsonTree::none && leaf_ == JsonTree::none)) {
    ++passed_over_;
    return true;
  }
  if (leaf_ == JsonTree::none) {
    const JsonTree::Node& node = tree_.nodes[static_cast<std::size_t>(target_)];
    if (node.leaf == JsonTree::none) {
      if (frames_.empty()) return refuse("found a list, expected an object");
      if (in_list()) return refuse("found a list in a list of objects, expected an object");
      for (const int leaf : node.below) {
        State& state = states_[static_cast<std::size_t>(leaf)];
        const JsonLeaf& of = tree_.leaves[static_cast<std::size_t>(leaf)];
        if (state.seen) return refuse(fmt::format("{} is there twice", quote(of.where)), leaf);
        if (of.shape.rank() != 1)
          return refuse(
              fmt::format("{}: found a list of objects on the way, expected an object; give it the shape [-1], "
                          "and its values in all of them are a list",
                          quote(of.where)),
              leaf);
        state.seen = true;
      }
      frames_.push_back({.node = target_, .list = true});
      return true;
    }
    if (!begin_leaf(node.leaf)) return false;
    leaf_ = node.leaf;
    depth_ = 0;
  }
  const JsonLeaf& leaf = tree_.leaves[static_cast<std::size_t>(leaf_)];
  if (depth_ > 0 && !count_item(leaf_)) return false;
  if (depth_ >= rank_below(leaf)) return refuse(leaf_, depth_ == 0 ? "a list" : "a list in a list");
  counts_[depth_++] = 0;
  return true;
}

bool JsonRow::EndArray(rapidjson::SizeType) {
  if (passed_over_ > 0) {
    --passed_over_;
    return true;
  }
  if (leaf_ == JsonTree::none) {  // a list of objects
    frames_.pop_back();
    return true;
  }
  const JsonLeaf& leaf = tree_.leaves[static_cast<std::size_t>(leaf_)];
  --depth_;
  const std::int64_t size = leaf.shape[depth_];
  if (size != unknown_dim && counts_[depth_] != size)
    return refuse(leaf_, fmt::format("a list of {}", counts_[depth_]));
  if (depth_ == 0) leaf_ = JsonTree::none;
  return true;
}

/// Counts an item of the innermost list that is open.
bool JsonRow::count_item(int leaf) {
  const std::int64_t size = tree_.leaves[static_cast<std::size_t>(leaf)].shape[depth_ - 1];
  if (++counts_[depth_ - 1] > size && size != unknown_dim)
    return refuse(leaf, fmt::format("a list of more than {}", size));
  return true;
}

/// Called for the value of a leaf that is no item of its list.
bool JsonRow::begin_leaf(int leaf) {
  State& state = states_[static_cast<std::size_t>(leaf)];
  const JsonLeaf& of = tree_.leaves[static_cast<std::size_t>(leaf)];
  const bool again = in_list() ? state.count > frames_[frames_.size() - 2].items : state.seen;
  if (again) return refuse(fmt::format("{} is there twice", quote(of.where)), leaf);
  state.seen = true;
  return true;
}

int JsonRow::scalar_leaf(std::string_view found) {
  if (passed_over_ > 0 || (target_ == JsonTree::none && leaf_ == JsonTree::none)) return JsonTree::none;
  if (leaf_ != JsonTree::none) {
    const JsonLeaf& leaf = tree_.leaves[static_cast<std::size_t>(leaf_)];
    if (!count_item(leaf_)) return JsonTree::none;
    if (depth_ == rank_below(leaf)) return leaf_;
    refuse(leaf_, fmt::format("{} in a list of lists", found));
    return JsonTree::none;
  }
  const int leaf = tree_.nodes[static_cast<std::size_t>(target_)].leaf;
  if (leaf == JsonTree::none) {
    const int below = tree_.nodes[static_cast<std::size_t>(target_)].below[0];
    const std::string& where = tree_.leaves[static_cast<std::size_t>(below)].where;
    refuse(frames_.empty() ? fmt::format("found {}, expected an object", found)
                           : fmt::format("{}: found {} on the way, expected an object", quote(where), found),
           frames_.empty() ? JsonTree::none : below);
    return JsonTree::none;
  }
  if (rank_below(tree_.leaves[static_cast<std::size_t>(leaf)]) > 0) {
    refuse(leaf, found);
    return JsonTree::none;
  }
  return begin_leaf(leaf) && has_room(leaf) ? leaf : JsonTree::none;
}

bool JsonRow::has_room(int leaf) {
  const JsonLeaf& of = tree_.leaves[static_cast<std::size_t>(leaf)];
  if (!of.shape.known() || states_[static_cast<std::size_t>(leaf)].count < of.shape.count()) return true;
  return refuse(leaf, fmt::format("a list of more than {}", of.shape.count()));
}

/// Room for the next number of a leaf.
std::byte* JsonRow::element(int leaf) {
  const JsonLeaf& of = tree_.leaves[static_cast<std::size_t>(leaf)];
  Column& column = (*block_)[of.id];
  const std::size_t size = size_of(of.dtype);
  const std::int64_t number = states_[static_cast<std::size_t>(leaf)].count++;
  if (!of.shape.known()) return column.values.extend(size);
  return column.values.data() + static_cast<std::size_t>(row_ * of.shape.count() + number) * size;
}

bool JsonRow::put_default(int leaf, std::string_view what) {
  const JsonLeaf& of = tree_.leaves[static_cast<std::size_t>(leaf)];
  if (!of.default_value)
    return refuse(
        fmt::format("{}: found {}, expected {}; where records may lack it, give it a `default`", quote(of.where), what,
                    of.shape.rank() == 0 ? expected(of) : fmt::format("a {}", to_string(of.dtype))),
        leaf);
  if (!has_room(leaf)) return false;
  if (of.dtype == DType::string) {
    (*block_)[of.id].push_string(*of.default_value);
    ++states_[static_cast<std::size_t>(leaf)].count;
  } else {
    std::memcpy(element(leaf), of.default_value->data(), of.default_value->size());
  }
  return true;
}

bool JsonRow::Null() {
  if (passed_over_ > 0 || (target_ == JsonTree::none && leaf_ == JsonTree::none)) return true;
  if (leaf_ == JsonTree::none) {
    const JsonTree::Node& node = tree_.nodes[static_cast<std::size_t>(target_)];
    const bool item = !frames_.empty() && frames_.back().list;
    if (frames_.empty() || item) return refuse("found null, expected an object");
    if (node.leaf == JsonTree::none) return true;  // nothing below it is there
    const bool list = rank_below(tree_.leaves[static_cast<std::size_t>(node.leaf)]) > 0;
    if (list) return true;  // as a list that is not there
  }
  const int leaf = scalar_leaf("null");
  return leaf == JsonTree::none ? fault_.empty() : put_default(leaf, "null");
}

bool JsonRow::Bool(bool value) {
  const int leaf = scalar_leaf(value ? "true" : "false");
  if (leaf == JsonTree::none) return fault_.empty();
  if (tree_.leaves[static_cast<std::size_t>(leaf)].dtype != DType::boolean)
    return refuse(leaf, value ? "true" : "false");
  *element(leaf) = std::byte{value};
  return true;
}

bool JsonRow::put_number(int leaf, std::string_view text) {
  const JsonLeaf& of = tree_.leaves[static_cast<std::size_t>(leaf)];
  if (of.dtype == DType::string || of.dtype == DType::boolean) return refuse(leaf, fmt::format("the number {}", text));
  std::byte* const out = element(leaf);
  if (parse_value(text, {.dtype = of.dtype}, out)) return true;
  if (!is_float(of.dtype)) {
    const auto whole = json_integer(text);
    if (whole && parse_value(fmt::format("{}", *whole), {.dtype = of.dtype}, out)) return true;
  }
  return refuse(leaf, fmt::format("the number {}", text));
}

bool JsonRow::RawNumber(const char* text, rapidjson::SizeType size, bool) {
  const int leaf = scalar_leaf("a number");
  return leaf == JsonTree::none ? fault_.empty() : put_number(leaf, {text, size});
}

/// NaN and infinity, which JSON has no numbers for.
bool JsonRow::Double(double value) {
  const int leaf = scalar_leaf("a number");
  if (leaf == JsonTree::none) return fault_.empty();
  return put_number(leaf, std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

bool JsonRow::String(const char* text, rapidjson::SizeType size, bool) {
  const int leaf = scalar_leaf("a string");
  if (leaf == JsonTree::none) return fault_.empty();
  const JsonLeaf& of = tree_.leaves[static_cast<std::size_t>(leaf)];
  if (of.dtype != DType::string) return refuse(leaf, "a string");
  (*block_)[of.id].push_string({reinterpret_cast<const std::byte*>(text), size});
  ++states_[static_cast<std::size_t>(leaf)].count;
  return true;
}

/// A tensor that the record does not have.
bool JsonRow::missing(int leaf) {
  const JsonLeaf& of = tree_.leaves[static_cast<std::size_t>(leaf)];
  if (!of.default_value)
    return refuse(fmt::format("{} is required ({}) but the record does not have it; give it a `default`",
                              quote(of.where), expected(of)),
                  leaf);
  for (std::int64_t n = of.shape.known() ? of.shape.count() : 0; n > 0; --n)
    if (!put_default(leaf, "nothing")) return false;
  return true;
}

bool JsonRow::end() {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const JsonLeaf& leaf = tree_.leaves[i];
    if (!states_[i].seen && !missing(static_cast<int>(i))) return false;
    Column& column = (*block_)[leaf.id];
    if (leaf.shape.known()) {
      if (states_[i].count != leaf.shape.count())  // values of a list of objects
        return refuse(static_cast<int>(i), fmt::format("a list of {}", states_[i].count));
      if (leaf.dtype == DType::string) ++column.rows;
    } else {
      const std::int64_t rows = states_[i].count / leaf.shape.count();
      column.end_row({&rows, 1});
    }
  }
  return true;
}

}  // namespace forebay::decoders
