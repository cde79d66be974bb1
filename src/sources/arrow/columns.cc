// SPDX-License-Identifier: Apache-2.0
#include "sources/arrow/columns.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/core.h>

#include <forebay/messages.h>

#include <forebay/json.h>
#include "columns/scalar.h"

namespace forebay::arrow {
namespace {

constexpr int max_depth = 32;                            // of types in types
constexpr std::int64_t max_row = std::int64_t{1} << 40;  // elements of a row
constexpr std::size_t max_fixed = 15;                    // axes of a row
constexpr std::string_view way_out = "leave the column out with 'columns', or convert it before";

std::string_view text_of(const char* text) { return text == nullptr ? std::string_view{} : text; }

Error unusable(const std::string& name, const std::string& what) {
  return Error{Code::config, Detail::invalid_argument, fmt::format("column {}: {}", quote(name), what)};
}

std::string_view extension_of(const ArrowSchema& type) {
  return metadata_of(type.metadata, "ARROW:extension:name").value_or("");
}

/// The sizes of the rows of a list of one size: several of a tensor, whose shape its type says.
Result<std::vector<std::int64_t>> sizes_of(const ArrowSchema& type, const std::string& name, std::int64_t size) {
  if (extension_of(type) != "arrow.fixed_shape_tensor") return std::vector{size};
  const std::string_view stated = metadata_of(type.metadata, "ARROW:extension:metadata").value_or("");
  const Error wrong = unusable(name, fmt::format("its type says {} about the shape of a tensor of {} numbers; {}",
                                                 quote(stated), size, way_out));
  const auto json = parse_json(stated);
  if (!json.ok() || !json->is(Json::Kind::object) || json->find("shape") == nullptr) return wrong;
  if (!json->find("shape")->is(Json::Kind::array)) return wrong;
  std::vector<std::int64_t> out;
  std::int64_t product = 1;
  for (const Json& one : json->find("shape")->items()) {
    if (!one.is(Json::Kind::integer) || one.integer() < 0 || __builtin_mul_overflow(product, one.integer(), &product))
      return wrong;
    out.push_back(one.integer());
  }
  if (product != size) return wrong;
  std::int64_t axis = 0;
  const Json* const order = json->find("permutation");
  if (order == nullptr || !order->is(Json::Kind::array)) return out;
  for (const Json& one : order->items()) {
    if (one.is(Json::Kind::integer) && one.integer() == axis++) continue;
    return unusable(name,
                    "the axes of its tensors lie in another order in memory than their type names them; write them "
                    "in that order, or " +
                        std::string{way_out});
  }
  return out;
}

/// Walks through the types of a schema and lists the tensors.
class Walk {
 public:
  Walk(const Arrow& options, bool in_memory) : options_{options}, in_memory_{in_memory} {}

  void top(const ArrowSchema& schema) {
    std::vector<std::string> names;
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
      const ArrowSchema* const child = schema.children[i];
      names.emplace_back(child == nullptr ? "" : text_of(child->name));
      visit(child, names.back(), {i}, 0);
    }
    for (const std::string& name : options_.columns) {
      if (found_.contains(name)) continue;
      faults_.push_back(Error{Code::config, Detail::not_found,
                              fmt::format("the table has no column {}{}", quote(name), among(name, names, "it has"))}
                            .at(Field{"columns"}));
    }
    settle_nulls();
    if (columns_.empty() && faults_.empty())
      faults_.push_back(Error{Code::config, Detail::invalid_argument, "the table has no columns"});
  }

  Result<std::vector<Column>> done() {
    if (!faults_.empty()) return Error::all(std::move(faults_));
    return std::move(columns_);
  }

 private:
  /// A column that is named, and what is in it; and the structs around it.
  [[nodiscard]] bool wanted(const std::string& name, bool is_struct) const {
    const auto is_in = [](const std::string& inner, const std::string& outer) {
      return inner.starts_with(outer) && (inner.size() == outer.size() || inner[outer.size()] == '.');
    };
    return options_.columns.empty() || std::ranges::any_of(options_.columns, [&](const std::string& named) {
             return is_in(name, named) || (is_struct && is_in(named, name));
           });
  }

  void visit(const ArrowSchema* type, const std::string& name, std::vector<std::int64_t> path, int depth) {
    found_.insert(name);
    if (!wanted(name, type != nullptr && text_of(type->format) == "+s")) return;
    if (type == nullptr || depth > max_depth) {
      faults_.push_back(unusable(name, type == nullptr ? "its type is missing" : "its structs are too deep"));
    } else if (text_of(type->format) != "+s" || type->dictionary != nullptr) {
      add(*type, name, std::move(path));
    } else if (type->n_children > 0 && type->children == nullptr) {
      faults_.push_back(unusable(name, "its types are missing"));
    } else {
      for (std::int64_t i = 0; i < type->n_children; ++i) {
        std::vector<std::int64_t> inner = path;
        inner.push_back(i);
        const ArrowSchema* const child = type->children[i];
        visit(child, fmt::format("{}.{}", name, child == nullptr ? "" : text_of(child->name)), std::move(inner),
              depth + 1);
      }
    }
  }

  void add(const ArrowSchema& type, const std::string& name, std::vector<std::int64_t> path) {
    if (std::ranges::any_of(columns_, [&](const Column& other) { return other.name == name; })) {
      faults_.push_back(unusable(name, "two columns have this name; " + std::string{way_out}));
      return;
    }
    auto made = column_of(type, name, std::move(path));
    if (made.ok()) {
      columns_.push_back(*std::move(made));
    } else {
      faults_.push_back(made.error());
    }
  }

  Result<Column> column_of(const ArrowSchema& first, const std::string& name, std::vector<std::int64_t> path) const {
    Column out{.name = name, .path = std::move(path), .values = {}};
    const ArrowSchema* type = &first;
    const auto go_in = [&]() -> Result<void> {
      if (type->n_children != 1 || type->children == nullptr || type->children[0] == nullptr)
        return unusable(name, "a list has one type of items, and the schema gives none");
      type = type->children[0];
      return {};
    };
    const std::string_view outer = text_of(type->format);
    if (outer == "+l" || outer == "+L") {
      out.list = outer == "+l" ? Column::List::small : Column::List::large;
      FOREBAY_DO(go_in());
    }
    while (text_of(type->format).starts_with("+w:")) {
      const auto size = number_in(text_of(type->format).substr(3));
      if (!size || out.fixed.size() >= max_fixed || (*size > 0 && out.fixed_count() > max_row / *size))
        return unusable(name, fmt::format("{} is no size of a list that can be delivered", quote(type->format)));
      out.fixed.push_back(*size);
      FOREBAY_TRY(const auto sizes, sizes_of(*type, name, *size));
      out.sizes.insert(out.sizes.end(), sizes.begin(), sizes.end());
      if (out.sizes.size() > max_fixed)
        return unusable(name, fmt::format("its rows have more than {} axes; {}", max_fixed, way_out));
      FOREBAY_DO(go_in());
    }
    FOREBAY_DO(set_values(*type, out));
    return out;
  }

  /// Fails with the reason why elements of the type cannot be delivered.
  Result<void> set_values(const ArrowSchema& type, Column& out) const {
    const bool coded = type.dictionary != nullptr;
    const auto found = value_type(text_of(coded ? type.dictionary->format : type.format));
    if (!found) {
      const bool inside = out.list != Column::List::none || !out.fixed.empty();
      return unusable(out.name, fmt::format("{} {} cannot be delivered ({}); {}", inside ? "a list" : "a column",
                                            refused_type(text_of(coded ? type.dictionary->format : type.format)),
                                            quote(text_of(coded ? type.dictionary->format : type.format)), way_out));
    }
    out.values = *found;
    if (extension_of(type) == "arrow.bool8" && found->dtype == DType::int8)
      out.values = {.dtype = DType::boolean, .layout = Layout::truths, .width = 1};
    if (!coded) return {};
    out.codes = value_type(text_of(type.format));
    if (!out.codes || !is_integer(out.codes->dtype) || out.codes->layout != Layout::numbers)
      return unusable(out.name, fmt::format("the codes of a dictionary are integers, found {}", quote(type.format)));
    const bool able = in_memory_ && out.values.dtype == DType::string;
    if (options_.dictionaries == Dictionaries::codes && !able) {
      return Error{unusable(out.name, in_memory_
                                          ? "only dictionaries of strings are delivered as codes"
                                          : "the codes of a dictionary mean other values in every batch of rows that "
                                            "come one after the other; deliver the values")}
          .at(Field{"dictionaries"});
    }
    out.as_codes = able && options_.dictionaries != Dictionaries::values;
    return {};
  }

  /// What the options say about nulls.
  void settle_nulls() {
    std::vector<std::string> names;
    for (const Column& column : columns_) names.push_back(column.name);
    const auto find = [&](const std::string& name, const char* option) -> Column* {
      const auto found = std::ranges::find(columns_, name, &Column::name);
      if (found != columns_.end()) return &*found;
      faults_.push_back(Error{Code::config, Detail::not_found,
                              fmt::format("there is no tensor {}{}", quote(name), among(name, names, "there are"))}
                            .at(Field{option}));
      return nullptr;
    };
    for (const std::string& name : options_.present) {
      Column* const column = find(name, "present");
      if (column == nullptr) continue;
      column->present = true;
      column->filled = std::vector<std::byte>(size_of(column->values.dtype));
    }
    for (const auto& [name, value] : options_.nulls) {
      Column* const column = find(name, "nulls");
      if (column == nullptr) continue;
      auto element = columns::element_from(value, column->values.dtype);
      if (element.ok()) {
        column->filled = *std::move(element);
      } else {
        faults_.push_back(element.error().at(Field{"nulls", name}));
      }
    }
  }

  const Arrow& options_;
  const bool in_memory_;
  std::vector<Column> columns_;
  std::set<std::string> found_;  // columns, and fields of structs that were gone into
  std::vector<Error> faults_;
};

}  // namespace

std::int64_t Column::fixed_count() const {
  std::int64_t out = 1;
  for (const std::int64_t size : fixed) out *= size;
  return out;
}

std::string present_name(const std::string& name) { return fmt::format("present({})", name); }

Result<std::vector<Column>> columns_of(const ArrowSchema& schema, const Arrow& options, bool in_memory) {
  if (text_of(schema.format) != "+s")
    return Error{
        Code::config, Detail::invalid_argument,
        fmt::format("a table is a stream of record batches, found arrays {}",
                    value_type(text_of(schema.format)) ? "of single values" : refused_type(text_of(schema.format)))};
  if (schema.n_children < 0 || (schema.n_children > 0 && schema.children == nullptr))
    return Error{Code::config, Detail::invalid_argument, "the schema of the table has no list of columns"};
  Walk walk{options, in_memory};
  walk.top(schema);
  return walk.done();
}

}  // namespace forebay::arrow
