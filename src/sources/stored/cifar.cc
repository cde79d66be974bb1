// SPDX-License-Identifier: Apache-2.0
#include <forebay/sources/cifar.h>

#include <fmt/core.h>

#include "sources/source_files.h"
#include "sources/stored/array_files.h"
#include "sources/stored/fixed_presets.h"

namespace forebay::sources {
namespace {

ArrayView column(const char* name, std::int64_t rows, std::int64_t record) {
  return {.name = name, .dtype = DType::uint8, .shape = {rows}, .strides = {record}};
}

/// The content of a file and its arrays, which lie in it side by side.
Result<StoredContent> content_of(const std::string& path, std::int64_t classes, std::int64_t max_bytes,
                                 std::int64_t& room, const BindContext& context) {
  const std::int64_t labels = classes == 10 ? 1 : 2;
  const std::int64_t record = labels + cifar_image_bytes;
  FOREBAY_TRY(const FileHead head, head_of(path, Compression::automatic, 0, context));
  StoredContent out{.path = path, .compression = head.compression, .file_bytes = head.size, .bytes = head.size};
  if (head.compression != Compression::none) {
    FOREBAY_TRY(out.bytes, size_of_content(path, head.compression, room, context));
  }
  if (out.bytes > room) return more_than_max_bytes(max_bytes).at(Place{.file = path});
  room -= out.bytes;
  if (out.bytes % record != 0) {
    return Error{Code::data, Detail::data_loss,
                 fmt::format("the file has {} bytes, which are no whole records of {}: is it a binary file of "
                             "CIFAR-{}?",
                             out.bytes, record, classes),
                 Place{.file = path}};
  }
  const std::int64_t rows = out.bytes / record;
  out.arrays.emplace_back(
      ArrayView{
          .name = "image", .dtype = DType::uint8, .shape = {rows, 3, 32, 32}, .strides = {record, 32 * 32, 32, 1}},
      labels);
  out.arrays.emplace_back(column("label", rows, record), labels - 1);
  if (labels == 2) out.arrays.emplace_back(column("coarse_label", rows, record), 0);
  return out;
}

Result<Source> bind_cifar(const Cifar& options, const BindContext& context) {
  if (options.classes != 10 && options.classes != 100)
    return Error{Code::config, Detail::invalid_argument, "must be 10 or 100"}.at(Field{"classes"});
  FOREBAY_TRY(const std::vector<std::string> files, source_files(options.files, context));
  auto source = std::make_shared<RowSource>();
  std::int64_t room = options.max_bytes;
  for (const std::string& path : files) {
    FOREBAY_TRY(StoredContent content, content_of(path, options.classes, options.max_bytes, room, context));
    std::vector<StoredContent> one;
    one.push_back(std::move(content));
    FOREBAY_DO(add_part(std::move(one), path, *source));
  }
  return rows_of(std::move(source));
}

}  // namespace

SourceType cifar() {
  SourceType out =
      describe<SourceType, Cifar>("cifar", "Reads the binary files of CIFAR-10 and CIFAR-100.", bind_cifar)
          .required("files", &Cifar::files, "Paths and patterns (*, ?, [a-z]; path@N names N shards), in this order.")
          .field("classes", &Cifar::classes, "10 or 100.", {.min = 10, .max = 100})
          .field("max_bytes", &Cifar::max_bytes, "More bytes of content in all files together are an error.",
                 {.min = 1})
          .example({.options = R"({"files": ["empty.bin"]})", .in = R"([""])", .out = R"([])"});
  out.rows = true;
  return out;
}

}  // namespace forebay::sources
