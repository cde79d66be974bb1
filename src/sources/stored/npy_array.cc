// SPDX-License-Identifier: Apache-2.0
#include "sources/stored/npy_array.h"

#include "sources/detect.h"

namespace forebay::sources {

Result<ArrayLayout> npy_layout(std::span<const std::byte> head) { return forebay::npy_layout(head, file_kind(head)); }

Result<ArrayLayout> idx_layout(std::span<const std::byte> head) { return forebay::idx_layout(head, file_kind(head)); }

}  // namespace forebay::sources
