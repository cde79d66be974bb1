// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/requests/requested_file.h"
#include "engine/requests/requests.h"
#include "io/file_system.h"

namespace forebay::engine {

/// Opens a file of a FileSystem, and waits. Fails and throws as `open_file`.
[[nodiscard]] Result<std::unique_ptr<RequestedFile>> open_requested(FileSystem& system, const std::string& path,
                                                                    const std::shared_ptr<Requests>& requests);
/// Opens a file of any scheme, and waits. For work apart from a run, which asks for bytes ahead instead. Fails as
/// io::File::open, or with the error of the FileSystem. Throws Closed as `requests` does.
[[nodiscard]] Result<std::unique_ptr<io::RandomAccessFile>> open_file(const std::string& path,
                                                                      const std::shared_ptr<Requests>& requests);
/// The same with requests of its own, for a few reads. `known` as of Requests.
[[nodiscard]] Result<std::unique_ptr<io::RandomAccessFile>> open_file(const std::string& path,
                                                                      const std::shared_ptr<KnownVersions>& known = {});

/// The present version of each of these files, which are not local: all are asked for together. `go_on` is asked about
/// every 20 ms; false ends the wait: throws Closed.
[[nodiscard]] std::vector<Result<io::RandomAccessFile::Identity>> find_files(
    std::span<const std::string> paths, const std::function<bool()>& go_on = {},
    const std::shared_ptr<KnownVersions>& known = {});

}  // namespace forebay::engine
