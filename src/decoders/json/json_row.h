// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <rapidjson/rapidjson.h>

#include "decoders/json/json_tree.h"

namespace forebay::decoders {

/// Takes the events of the parser and writes one row of each tensor. A call that returns false stops the parser and
/// leaves the reason in `fault`. Used for one record after another by one worker.
class JsonRow {
 public:
  explicit JsonRow(const JsonTree& tree) : tree_{tree}, states_(tree.leaves.size()) {}

  void begin(std::int64_t row, ColumnBlock& block);
  /// Ends the rows of all tensors, after the parser has read a whole record. False: `fault`.
  [[nodiscard]] bool end();
  [[nodiscard]] const std::string& fault() const { return fault_; }
  /// The tensor that the fault is about; empty: none.
  [[nodiscard]] const std::string& feature() const { return feature_; }

  bool Key(const char* text, rapidjson::SizeType size, bool);
  bool StartObject();
  bool EndObject(rapidjson::SizeType);
  bool StartArray();
  bool EndArray(rapidjson::SizeType);
  bool Null();
  bool Bool(bool value);
  bool RawNumber(const char* text, rapidjson::SizeType size, bool);
  bool String(const char* text, rapidjson::SizeType size, bool);
  bool Double(double value);
  // The parser delivers numbers as text.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(std::int64_t) { return false; }
  bool Uint64(std::uint64_t) { return false; }

 private:
  static constexpr std::size_t max_rank = 8;

  /// An object that fields read, or a list of such objects.
  struct Frame {
    int node = 0;
    bool list = false;
    bool item = false;         // an object of a list
    std::int64_t items = 0;    // of a list: objects before this one
    std::size_t expected = 0;  // of an object: the member that may come next
  };
  struct State {
    bool seen = false;       // in this record
    std::int64_t count = 0;  // elements in this record
  };

  bool refuse(std::string message, int leaf = JsonTree::none);
  bool refuse(int leaf, std::string_view found);
  [[nodiscard]] std::string expected(const JsonLeaf& leaf) const;
  [[nodiscard]] bool in_list() const;
  /// The leaf of the scalar that comes now; `none` and no fault: it is passed over.
  int scalar_leaf(std::string_view found);
  bool begin_leaf(int leaf);
  [[nodiscard]] std::size_t rank_below(const JsonLeaf& leaf) const;
  bool put_default(int leaf, std::string_view what);
  [[nodiscard]] std::byte* element(int leaf);
  bool count_item(int leaf);
  /// False: the list of known size has no room for another element.
  bool has_room(int leaf);
  bool put_number(int leaf, std::string_view text);
  bool missing(int leaf);

  const JsonTree& tree_;
  std::vector<State> states_;
  std::vector<Frame> frames_;
  int target_ = 0;                               // node of the value that comes next; none: no field reads it
  int passed_over_ = 0;                          // depth inside a value that no field reads
  int leaf_ = JsonTree::none;                    // of the list that is read
  std::size_t depth_ = 0;                        // lists of leaf_ that are open
  std::array<std::int64_t, max_rank> counts_{};  // items so far, of each open list
  std::int64_t row_ = 0;
  ColumnBlock* block_ = nullptr;
  std::string fault_, feature_;
};

}  // namespace forebay::decoders
