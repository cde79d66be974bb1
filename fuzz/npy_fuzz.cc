// SPDX-License-Identifier: Apache-2.0
// npy, IDX and npz: a header is read or refused, and an array that is read lies inside the bytes.
#include "fuzz/check.h"
#include "sources/stored/npy_array.h"
#include "sources/stored/zip.h"

using forebay::fuzz::check;

namespace {

void check_inside(const forebay::Result<forebay::ArrayView>& array, std::span<const std::byte> bytes) {
  if (!array.ok()) return;
  std::size_t size = size_of(array->dtype);
  for (const std::int64_t dim : array->shape) size *= static_cast<std::size_t>(dim);
  const auto* const begin = static_cast<const std::byte*>(array->data);
  check(size == 0 || (begin >= bytes.data() && size <= bytes.size() &&
                      static_cast<std::size_t>(begin - bytes.data()) <= bytes.size() - size),
        "an array lies inside its file");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay;
  if (size == 0) return 0;
  const auto bytes = fuzz::bytes_of(data + 1, size - 1);
  if (data[0] % 3 == 0) check_inside(sources::npy_array(bytes), bytes);
  if (data[0] % 3 == 1) check_inside(sources::idx_array(bytes), bytes);
  if (data[0] % 3 != 2) return 0;
  const auto members = sources::zip_members(bytes);
  if (!members.ok()) return 0;
  std::size_t stored = 0;
  for (const auto& member : *members) {
    stored += member.stored.size();
    if (member.size > std::size_t{1} << 20) continue;
    const auto content = sources::zip_content(member, {.owner = nullptr, .bytes = bytes});
    if (!content.ok()) continue;
    check(content->bytes.size() == member.size, "a member has the size that its directory says");
    check_inside(sources::npy_array(content->bytes), content->bytes);
  }
  check(stored <= bytes.size(), "members do not overlap");
  return 0;
}
