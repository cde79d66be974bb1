// SPDX-License-Identifier: Apache-2.0
#include <forebay/window.h>

namespace forebay {

std::int64_t SpanTable::length(std::size_t window, std::size_t axis) const {
  std::int64_t frames = 0;
  const std::span<const WindowSpan> spans = (*this)[window];
  for (std::size_t i = axis; i < spans.size(); i += axes_)
    frames += std::int64_t{spans[i].pad_left} + spans[i].length + spans[i].pad_right;
  return frames;
}

std::size_t SpanTable::bytes() const {
  return windows_.capacity() * sizeof(Window) + spans_.capacity() * sizeof(WindowSpan);
}

void SpanTable::clear() {
  windows_.clear();
  spans_.clear();
}

std::span<WindowSpan> SpanTable::spans_from(std::size_t window) {
  if (window >= windows_.size()) return {};
  return std::span{spans_}.subspan(windows_[window].first);
}

bool SpanTable::operator==(const SpanTable& other) const {
  return axes_ == other.axes_ && windows_ == other.windows_ && spans_ == other.spans_;
}

}  // namespace forebay
