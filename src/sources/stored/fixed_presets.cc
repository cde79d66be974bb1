// SPDX-License-Identifier: Apache-2.0
#include "sources/stored/fixed_presets.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <forebay/messages.h>

#include "sources/framing.h"
#include "sources/stored/content.h"
#include "sources/stored/npy_array.h"

namespace forebay::sources {
namespace {

Error other_file(std::string why) { return {Code::data, Detail::data_loss, std::move(why)}; }

/// The options whose values the format decides, and that are given.
Result<void> check_given(const FixedLength& options) {
  std::vector<Error> faults;
  const std::string_view name = EnumNames<FixedPreset>::names[static_cast<std::size_t>(options.preset)];
  for (const auto& [field, value] :
       {std::pair{"record_bytes", options.record_bytes}, std::pair{"header_bytes", options.header_bytes},
        std::pair{"footer_bytes", options.footer_bytes}, std::pair{"hop_bytes", options.hop_bytes}}) {
    if (value == 0) continue;
    faults.push_back(Error{Code::config, Detail::invalid_argument,
                           fmt::format("the preset {} decides it; leave it out", quote(name))}
                         .at(Field{field}));
  }
  if (!faults.empty()) return Error::all(std::move(faults));
  return {};
}

std::string item_text(const ArrayLayout& layout) {
  return fmt::format("{} [{}]", to_string(layout.dtype), fmt::join(layout.shape.begin() + 1, layout.shape.end(), ", "));
}

/// The decoder's options that the format decides: the shape of a record, and the order of bytes where there is one.
Source::Decides decided(std::span<const std::int64_t> shape, bool big_endian) {
  Json sizes = Json::array();
  for (const std::int64_t size : shape) sizes.items().push_back(size);
  Json options = Json::object();
  options.set("shape", std::move(sizes));
  if (big_endian) options.set("endian", Json{"big"});
  return {.decoder = "raw", .options = std::move(options)};
}

FixedLayout layout_of_cifar(const FixedLength& options) {
  FixedLayout out{.options = options};
  const std::int64_t record = cifar_image_bytes + (options.preset == FixedPreset::cifar10 ? 1 : 2);
  out.options.record_bytes = record;
  out.options.strict_tail = true;
  out.decides = decided(std::array{record}, false);
  return out;
}

/// The header of one IDX file, and what it says. Its size is compared where the file is not compressed.
Result<std::pair<FileHead, ArrayLayout>> read_idx(const std::string& path, Compression compression,
                                                  const BindContext& context) {
  FOREBAY_TRY(FileHead head, head_of(path, compression, array_head_bytes, context));
  FOREBAY_TRY(ArrayLayout layout, idx_layout(head.bytes).at(Place{.file = path}));
  if (head.compression == Compression::none) FOREBAY_DO(layout.check_size(head.size).at(Place{.file = path}));
  head.bytes.resize(static_cast<std::size_t>(layout.begin));
  return std::pair{std::move(head), std::move(layout)};
}

Result<FixedLayout> layout_of_idx(const FixedLength& options, const std::vector<std::string>& files,
                                  const BindContext& context) {
  FixedLayout out{.options = options, .first = files.front()};
  for (const std::string& path : files) {
    FOREBAY_TRY(auto found, read_idx(path, options.compression, context));
    const auto& [head, layout] = found;
    if (out.header.empty()) {
      std::int64_t record = static_cast<std::int64_t>(size_of(layout.dtype));
      for (std::size_t axis = 1; axis < layout.shape.size(); ++axis) {
        if (__builtin_mul_overflow(record, layout.shape[axis], &record)) record = INT64_MAX;
      }
      if (record == 0 || record > max_record_bytes)
        return other_file(fmt::format("an item of the first axis, {}, has {} bytes; allowed are 1 to {}",
                                      item_text(layout), record, max_record_bytes))
            .at(Place{.file = path});
      out.header = head.bytes;
      out.options.record_bytes = record;
      out.options.header_bytes = layout.begin;
      out.options.strict_tail = true;
      out.decides = decided(std::span{layout.shape}.subspan(1), layout.swapped);
    }
    FOREBAY_DO(out.check_header(head.bytes).at(Place{.file = path}));
    out.counts.push_back(layout.shape.front());
  }
  std::sort(out.counts.begin(), out.counts.end());
  out.counts.erase(std::unique(out.counts.begin(), out.counts.end()), out.counts.end());
  out.signature = fmt::format(" idx {}", item_text(*idx_layout(out.header)));
  return out;
}

}  // namespace

Result<void> FixedLayout::check_header(std::span<const std::byte> found) const {
  const auto layout = idx_layout(found);
  if (!layout.ok()) return layout.error();
  const auto wanted = idx_layout(header);
  const bool same = layout->begin == wanted->begin && item_text(*layout) == item_text(*wanted);
  if (same) return {};
  return other_file(fmt::format("items of {}, but those of '{}' are {}; read the files apart", item_text(*layout),
                                first, item_text(*wanted)));
}

Result<void> FixedLayout::check_size(std::int64_t size) const {
  const std::int64_t records = (size - options.header_bytes) / options.record_bytes;
  const bool whole = (size - options.header_bytes) % options.record_bytes == 0;
  if (whole && std::binary_search(counts.begin(), counts.end(), records)) return {};
  return other_file(
      fmt::format("the content has {} bytes after its header, which are not the {} records of {} bytes "
                  "that the header names",
                  size - options.header_bytes, fmt::join(counts, " or "), options.record_bytes));
}

Result<FixedLayout> layout_of_preset(const FixedLength& options, const std::vector<std::string>& files,
                                     const BindContext& context) {
  FOREBAY_DO(check_given(options));
  if (options.preset != FixedPreset::idx) return layout_of_cifar(options);
  return layout_of_idx(options, files, context);
}

}  // namespace forebay::sources
