// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <forebay/feed.h>
#include <forebay/plugin.h>

#include "tests/engine/order/stream_files.h"
#include "tests/pipeline/combinations.h"
#include "tests/pipeline/tensors_json.h"
#include "tests/support/answering.h"
#include "tests/support/base64.h"

/// The worked examples of all plug-ins, as documents over files that are written for them.
namespace forebay::worked {

using testing::Folder;
using testing::parse;

/// One worked example as files and a document.
struct Case {
  std::string kind;
  std::string name;
  Example example;
};

inline std::ostream& operator<<(std::ostream& out, const Case& at) {
  return out << at.kind << " " << at.name << " " << at.example.options;
}

template <class Types>
void add_cases(const std::string& kind, const Types& types, std::vector<Case>& out) {
  for (const auto& type : types) {
    for (const Example& example : type.description.examples) out.push_back({kind, type.description.name, example});
  }
}

inline std::vector<Case> worked_examples() {
  std::vector<Case> out;
  const Registry& registry = Registry::global();
  add_cases("source", registry.sources(), out);
  add_cases("decoder", registry.decoders(), out);
  add_cases("step", registry.steps(), out);
  add_cases("order", registry.orders(), out);
  add_cases("window", registry.windows(), out);
  add_cases("batcher", registry.batchers(), out);
  add_cases("combination", registry.combinations(), out);
  return out;
}

inline std::string number_record(const Json& number) { return encode_example({{"n", testing::feature_of(number)}}); }

/// Writes the example's input; the feature descriptions that read it back, and how many rows there are.
struct Input {
  Json files;
  Json decode;
  std::int64_t rows = 0;
};

inline void write_numbers(const Json& in, const Folder& folder, Input& out) {
  const bool several = !in.items().empty() && in.items().front().is(Json::Kind::array);
  std::vector<Json> files;
  for (const Json& list : several ? in.items() : std::vector<Json>{in}) {
    std::vector<std::string> records;
    for (const Json& number : list.items()) records.push_back(number_record(number));
    out.rows += static_cast<std::int64_t>(records.size());
    files.emplace_back(folder.file("numbers-" + std::to_string(files.size())));
    EXPECT_TRUE(write_records(files.back().string(), records).ok());
  }
  out.files = Json::array(std::move(files));
  out.decode = parse(R"({"example": {"features": {"n": {"dtype": "int64", "shape": []}}}})");
}

/// A row that says nothing of its kind (it is empty, or has no decimal point) is of the kind of the whole tensor.
inline FeatureValue of_kind(const FeatureValue& row, const FeatureValue& whole) {
  if (row.index() == whole.index()) return row;
  const auto& integers = std::get<std::vector<std::int64_t>>(row);
  if (std::holds_alternative<std::vector<std::string>>(whole)) return std::vector<std::string>{};
  return std::vector<float>(integers.begin(), integers.end());
}

/// Rows of tensors become Example messages; unequal rows a feature of variable length.
inline void write_tensors(const Json& in, const Folder& folder, Input& out) {
  Json features = Json::object();
  std::vector<ExampleMap> rows;
  for (const auto& [name, tensor] : in.members()) {
    rows.resize(tensor.items().size());
    Json shape = Json::array();
    bool same = true;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      rows[row][name] = testing::feature_of(tensor.items()[row]);
      same = same && testing::dims_of(tensor.items()[row]) == testing::dims_of(tensor.items()[0]);
    }
    const FeatureValue whole = testing::feature_of(tensor);
    const bool text = std::holds_alternative<std::vector<std::string>>(whole);
    const bool real = std::holds_alternative<std::vector<float>>(whole);
    for (ExampleMap& row : rows) row[name] = of_kind(row[name], whole);
    for (const std::int64_t dim : testing::dims_of(tensor.items()[0])) shape.items().emplace_back(dim);
    Json feature = Json::object({{"dtype", text ? "string" : real ? "float32" : "int64"}});
    if (same) feature.set("shape", shape);
    if (!same) feature.set("kind", "var_len");
    features.set(name, feature);
  }
  std::vector<std::string> records;
  for (const ExampleMap& row : rows) records.push_back(encode_example(row));
  out.rows = static_cast<std::int64_t>(records.size());
  out.files = Json::array({Json{folder.file("tensors")}});
  EXPECT_TRUE(write_records(folder.file("tensors"), records).ok());
  out.decode = Json::object({{"example", Json::object({{"features", features}})}});
}

inline void write_messages(const Case& at, const Json& in, const Folder& folder, Input& out) {
  std::vector<std::string> records;
  for (const Json& message : in.items()) {
    records.push_back(message.is(Json::Kind::string)  ? test::example_bytes(message.string())
                      : at.name == "sequence_example" ? testing::sequence_example_of(message)
                                                      : encode_example(testing::features_of(message)));
  }
  out.rows = static_cast<std::int64_t>(records.size());
  out.files = Json::array({Json{folder.file("messages")}});
  EXPECT_TRUE(write_records(folder.file("messages"), records).ok());
  out.decode = Json::object({{at.name, parse(at.example.options)}});
}

/// The lengths of sequences become Example messages with a tensor "n" that counts its elements.
inline void write_sequences(const Json& in, const Folder& folder, Input& out) {
  std::vector<std::string> records;
  for (const Json& length : in.items()) {
    std::vector<std::int64_t> elements(static_cast<std::size_t>(length.integer()));
    std::iota(elements.begin(), elements.end(), 0);
    records.push_back(encode_example({{"n", elements}}));
  }
  out.rows = std::ssize(records);
  out.files = Json::array({Json{folder.file("sequences")}});
  EXPECT_TRUE(write_records(folder.file("sequences"), records).ok());
  out.decode = parse(R"({"example": {"features": {"n": {"kind": "var_len", "dtype": "int64"}}}})");
}

/// Names the files in the options: `files`, or one file for each of the `arrays`.
inline void set_files(std::vector<Json> files, Json& options) {
  const Json* const arrays = options.find("arrays");
  if (arrays == nullptr || !arrays->is(Json::Kind::object)) {
    options.set("files", Json::array(std::move(files)));
    return;
  }
  Json named = Json::object();
  for (const auto& [name, paths] : arrays->members()) named.set(name, Json::array({files[named.members().size()]}));
  options.set("arrays", std::move(named));
}

/// The source of an example with its options, over files that are written here: the records of a TFRecord file, or the
/// content of each file.
inline Json write_source(const Case& at, const Json& in, const Folder& folder, Input& out) {
  Json options = parse(at.example.options);
  std::vector<Json> files;
  if (at.name == "tfrecord") {
    const Json* const named = options.find("compression");
    const std::string compression = named != nullptr ? named->string() : "none";
    std::vector<std::string> records;
    for (const Json& record : in.items()) records.push_back(record.string());
    files.emplace_back(folder.file("records"));
    EXPECT_TRUE(write_records(files.back().string(), records,
                              compression == "gzip"   ? Compression::gzip
                              : compression == "zlib" ? Compression::zlib
                              : compression == "zstd" ? Compression::zstd
                                                      : Compression::none)
                    .ok());
  } else {
    for (const Json& content : in.items()) {
      files.emplace_back(folder.file("file-" + std::to_string(files.size())));
      EXPECT_TRUE(forebay::write_file(files.back().string(), test::example_bytes(content.string())).ok());
    }
  }
  set_files(std::move(files), options);
  const Json rows = parse(at.example.out);
  out.rows = rows.is(Json::Kind::object) ? 2 : std::ssize(rows.items());
  out.decode = parse(R"({"record": {"name": "r"}})");
  return Json::object({{at.name, options}});
}

/// Whether the source gives rows that come ready from files.
inline bool stores_rows(const Case& at) {
  if (at.kind != "source") return false;
  for (const SourceType& type : Registry::global().sources())
    if (type.description.name == at.name) return type.rows;
  return false;
}

/// Whether the example is of a source of rows that the program binds. Its input is the tensors that it gives.
inline bool gives_rows(const Case& at) { return at.kind == "source" && parse(at.example.in).is(Json::Kind::object); }

/// The rows that such a source gives, bound as "in", or the function that an order or a window step asks.
inline Bindings bindings_of(const Case& at) {
  if (at.kind == "window") return testing::halves(parse(at.example.options));
  if (!gives_rows(at)) return at.kind == "order" ? testing::backwards(parse(at.example.options)) : Bindings{};
  const Json in = parse(at.example.in);
  const auto values = std::make_shared<std::vector<FeatureValue>>();
  values->reserve(in.members().size());
  std::vector<ArrayView> arrays;
  for (const auto& [name, tensor] : in.members()) {
    ArrayView array{.name = name, .shape = testing::dims_of(tensor)};
    values->push_back(testing::feature_of(tensor));
    if (auto* strings = std::get_if<std::vector<std::string>>(&values->back())) {
      array.dtype = DType::string;
      array.byte_splits = {0};
      for (const std::string& text : std::exchange(*strings, {""})) {
        strings->front() += text;
        array.byte_splits.push_back(std::ssize(strings->front()));
      }
      array.data = strings->front().data();
    } else if (const auto* floats = std::get_if<std::vector<float>>(&values->back())) {
      array.data = floats->data();
    } else {
      array.dtype = DType::int64;
      array.data = std::get<std::vector<std::int64_t>>(values->back()).data();
    }
    arrays.push_back(std::move(array));
  }
  auto rows = *array_rows(std::move(arrays), values);
  if (at.name != "feed") return {{"in", std::move(rows)}};
  Feed feed = *Feed::make(rows->schema);
  EXPECT_TRUE(feed.put(*rows, std::chrono::seconds{1}).ok());
  feed.close();
  return {{"in", feed.source()}};
}

/// Whether the example is of an order on batches. Its input is cut into batches of one row.
inline bool orders_batches(const Case& at) {
  if (at.kind != "order") return false;
  for (const OrderType& type : Registry::global().orders()) {
    if (type.description.name != at.name) continue;
    return type.bind(parse(type.description.examples.front().options))->grain == Grain::batches;
  }
  return false;
}

inline Json batch_step(std::int64_t rows) { return Json::object({{"batch", Json::object({{"size", rows}})}}); }

/// The document of an example. Everything comes in one batch, or in batches of `rows` rows; batchers have their own.
inline Json document_of(const Case& at, const Folder& folder, std::int64_t rows = 0) {
  Input input;
  if (at.kind == "combination") {
    Json out = combine_runs::worked_example({at.name, at.example}, folder);
    if (rows > 0) out.set("steps", Json::array({batch_step(rows)}));
    return out;
  }
  const Json in = parse(at.example.in);
  if (gives_rows(at)) {
    return Json::object({{"source", Json::object({{at.name, parse(at.example.options)}})},
                         {"steps", Json::array({batch_step(rows > 0 ? rows : 100)})}});
  }
  const bool tensors = in.is(Json::Kind::object);
  if (at.kind == "order" || (at.kind == "batcher" && !tensors)) write_numbers(in, folder, input);
  if (at.kind == "step" || (at.kind == "batcher" && tensors)) write_tensors(in, folder, input);
  if (at.kind == "decoder") write_messages(at, in, folder, input);
  if (at.kind == "window") write_sequences(in, folder, input);
  Json source;
  if (at.kind == "source") source = write_source(at, in, folder, input);
  Json steps = parse(at.name == "stateful" ? R"([{"unroll": {"num_unroll": 2}}])" : "[]");
  const Json plugin = Json::object({{at.name, parse(at.example.options)}});
  if (orders_batches(at)) {
    return Json::object({{"source", Json::object({{"tfrecord", Json::object({{"files", input.files}})}})},
                         {"decode", input.decode},
                         {"steps", Json::array({batch_step(1), plugin})}});
  }
  if (at.kind != "source" && at.kind != "decoder") steps.items().push_back(plugin);
  const std::int64_t all = at.kind == "window" ? 100 : std::max<std::int64_t>(1, 2 * input.rows);
  if (at.kind != "batcher") steps.items().push_back(batch_step(rows > 0 ? rows : all));
  if (at.kind != "source") source = Json::object({{"tfrecord", Json::object({{"files", input.files}})}});
  if (stores_rows(at)) return Json::object({{"source", source}, {"steps", steps}});
  return Json::object({{"source", source}, {"decode", input.decode}, {"steps", steps}});
}

/// The lengths of the rows of "n"; 1 where a row is one element.
inline Json lengths_of_rows(const Batch& batch) {
  const Value& value = *batch.find("n");
  const Tensor* const lengths = batch.lengths("n");
  Json out = Json::array();
  for (std::int64_t row = 0; row < batch.rows(); ++row) {
    if (lengths != nullptr) {
      out.items().emplace_back(lengths->as<std::int64_t>()[static_cast<std::size_t>(row)]);
    } else {
      out.items().emplace_back(value.values.shape.rank() < 2 ? 1 : value.values.shape[1]);
    }
  }
  return out;
}

/// What came out, in the form in which examples are written.
inline Json outcome_of(const Case& at, const Json& document, std::int64_t threads) {
  auto pipeline = load(document, {.threads = threads}, ".", bindings_of(at));
  if (!pipeline.ok()) return Json{pipeline.error().text()};
  std::vector<Json> batches;
  while (true) {
    auto batch = pipeline->next();
    if (!batch.ok()) return Json{batch.error().text()};
    if (!*batch) break;
    Json tensors = Json::object();
    if (at.kind == "combination") return combine_runs::numbers_of(**batch);
    if (at.kind == "window") return lengths_of_rows(**batch);
    for (const std::string& name : (*batch)->names()) tensors.set(name, testing::to_json(*(*batch)->find(name)));
    if (tensors.find("n") != nullptr && (at.kind == "order" || at.kind == "batcher")) tensors = *tensors.find("n");
    if (at.kind == "source" && !gives_rows(at) && !stores_rows(at)) tensors = *tensors.find("r");
    batches.push_back(std::move(tensors));
  }
  if (at.kind == "batcher") return Json::array(std::move(batches));
  if (orders_batches(at)) {
    Json rows = Json::array();
    for (const Json& batch : batches) rows.items().push_back(batch.items().front());
    return rows;
  }
  return batches.empty() ? Json::array() : batches.front();
}

}  // namespace forebay::worked
