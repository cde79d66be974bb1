// SPDX-License-Identifier: Apache-2.0
#include <forebay/decoders/json.h>

#include <algorithm>
#include <memory>

#include <fmt/core.h>
#include <forebay/messages.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include "columns/scalar.h"
#include "decoders/json/json_place.h"
#include "decoders/json/json_row.h"

namespace forebay {

template <>
struct FieldsOf<JsonField> {
  static const Fields<JsonField>& get() {
    static const Fields<JsonField> fields =
        Fields<JsonField>{}
            .required("dtype", &JsonField::dtype, "Any integer type, float32, float64, bool or string.")
            .field("shape", &JsonField::shape,
                   "[] is one value, else a list; the first size may be -1, and the tensor is ragged.")
            .field("path", &JsonField::path,
                   "Names that lead to the value, from the outermost object on; empty: the tensor's name. A list of "
                   "objects on the way gives the list of their values.")
            .field("default", &JsonField::default_value,
                   "Value where the record has none, or null; without it that is an error. A list of any length is "
                   "empty.");
    return fields;
  }
};

namespace decoders {
namespace {

constexpr std::size_t max_fields = 100'000;

/// What one worker keeps: the state of a row, and the memory of the parser.
struct JsonMemory final : DecoderMemory {
  explicit JsonMemory(const JsonTree& tree) : row{tree} {}
  JsonRow row;
  rapidjson::Reader reader;
};

/// Writes the values of JSON objects into columns. The plan owns it; any number of workers call it at once, each with
/// its own memory.
class JsonObjects final : public Decoder {
 public:
  explicit JsonObjects(JsonTree tree) : tree_{std::move(tree)} {}
  std::unique_ptr<DecoderMemory> memory() const override { return std::make_unique<JsonMemory>(tree_); }

  Result<void> decode(std::span<const Record> records, std::int64_t first_row, ColumnBlock& block,
                      DecoderMemory& memory) const override {
    constexpr unsigned flags = rapidjson::kParseIterativeFlag | rapidjson::kParseNumbersAsStringsFlag |
                               rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNanAndInfFlag;
    auto& [row, reader] = static_cast<JsonMemory&>(memory);
    for (std::size_t i = 0; i < records.size(); ++i) {
      const std::string_view text{reinterpret_cast<const char*>(records[i].data()), records[i].size()};
      rapidjson::MemoryStream stream{text.data(), text.size()};
      row.begin(first_row + static_cast<std::int64_t>(i), block);
      const rapidjson::ParseResult parsed = reader.Parse<flags>(stream, row);
      const bool syntax = parsed.IsError() && row.fault().empty();
      if (!parsed.IsError() && row.end()) continue;
      std::string what = syntax ? std::string{rapidjson::GetParseError_En(parsed.Code())} : row.fault();
      if (text.empty()) what = "the record is empty, expected an object; an object without members is {}";
      const Place at =
          place_of(text, std::min(parsed.IsError() && syntax ? parsed.Offset() : stream.Tell(), text.size()));
      return Error{Code::data, syntax ? Detail::data_loss : Detail::invalid_argument,
                   at.line == 1 ? fmt::format("JSON, column {}: {}", at.column, what)
                                : fmt::format("JSON, line {}, column {}: {}", at.line, at.column, what),
                   Place{.feature = row.feature(), .row = static_cast<std::int64_t>(i)}};
    }
    return {};
  }

 private:
  const JsonTree tree_;
};

bool json_has(DType dtype) {
  return dtype == DType::boolean || dtype == DType::string || is_integer(dtype) || dtype == DType::float32 ||
         dtype == DType::float64;
}

/// What is wrong with a field, at its option; empty: nothing.
std::vector<Error> faults_of(const std::string& name, const JsonField& field) {
  std::vector<Error> out;
  const auto complain = [&](std::string message, const char* option) {
    out.push_back(Error{Code::config, Detail::invalid_argument, std::move(message)}.at(Field{"fields", name, option}));
  };
  if (!json_has(field.dtype))
    complain(
        fmt::format("a value becomes an integer, float32, float64, bool or string, not {}", to_string(field.dtype)),
        "dtype");
  const std::vector<std::int64_t>& sizes = field.shape.dims();
  if (sizes.size() > 8) complain(fmt::format("has at most 8 sizes, found {}", sizes.size()), "shape");
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] > 0 || (axis == 0 && (sizes[axis] == unknown_dim || sizes[axis] == 0))) continue;
    complain("sizes are 1 and more; the first may be -1 or 0", "shape");
  }
  return out;
}

Result<Bound<Decoder>> bind_json(const JsonRecords& options, const std::vector<std::string>& wanted) {
  std::vector<Error> faults;
  Schema out;
  JsonTree tree, unused;
  if (options.fields.empty() || options.fields.size() > max_fields)
    faults.push_back(Error{Code::config, Detail::invalid_argument,
                           fmt::format("names 1 to {} tensors, found {}", max_fields, options.fields.size())}
                         .at(Field{"fields"}));
  for (const auto& [name, field] : options.fields) {
    for (Error& fault : faults_of(name, field)) faults.push_back(std::move(fault));
    const std::vector<std::string> path = field.path.empty() ? std::vector{name} : field.path;
    JsonLeaf leaf{.name = name, .where = path_text(path), .dtype = field.dtype, .shape = field.shape};
    if (!std::holds_alternative<std::monostate>(field.default_value)) {
      auto bytes = columns::element_from(JsonCodec<Scalar>::write(field.default_value), field.dtype);
      if (bytes.ok()) {
        leaf.default_value = *std::move(bytes);
      } else {
        faults.push_back(bytes.error().at(Field{"fields", name, "default"}));
      }
    }
    leaf.id = out.put({.name = name,
                       .dtype = field.dtype,
                       .shape = field.shape,
                       .delivery = field.shape.known() ? Delivery::equal : Delivery::ragged});
    const bool read = wanted.empty() || std::ranges::find(wanted, name) != wanted.end();
    const std::string wrong = unused.add(path, leaf);  // all fields, so that a fault does not depend on what is wanted
    if (!wrong.empty())
      faults.push_back(Error{Code::config, Detail::invalid_argument, wrong}.at(Field{"fields", name, "path"}));
    else if (read)
      (void)tree.add(path, std::move(leaf));
  }
  if (!faults.empty()) return Error::all(std::move(faults));
  return Bound<Decoder>{.op = std::make_unique<JsonObjects>(std::move(tree)), .out = std::move(out)};
}

}  // namespace

DecoderType json() {
  return describe<DecoderType, JsonRecords>(
             "json", "Decodes JSON objects, such as the lines of a JSON lines file: one tensor for each field.",
             bind_json)
      .required("fields", &JsonRecords::fields, "The tensors by name, each with dtype, shape, path and default.")
      .example(
          {.options = R"({"fields": {"id": {"dtype": "int64"}, "text": {"dtype": "string", "default": ""},
                               "box": {"dtype": "float32", "shape": [2, 2], "path": ["image", "box"]}}})",
           .in = R"(["{\"id\": 7, \"text\": \"caf\\u00e9\", \"image\": {\"box\": [[0, 1], [2.5, 3]]}}",
                          "{\"image\": {\"box\": [[1, 2], [3, 4]], \"by\": null}, \"text\": null, \"id\": 8}"])",
           .out =
               R"({"id": [7, 8], "text": ["café", ""], "box": [[[0.0, 1.0], [2.5, 3.0]], [[1.0, 2.0], [3.0, 4.0]]]})"})
      .example(
          {.options = R"({"fields": {"said": {"dtype": "string", "shape": [-1], "path": ["messages", "content"]}}})",
           .in =
               R"(["{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}, {\"role\": \"bot\", \"content\": \"Hello\"}]}"])",
           .out = R"({"said": [["Hi", "Hello"]]})"});
}

}  // namespace decoders
}  // namespace forebay
