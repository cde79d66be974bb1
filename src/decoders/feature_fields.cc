// SPDX-License-Identifier: Apache-2.0
// Declares the JSON form of a feature, with all its options.
#include <algorithm>
#include <cctype>

#include "decoders/feature_form.h"

namespace forebay {

template <decoders::Late what>
struct JsonCodec<decoders::LateJson<what>> {
  static std::optional<decoders::LateJson<what>> read(const Json& json, std::vector<Error>&) {
    return decoders::LateJson<what>{json};
  }
  static Json write(const decoders::LateJson<what>& value) { return value.json; }
  static Json schema() { return Json::object(); }
  static std::string python_type() {
    switch (what) {
      case decoders::Late::default_value:
        return "bool | int | float | str | bytes | list[object]";
      case decoders::Late::keys:
        return "str | list[str]";
      case decoders::Late::sizes:
        return "int | list[int]";
      case decoders::Late::partitions:
        return "list[tuple[str, str | int]]";
    }
    return "object";
  }
};

namespace decoders {
namespace {

const Fields<FeatureOptions>& fields() {
  using F = FeatureOptions;
  static const Fields<F> all =
      Fields<F>{}
          .field("kind", &F::kind, "How many values a record has, and in what shape they come out.")
          .field("key", &F::key, "Name in the message; the tensor's name when left out.")
          .required("dtype", &F::dtype, "Type of the tensor; values stored as another type are converted.")
          .field("shape", &F::shape, "Shape of a record, or of one step of a sequence; one size may be -1.")
          .field("default", &F::default_value,
                 "fixed_len: value when missing (without: an error); fixed_len_sequence: what pads it.")
          .field("stored", &F::stored,
                 "Type in the message; left out: int for integers and bool, float for floats, else bytes.")
          .field("as", &F::as,
                 "How a variable kind is handed over; left out: var_len ragged, fixed_len_sequence padded.")
          .field("index_key", &F::index_key, "sparse: key of the indices, or a list with one key per axis.")
          .field("value_key", &F::value_key,
                 "sparse, ragged: key of the values; ragged: the tensor's name when left out.")
          .field("size", &F::size, "sparse: size of the dense tensor, or a list with one size per axis.")
          .field("already_sorted", &F::already_sorted, "sparse: take the indices in the order in which they come.")
          .field("partitions", &F::partitions,
                 "ragged: list of [kind, key] outermost first; kinds row_splits, row_lengths, row_starts, row_limits, "
                 "value_rowids, or [\"uniform_row_length\", length].")
          .field("row_splits_dtype", &F::row_splits_dtype,
                 "ragged: type of the row splits, int32 or int64; int32 when left out.")
          .field("validate", &F::validate, "ragged: refuse partitions that do not fit the values.")
          .field("endian", &F::endian, "raw: byte order of the numbers; must be given.")
          .field("len", &F::len, "raw: number of byte strings; more than 1 adds a first axis.",
                 {.min = 1, .max = 1 << 30})
          .field("fixed_length", &F::fixed_length, "raw: cut or zero-fill every byte string to this length.",
                 {.min = 1, .max = 1 << 30})
          .field("allow_missing", &F::allow_missing,
                 "Lists of a sequence example: take a missing list as an empty one.");
  return all;
}

const char* doc_of(FeatureKind kind) {
  switch (kind) {
    case FeatureKind::fixed_len:
      return "A feature with the same number of values in every record.";
    case FeatureKind::var_len:
      return "A feature with any number of values.";
    case FeatureKind::fixed_len_sequence:
      return "A feature with any number of steps of one shape.";
    case FeatureKind::sparse:
      return "A sparse tensor: its indices and its values are stored under keys of their own.";
    case FeatureKind::ragged:
      return "A ragged tensor: its values and its row partitions are stored under keys of their own.";
    case FeatureKind::raw:
      return "A tensor whose numbers are stored as bytes.";
  }
  return "";
}

/// Whether `label` is a list of kinds, such as "sparse, ragged". Sets `named` when `wanted` is one of them.
bool names_kinds(std::string_view label, FeatureKind wanted, bool& named) {
  named = false;
  while (!label.empty()) {
    const std::size_t comma = std::min(label.find(", "), label.size());
    const auto& names = EnumNames<FeatureKind>::names;
    const auto* const kind = std::ranges::find(names, label.substr(0, comma));
    if (kind == names.end()) return false;
    named = named || static_cast<FeatureKind>(kind - names.begin()) == wanted;
    label.remove_prefix(std::min(comma + 2, label.size()));
  }
  return true;
}

/// Returns the parts of an option's doc that apply to a kind. A part that begins with names of kinds applies only to
/// them.
std::string doc_for(FeatureKind kind, std::string_view doc) {
  std::string out;
  while (!doc.empty()) {
    const std::size_t end = std::min(doc.find("; "), doc.size());
    std::string_view part = doc.substr(0, end);
    doc.remove_prefix(std::min(end + 2, doc.size()));
    const std::size_t colon = part.find(": ");
    bool named = true;
    if (colon != std::string_view::npos && names_kinds(part.substr(0, colon), kind, named))
      part.remove_prefix(colon + 2);
    else
      named = true;
    if (named) out.append(out.empty() ? "" : "; ").append(part);
  }
  if (out.empty()) return out;
  out[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(out[0])));
  if (out.back() != '.') out += '.';
  return out;
}

Description describe_kind(FeatureKind kind) {
  Description out{.name = std::string{name_in_documents(kind)}, .doc = doc_of(kind), .fields = {}, .examples = {}};
  for (FieldInfo field : fields().infos()) {
    const Use use = use_of(field.name, kind);
    if (use == Use::none) continue;
    field.required = use == Use::required;
    field.doc = doc_for(kind, field.doc);
    out.fields.push_back(std::move(field));
  }
  return out;
}

}  // namespace
}  // namespace decoders

std::vector<Description> feature_kinds() {
  std::vector<Description> out;
  for (std::size_t i = 0; i < EnumNames<FeatureKind>::names.size(); ++i)
    out.push_back(decoders::describe_kind(static_cast<FeatureKind>(i)));
  return out;
}

std::optional<ExampleFeature> JsonCodec<ExampleFeature>::read(const Json& json, std::vector<Error>& faults) {
  const auto options = decoders::fields().read(json, faults);
  if (!options) return std::nullopt;
  return decoders::feature_of(*options);
}

Json JsonCodec<ExampleFeature>::write(const ExampleFeature& value) {
  return decoders::fields().write(decoders::options_of(value));
}

Json JsonCodec<ExampleFeature>::schema() { return decoders::fields().schema(); }

std::string JsonCodec<ExampleFeature>::python_type() { return "Feature"; }

}  // namespace forebay
