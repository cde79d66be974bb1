// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <forebay/json_codec_composed.h>

/// Types for the fields of options structs that say what a value stands for. A description takes the kind of a field
/// from its type; the planner and the generators ask for the kind, never for the field's name.
///
/// They behave like the type that they hold, so a program writes `Slice{.tensor = "x", .slice = "[1:]"}`.
namespace forebay {

/// A string whose type says its FieldKind.
template <FieldKind meaning>
class Text : public std::string {
 public:
  using std::string::string;
  Text(std::string text) : std::string{std::move(text)} {}  // NOLINT: a text is a string
};

using DataFile = Text<FieldKind::data_file>;             ///< Path of a small file that the plug-in reads itself.
using BindingName = Text<FieldKind::binding>;            ///< Name of an object that the program binds (Bindings).
using TensorName = Text<FieldKind::tensor>;              ///< A tensor that must be there.
using NewTensorName = Text<FieldKind::new_tensor>;       ///< A tensor that the plug-in makes.
using Expression = Text<FieldKind::expression>;          ///< `label >= 0`, over the tensors before the plug-in.
using DTypeOrTensor = Text<FieldKind::dtype_or_tensor>;  ///< An element type, or a tensor that has it.

/// Paths and patterns of the data files, in order.
class Paths : public std::vector<std::string> {
 public:
  using std::vector<std::string>::vector;
  Paths(std::vector<std::string> paths) : std::vector<std::string>{std::move(paths)} {}  // NOLINT: paths are a list
};

/// Sizes of a row, or the name of the tensor whose rows' sizes they are.
class SizesOrTensor {
 public:
  SizesOrTensor() = default;
  SizesOrTensor(std::initializer_list<std::int64_t> sizes);        // NOLINT: sizes are a shape
  SizesOrTensor(const char* tensor) : json_{tensor} {}             // NOLINT: a name stands for its tensor's shape
  SizesOrTensor(std::string tensor) : json_{std::move(tensor)} {}  // NOLINT
  explicit SizesOrTensor(Json json) : json_{std::move(json)} {}
  [[nodiscard]] const Json& json() const { return json_; }  ///< A list of sizes, or a name.

 private:
  Json json_ = Json::array();
};

template <FieldKind meaning>
struct JsonCodec<Text<meaning>> {
  static constexpr FieldKind kind = meaning;
  static std::optional<Text<meaning>> read(const Json& json, std::vector<Error>& faults) {
    if (auto text = JsonCodec<std::string>::read(json, faults)) return Text<meaning>{*std::move(text)};
    return std::nullopt;
  }
  static Json write(const Text<meaning>& value) { return Json{std::string{value}}; }
  static Json schema() { return JsonCodec<std::string>::schema(); }
  static std::string python_type() { return "str"; }
  static void add_tensors(const Json& json, std::vector<std::string>& names) {
    if constexpr (meaning != FieldKind::data_file && meaning != FieldKind::binding &&
                  meaning != FieldKind::expression) {
      if (json.is(Json::Kind::string)) names.push_back(json.string());
    }
  }
};

template <>
struct JsonCodec<Paths> {
  static constexpr FieldKind kind = FieldKind::paths;
  static std::optional<Paths> read(const Json& json, std::vector<Error>& faults);
  static Json write(const Paths& value);
  static Json schema();
  static std::string python_type() { return "list[str]"; }
};

/// Only the step that takes the sizes knows which are allowed: any JSON is read, and the step says what is wrong.
template <>
struct JsonCodec<SizesOrTensor> {
  static constexpr FieldKind kind = FieldKind::sizes_or_tensor;
  static std::optional<SizesOrTensor> read(const Json& json, std::vector<Error>&) { return SizesOrTensor{json}; }
  static Json write(const SizesOrTensor& value) { return value.json(); }
  static Json schema();
  static std::string python_type() { return "list[int] | str"; }
  static void add_tensors(const Json& json, std::vector<std::string>& names) {
    if (json.is(Json::Kind::string)) names.push_back(json.string());
  }
};

}  // namespace forebay
