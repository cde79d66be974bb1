// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <forebay/arrow.h>

namespace forebay::tools {

/// One array of a record batch and its type, before they are handed out.
///
///     batch ─► tree of nodes ─► ArrowSchema: copies of the texts     ArrowArray: shares the memory, each child by
///     itself
struct ArrowNode {
  std::string format;
  std::string name;
  std::string metadata = {};  ///< As the interface encodes it; empty: none.
  std::int64_t length = 0;
  std::int64_t nulls = 0;
  std::vector<const void*> buffers = {};           ///< The validity first.
  std::vector<std::shared_ptr<void>> owners = {};  ///< Of the buffers.
  std::vector<ArrowNode> children = {};
};

/// Each fills an empty struct, which its consumer releases, as a whole or child by child.
void publish_schema(const ArrowNode& node, ArrowSchema& out);
void publish_array(ArrowNode node, ArrowArray& out);

}  // namespace forebay::tools
