// SPDX-License-Identifier: Apache-2.0
#include <forebay/order.h>

#include <algorithm>
#include <array>

namespace forebay {

namespace {

/// Gets up to 256 of `n` handles from `pull`, drops them and returns their number.
template <class Pull>
Result<std::int64_t> drop_some(std::int64_t n, Reader& reader, const Pull& pull) {
  std::array<Handle, 256> some;
  const auto most = static_cast<std::size_t>(std::min<std::int64_t>(n, std::ssize(some)));
  FOREBAY_TRY(const std::size_t count, pull(std::span{some}.first(most)));
  reader.drop(std::span{some}.first(count));
  return static_cast<std::int64_t>(count);
}

}  // namespace

Result<std::int64_t> Handles::skip(std::int64_t n, Reader& reader) {
  return drop_some(n, reader, [this](std::span<Handle> out) { return pull(out); });
}

Result<std::int64_t> Reader::skip(Stream stream, std::int64_t n) {
  return drop_some(n, *this, [&](std::span<Handle> out) { return read(stream, out); });
}

}  // namespace forebay
