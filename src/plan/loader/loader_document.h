// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <forebay/describe.h>

#include "plan/document/deferred_json.h"
#include "plan/document/faults.h"
#include "plan/loader/manifest.h"

/// The document of the JSON loader: `{"type", "args", "inputs", "targets"}`.
namespace forebay::plan {

enum class LoaderType : std::uint8_t { independent, continuous_sequence, discrete_sequence };
enum class DatasetType : std::uint8_t { dir, list };

struct DirArgs {
  std::string data_dir;
};
struct ListArgs {
  DataFile list_file;
  DataFile manifest_file;
};
struct Dataset {
  DatasetType type = DatasetType::dir;
  OneOf<DirArgs, ListArgs> args;
};

struct PrimaryFeature {
  std::string from_name;
  std::string to_name;
};

enum class SecondaryType : std::uint8_t { constant, ones };
struct ConstArgs {
  ListOrText shape;   ///< Sizes, as a list or as text, or the name of a primary whose shape is taken.
  std::string dtype;  ///< A dtype, or the name of a primary whose dtype is taken.
  Json value = {};
};
struct OnesArgs {
  ListOrText shape;
  std::string dtype;
};
struct SecondaryFeature {
  std::string to_name;
  SecondaryType type = SecondaryType::constant;
  OneOf<ConstArgs, OnesArgs> args;
};

enum class ProcessingType : std::uint8_t { slice, onehot, reshape };
struct SliceArgs {
  std::string slice;
};
struct OneHotArgs {
  std::int64_t depth = 1;
  DType dtype = DType::float32;
};
struct ReshapeArgs {
  Shape shape;
};
struct ProcessingStep {
  std::string tensor;
  ProcessingType type = ProcessingType::slice;
  OneOf<SliceArgs, OneHotArgs, ReshapeArgs> args;
};

struct PaddingEntry {
  std::string tensor;
  std::optional<Shape> shape;
  Json value = {};
};

struct Normalization {
  std::string tensor;
  std::int64_t axis = 0;
  bool include_padding = false;
};

enum class WindowDraw : std::uint8_t { per_window, per_file };
enum class LastWindow : std::uint8_t { drop, keep_if_min, keep };

/// The `args` of all loader types. Those of windows, from `min_window` on, are for sequences only.
struct LoaderArgs {
  std::string name;
  OneOf<Dataset> dataset;
  std::int64_t target_batch_size = 1;
  bool drop_remainder = false;
  std::optional<std::int64_t> epochs;
  std::int64_t num_parallel_reads = 1;
  std::int64_t num_parallel_parses = 1;
  std::int64_t num_read_buffer_bytes = 0;
  std::int64_t num_prefetch = 0;
  bool shuffle = false;
  std::int64_t num_shuffle_buffer_elements = 1;
  std::int64_t num_filenames_shuffle_buffer = 1;
  std::int64_t num_mix_files = 1;
  bool sloppy_interleave = false;
  std::int64_t num_interleave_out_buffer_elements = 1;
  std::int64_t num_interleave_in_buffer_elements = 1;
  ListOf<PrimaryFeature> primary_features;
  ListOf<SecondaryFeature> secondary_features;
  ListOf<ProcessingStep> processing_steps;
  FlagOrList<PaddingEntry> padding;
  ListOf<Normalization> normalization;
  bool multi_load = false;

  std::int64_t min_window = 1;
  std::int64_t max_window = 1;
  std::optional<std::int64_t> stride;
  std::int64_t min_stride = 1;
  std::int64_t max_stride = 1;
  WindowDraw window_draw = WindowDraw::per_window;
  LastWindow last_window = LastWindow::drop;
};

struct LoaderDocument {
  LoaderType type = LoaderType::independent;
  OneOf<> args;
  std::optional<std::vector<std::string>> inputs;
  std::optional<std::vector<std::string>> targets;
};

[[nodiscard]] const Fields<LoaderArgs>& loader_fields(LoaderType type);

/// A loader document without faults, with everything that it names looked up. Points into the document's Json.
struct CheckedLoader {
  LoaderDocument document;
  LoaderArgs args;
  const Json* json = nullptr;  ///< The document's `args`.
  Manifest manifest;
  std::vector<std::string> files;  ///< Paths, literally.
  bool listed = false;             ///< The files are those that the listing of a folder has found.
  std::vector<Item<PrimaryFeature>> primaries;
  std::vector<Item<SecondaryFeature>> secondaries;
  std::vector<Item<ProcessingStep>> steps;
  std::vector<Item<Normalization>> normalization;
  bool pads = false;
  std::vector<std::string> inputs;
  std::vector<std::string> targets;
};

/// Reads and checks a loader document, whose relative paths begin at `folder`. `json` must outlive the result. On
/// failure one error holds all faults that do not depend on shapes.
[[nodiscard]] Result<CheckedLoader> read_loader(const Json& json, const std::string& folder);

[[nodiscard]] Json loader_schema();

}  // namespace forebay::plan

namespace forebay {

template <>
struct EnumNames<plan::ProcessingType> {
  static constexpr std::array<std::string_view, 3> names{"slice", "onehot", "reshape"};
};
#define FOREBAY_FIELDS(T)          \
  template <>                      \
  struct FieldsOf<T> {             \
    static const Fields<T>& get(); \
  }
FOREBAY_FIELDS(plan::DirArgs);
FOREBAY_FIELDS(plan::ListArgs);
FOREBAY_FIELDS(plan::Dataset);
FOREBAY_FIELDS(plan::PrimaryFeature);
FOREBAY_FIELDS(plan::ConstArgs);
FOREBAY_FIELDS(plan::OnesArgs);
FOREBAY_FIELDS(plan::SecondaryFeature);
FOREBAY_FIELDS(plan::SliceArgs);
FOREBAY_FIELDS(plan::OneHotArgs);
FOREBAY_FIELDS(plan::ReshapeArgs);
FOREBAY_FIELDS(plan::ProcessingStep);
FOREBAY_FIELDS(plan::PaddingEntry);
FOREBAY_FIELDS(plan::Normalization);
FOREBAY_FIELDS(plan::LoaderDocument);
#undef FOREBAY_FIELDS

}  // namespace forebay
