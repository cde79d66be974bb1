// SPDX-License-Identifier: Apache-2.0
// npy, IDX and npz: a header is read or refused, and an array that is read lies inside the bytes.
#include "fuzz/check.h"
#include "sources/stored/bytes_as_file.h"
#include "sources/stored/content.h"
#include "sources/stored/npy_array.h"
#include "sources/stored/zip.h"

using forebay::fuzz::check;

namespace {

void check_inside(const forebay::Result<forebay::ArrayLayout>& layout, std::span<const std::byte> bytes) {
  if (!layout.ok() || !layout->check_size(std::ssize(bytes)).ok()) return;
  const forebay::ArrayView array = layout->view("x", bytes.data() + layout->begin);
  std::size_t size = size_of(array.dtype);
  for (const std::int64_t dim : array.shape) size *= static_cast<std::size_t>(dim);
  const auto* const begin = static_cast<const std::byte*>(array.data);
  check(size == 0 || (begin >= bytes.data() && size <= bytes.size() &&
                      static_cast<std::size_t>(begin - bytes.data()) <= bytes.size() - size),
        "an array lies inside its file");
}

/// Memory of a run without a budget.
class FuzzedRun final : public forebay::PartFiles {
 public:
  forebay::Result<Bytes> map(const std::string&) override { return Bytes{}; }
  forebay::Result<std::shared_ptr<std::byte>> memory(std::int64_t bytes) override {
    const auto out = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(bytes) + 1);
    return std::shared_ptr<std::byte>{out, out->data()};
  }
  void look() const override {}
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace forebay;
  if (size == 0) return 0;
  const auto bytes = fuzz::bytes_of(data + 1, size - 1);
  if (data[0] % 3 == 0) check_inside(sources::npy_layout(bytes), bytes);
  if (data[0] % 3 == 1) check_inside(sources::idx_layout(bytes), bytes);
  if (data[0] % 3 != 2) return 0;
  const sources::BytesAsFile archive{"x", bytes};
  const auto members = sources::zip_members(archive);
  if (!members.ok()) return 0;
  std::size_t stored = 0;
  for (const auto& member : *members) {
    stored += static_cast<std::size_t>(member.stored);
    const auto head = sources::zip_head(member, archive, array_head_bytes);
    if (head.ok()) check(head->size() <= member.size, "the head of a member is no longer than its content");
    if (member.size > std::size_t{1} << 20) continue;
    FuzzedRun run;
    const auto content = sources::zip_content(member, "x", {.owner = nullptr, .bytes = bytes}, run);
    if (!content.ok()) continue;
    check(content->bytes.size() == member.size, "a member has the size that its directory says");
    check_inside(sources::npy_layout(content->bytes), content->bytes);
  }
  check(stored <= bytes.size(), "members do not overlap");
  return 0;
}
