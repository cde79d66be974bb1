// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include <forebay/index.h>

#include "engine/index/index_file.h"

namespace forebay {

/// Fails with Code::config when the files are not all of one folder. Nothing is checked when `folder` is empty.
[[nodiscard]] Result<void> check_publish(const std::string& folder, const std::vector<std::string>& files);

/// Writes all that is stored of the present versions of the files to `folder`: IndexOptions::publish. Does nothing when
/// a file has no index, as its report says. `requests` and `reports` are of the same files.
[[nodiscard]] Result<void> publish(const std::string& folder, std::span<const IndexReport> reports,
                                   std::span<const engine::IndexRequest> requests);

}  // namespace forebay
