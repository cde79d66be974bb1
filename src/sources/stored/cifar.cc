// SPDX-License-Identifier: Apache-2.0
#include <forebay/sources/cifar.h>

#include <fmt/core.h>

#include "sources/source_files.h"
#include "sources/stored/array_files.h"

namespace forebay::sources {
namespace {

constexpr std::int64_t image_bytes = 3 * 32 * 32;

ArrayView column(const char* name, const std::byte* data, std::int64_t rows, std::int64_t record) {
  return {.name = name, .dtype = DType::uint8, .shape = {rows}, .data = data, .strides = {record}};
}

Result<Source> bind_cifar(const Cifar& options, const BindContext& context) {
  if (options.classes != 10 && options.classes != 100)
    return Error{Code::config, Detail::invalid_argument, "must be 10 or 100"}.at(Field{"classes"});
  const std::int64_t labels = options.classes == 10 ? 1 : 2;
  const std::int64_t record = labels + image_bytes;
  FOREBAY_TRY(const std::vector<std::string> files, source_files(options.files, context.folder));
  auto source = std::make_shared<RowSource>();
  std::int64_t room = options.max_bytes;
  for (const std::string& path : files) {
    FOREBAY_TRY(Content content, content_of(path, room));
    const std::int64_t size = std::ssize(content.bytes);
    room -= size;
    if (size % record != 0) {
      return Error{Code::data, Detail::data_loss,
                   fmt::format("the file has {} bytes, which are no whole records of {}: is it a binary file of "
                               "CIFAR-{}?",
                               size, record, options.classes),
                   Place{.file = path}};
    }
    const std::byte* const data = content.bytes.data();
    const std::int64_t rows = size / record;
    std::vector<ArrayView> arrays;
    arrays.push_back({.name = "image",
                      .dtype = DType::uint8,
                      .shape = {rows, 3, 32, 32},
                      .data = data + labels,
                      .strides = {record, 32 * 32, 32, 1}});
    arrays.push_back(column("label", data + labels - 1, rows, record));
    if (labels == 2) arrays.push_back(column("coarse_label", data, rows, record));
    FOREBAY_DO(add_part(std::move(arrays), std::move(content.owner), path, *source));
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
