// SPDX-License-Identifier: Apache-2.0
// The options of the loader document: names, defaults, ranges and the descriptions that users read.
#include "plan/loader/loader_document.h"

namespace forebay {

namespace {
constexpr std::int64_t many = 1'000'000'000;
}  // namespace

template <>
struct EnumNames<plan::LoaderType> {
  static constexpr std::array<std::string_view, 3> names{"independent", "continuous_sequence", "discrete_sequence"};
};
template <>
struct EnumNames<plan::DatasetType> {
  static constexpr std::array<std::string_view, 2> names{"dir", "list"};
};
template <>
struct EnumNames<plan::SecondaryType> {
  static constexpr std::array<std::string_view, 2> names{"const", "ones"};
};
template <>
struct EnumNames<plan::WindowDraw> {
  static constexpr std::array<std::string_view, 2> names{"per_window", "per_file"};
};
template <>
struct EnumNames<plan::LastWindow> {
  static constexpr std::array<std::string_view, 3> names{"drop", "keep_if_min", "keep"};
};

#define FOREBAY_FIELDS_OF(T, ...)                   \
  const Fields<plan::T>& FieldsOf<plan::T>::get() { \
    using plan::T;                                  \
    static const Fields<T> fields = Fields<T> {}    \
    __VA_ARGS__;                                    \
    return fields;                                  \
  }

FOREBAY_FIELDS_OF(DirArgs, .required("data_dir", &DirArgs::data_dir,
                                     "Folder with *.tfrecords files, at any depth, and __manifest__.json."))
FOREBAY_FIELDS_OF(ListArgs, .required("list_file", &ListArgs::list_file,
                                      "Text file that names the data files, one a line, in order.")
                                .required("manifest_file", &ListArgs::manifest_file, "The manifest."))
FOREBAY_FIELDS_OF(Dataset, .required("type", &Dataset::type, "Where the files are: in a folder, or named in a list.")
                               .required("args", &Dataset::args, "Options of that type."))
FOREBAY_FIELDS_OF(PrimaryFeature, .required("from_name", &PrimaryFeature::from_name, "Feature of the manifest.")
                                      .required("to_name", &PrimaryFeature::to_name, "Tensor it becomes."))
FOREBAY_FIELDS_OF(ConstArgs,
                  .required("shape", &ConstArgs::shape,
                            "Sizes, [2,3] or \"[2,3]\", or the name of a primary feature whose shape is taken.")
                      .required("dtype", &ConstArgs::dtype,
                                "A dtype, or the name of a primary feature whose dtype is taken.")
                      .field("value", &ConstArgs::value, "The value of every element; null: 0 or \"\"."))
FOREBAY_FIELDS_OF(OnesArgs,
                  .required("shape", &OnesArgs::shape,
                            "Sizes, [2,3] or \"[2,3]\", or the name of a primary feature whose shape is taken.")
                      .required("dtype", &OnesArgs::dtype,
                                "A dtype, or the name of a primary feature whose dtype is taken."))
FOREBAY_FIELDS_OF(SecondaryFeature,
                  .required("to_name", &SecondaryFeature::to_name, "Tensor it becomes.")
                      .required("type", &SecondaryFeature::type, "const: one value everywhere; ones: const 1.")
                      .field("args", &SecondaryFeature::args, "Options of that type."))
FOREBAY_FIELDS_OF(SliceArgs,
                  .required("slice", &SliceArgs::slice, "Python-style, without the batch axis: [3,:,4:,:-2,1:4]."))
FOREBAY_FIELDS_OF(OneHotArgs,
                  .required("depth", &OneHotArgs::depth, "Size of the axis that is added.", {.min = 0, .max = many})
                      .field("dtype", &OneHotArgs::dtype, "Type of the result."))
FOREBAY_FIELDS_OF(ReshapeArgs, .required("shape", &ReshapeArgs::shape, "The new shape; every size 1 or more."))
FOREBAY_FIELDS_OF(ProcessingStep, .required("tensor", &ProcessingStep::tensor, "Tensor to change.")
                                      .required("type", &ProcessingStep::type, "What to do with it.")
                                      .field("args", &ProcessingStep::args, "Options of that type."))
FOREBAY_FIELDS_OF(PaddingEntry, .required("tensor", &PaddingEntry::tensor, "Tensor to pad.")
                                    .field("shape", &PaddingEntry::shape,
                                           "Sizes to pad to, without the batch axis; -1 or null: the batch's maximum.")
                                    .field("value", &PaddingEntry::value, "What to pad with; null: 0 or \"\"."))
FOREBAY_FIELDS_OF(Normalization, .required("tensor", &Normalization::tensor, "Tensor to normalise.")
                                     .required("axis", &Normalization::axis,
                                               "Axis, without the batch axis; negative ones count from the end.")
                                     .field("include_padding", &Normalization::include_padding,
                                            "Whether padded cells take part in mean and variance."))
FOREBAY_FIELDS_OF(LoaderDocument,
                  .required("type", &LoaderDocument::type, "Kind of loader.")
                      .required("args", &LoaderDocument::args, "Options of that kind.")
                      .field("inputs", &LoaderDocument::inputs,
                             "Tensors the model takes; null: every tensor that is loaded and no target.")
                      .field("targets", &LoaderDocument::targets, "Tensors the model is to produce; null: none."))
#undef FOREBAY_FIELDS_OF

namespace plan {
namespace {

using Args = LoaderArgs;

void add_run(Fields<Args>& fields) {
  fields.field("name", &Args::name, "A label.")
      .required("dataset", &Args::dataset, "The files.")
      .required("target_batch_size", &Args::target_batch_size, "Rows of a batch.", {.min = 1, .max = 100'000'000})
      .required("drop_remainder", &Args::drop_remainder, "Leaves out a last batch that is not full.")
      .required("epochs", &Args::epochs, "Passes over the data; null: for ever.", {.min = 0, .max = many})
      .field("num_parallel_reads", &Args::num_parallel_reads, "A hint; reading is always parallel.",
             {.min = 1, .max = many})
      .field("num_parallel_parses", &Args::num_parallel_parses, "A hint; parsing is always parallel.",
             {.min = 1, .max = many})
      .required("num_read_buffer_bytes", &Args::num_read_buffer_bytes, "A hint; 0: unbuffered.", {.min = 0})
      .required("num_prefetch", &Args::num_prefetch, "Batches made ahead.", {.min = 0, .max = many});
}

void add_order(Fields<Args>& fields) {
  fields.field("shuffle", &Args::shuffle, "Shuffles files and examples, newly in every epoch.")
      .field("num_shuffle_buffer_elements", &Args::num_shuffle_buffer_elements,
             "Examples in the shuffle buffer; required when shuffling.")
      .field("num_filenames_shuffle_buffer", &Args::num_filenames_shuffle_buffer,
             "Files in the shuffle buffer; required when shuffling.")
      .field("num_mix_files", &Args::num_mix_files, "Files read in turn; required when shuffling.")
      .field("sloppy_interleave", &Args::sloppy_interleave, "Lets the order depend on which file is ready first.")
      .field("num_interleave_out_buffer_elements", &Args::num_interleave_out_buffer_elements, "A hint.",
             {.min = 0, .max = many})
      .field("num_interleave_in_buffer_elements", &Args::num_interleave_in_buffer_elements, "A hint.",
             {.min = 0, .max = many});
}

void add_tensors(Fields<Args>& fields) {
  fields.required("primary_features", &Args::primary_features, "Features to load; one at least.")
      .field("secondary_features", &Args::secondary_features, "Tensors made from nothing or from primary features.")
      .field("processing_steps", &Args::processing_steps, "Changes to tensors, in order.")
      .field("padding", &Args::padding,
             "true: pad every tensor to the batch's maximum; a list: the same, with sizes and values for some.")
      .field("normalization", &Args::normalization, "Tensors of the finished batch to bring to mean 0 and variance 1.")
      .field("multi_load", &Args::multi_load, "A hint: records are parsed by the batch, as they always are here.");
}

Fields<Args> common() {
  Fields<Args> fields;
  add_run(fields);
  add_order(fields);
  add_tensors(fields);
  return fields;
}

Fields<Args> discrete() {
  Fields<Args> fields = common();
  fields
      .required("min_window", &Args::min_window,
                "Least length of a window, in frames; of a discrete_sequence in records.", {.min = 1, .max = many})
      .required("max_window", &Args::max_window, "Greatest length of a window; drawn uniformly.",
                {.min = 1, .max = many})
      .field("window_draw", &Args::window_draw,
             "When a length is drawn: for each window, or once for a file and epoch.")
      .field("last_window", &Args::last_window, "What becomes of a last window that cannot be filled.");
  return fields;
}

Fields<Args> continuous() {
  Fields<Args> fields = discrete();
  fields
      .field("stride", &Args::stride, "Distance between the starts of windows; null: the window's length.",
             {.min = 1, .max = many})
      .field("min_stride", &Args::min_stride, "Least distance; instead of stride, together with max_stride.",
             {.min = 1, .max = many})
      .field("max_stride", &Args::max_stride, "Greatest distance.", {.min = 1, .max = many});
  return fields;
}

Json typed_document(LoaderType type) {
  Json out = JsonCodec<LoaderDocument>::schema();
  Json kind = Json::object();
  kind.set("const", JsonCodec<LoaderType>::write(type));
  for (auto& [key, value] : out.members()) {
    if (key != "properties") continue;
    value.set("type", std::move(kind));
    value.set("args", loader_fields(type).schema());
  }
  return out;
}

}  // namespace

const Fields<LoaderArgs>& loader_fields(LoaderType type) {
  static const Fields<Args> independent_fields = common();
  static const Fields<Args> continuous_fields = continuous();
  static const Fields<Args> discrete_fields = discrete();
  switch (type) {
    case LoaderType::continuous_sequence:
      return continuous_fields;
    case LoaderType::discrete_sequence:
      return discrete_fields;
    case LoaderType::independent:
      break;
  }
  return independent_fields;
}

Json loader_schema() {
  return any_of({typed_document(LoaderType::independent), typed_document(LoaderType::continuous_sequence),
                 typed_document(LoaderType::discrete_sequence)});
}

}  // namespace plan
}  // namespace forebay
