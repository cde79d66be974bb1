// SPDX-License-Identifier: Apache-2.0
#include "engine/requests/line_count.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "sources/detect.h"
#include "stores/registry.h"

namespace forebay::engine {

namespace {

constexpr std::int64_t counted_at_once = std::int64_t{1} << 20;  // bytes between two looks at the clock

}  // namespace

std::optional<LineCount> LineCount::begin(const Source& source, const Error& error) {
  const Place& place = error.place();
  if (!source.format || !source.format->text() || place.offset < 0 || place.line > 0) return std::nullopt;
  if (std::ranges::find(source.files, place.file) == source.files.end()) return std::nullopt;
  if (stores::file_system_of(place.file) != nullptr) return std::nullopt;
  auto file = io::File::open(place.file);
  if (!file.ok()) return std::nullopt;
  const auto compression = sources::compression_of(*file, source.compression, *source.format);
  if (!compression.ok()) return std::nullopt;
  LineCount out{*std::move(file), place.offset};
  if (*compression != Compression::none) {
    auto inflater = io::Inflater::make(*compression);
    if (!inflater.ok()) return std::nullopt;
    out.inflater_.emplace(*std::move(inflater));
  }
  return out;
}

std::optional<LineCount> LineCount::begin(const Program& program, const Error& error) {
  auto out = begin(program.source, error);
  for (std::size_t i = 0; i < program.branches.size() && !out; ++i) out = begin(program.branches[i].source, error);
  return out;
}

bool LineCount::run(Clock::time_point deadline) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(counted_at_once, std::max(offset_, std::int64_t{1}))));
  while (read_ < offset_) {
    const auto wanted = static_cast<std::size_t>(std::min(std::ssize(bytes), offset_ - read_));
    const auto out = std::span{bytes}.first(wanted);
    const auto count = inflater_ ? inflater_->read(file_, out) : file_.read_some(out, read_);
    if (!count.ok() || (*count == 0 && (!inflater_ || inflater_->ended()))) return true;
    feeds_ += std::count(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(*count), std::byte{'\n'});
    read_ += static_cast<std::int64_t>(*count);
    if (read_ < offset_ && Clock::now() >= deadline) return false;
  }
  return true;
}

Error LineCount::placed(const Error& error) const {
  if (read_ < offset_) return error;
  return error.at(Place{.line = feeds_ + 1});
}

}  // namespace forebay::engine
