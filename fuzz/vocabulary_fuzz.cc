// SPDX-License-Identifier: Apache-2.0
// Vocabulary files: any bytes are read or refused. Each line of a file that is read gets its own number, and no other
// string gets one.
#include <algorithm>

#include <forebay/plugin.h>

#include "fuzz/check.h"

namespace forebay::steps {
StepType lookup();
}

using forebay::fuzz::check;

namespace {

std::vector<std::string_view> lines_of(std::string_view content) {
  std::vector<std::string_view> out;
  constexpr std::string_view mark = "\xef\xbb\xbf";  // of the encoding, and of no token
  if (content.starts_with(mark)) content.remove_prefix(mark.size());
  while (!content.empty()) {
    const std::size_t feed = std::min(content.find('\n'), content.size());
    out.push_back(content.substr(0, feed));
    if (out.back().ends_with('\r')) out.back().remove_suffix(1);
    content.remove_prefix(std::min(feed + 1, content.size()));
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const forebay::StepType type = forebay::steps::lookup();
  const std::string_view content = forebay::fuzz::text_of(data, size);
  const std::vector<std::string_view> lines = lines_of(content);
  forebay::Schema in;
  const forebay::ColumnId id = in.put({.name = "x", .dtype = forebay::DType::string, .shape = forebay::Shape{}});
  const auto options = forebay::parse_json(R"({"tensor": "x", "file": "words", "unknown": "id", "unknown_id": -7})");
  auto bound = type.bind(*options, in);
  check(bound.ok() && bound->files.size() == 1, "the step asks for its file");
  const auto read = bound->files.front().read(content, "words");
  auto sorted = lines;
  std::ranges::sort(sorted);
  const bool twice = std::ranges::adjacent_find(sorted) != sorted.end();
  check(read.ok() == (!twice && !lines.empty()), "a vocabulary is refused where it is empty or a line comes twice");
  if (!read.ok()) {
    check(read.error().code() == forebay::Code::config, "a wrong vocabulary is a fault of the document");
    return 0;
  }
  forebay::ColumnBlock block;
  block.columns.emplace_back(in[id]);
  const auto rows = static_cast<std::int64_t>(lines.size()) + 1;
  block.rows = rows;
  forebay::Column strings{in[id]};
  for (const std::string_view line : lines) strings.push_string(std::as_bytes(std::span{line}));
  strings.push_string(std::as_bytes(std::span{std::string_view{"a line feed\n is in no token"}}));
  strings.rows = rows;
  block.columns.clear();
  for (std::size_t i = 0; i < bound->out.size(); ++i)
    block.columns.emplace_back(bound->out[static_cast<forebay::ColumnId>(i)]);
  check(bound->reads.size() == 1, "it reads one column");
  block[bound->reads.front()] = std::move(strings);
  forebay::Column& out = block.columns.back();
  if (out.fixed() && out.dtype != forebay::DType::string) out.set_rows(rows);
  check(bound->op->apply(block, {}, nullptr).ok(), "every string has a number");
  const auto* const numbers = out.values.as<std::int64_t>();
  for (std::int64_t row = 0; row + 1 < rows; ++row) check(numbers[row] == row, "a token has the number of its line");
  check(numbers[rows - 1] == -7, "another string has the number of unknown ones");
  return 0;
}
