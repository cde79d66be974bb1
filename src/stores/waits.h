// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <forebay/file_system.h>

/// Calls of a FileSystem that wait for their answer. They are for plans; a run has its own requests
/// (src/engine/requests). Each fails with Code::cancelled when the program ends the wait (`ask_while_waiting`).
namespace forebay::stores {

/// A folder of a FileSystem, which ends with `/`; `deep`: and what is below it.
struct Folder {
  FileSystem* system = nullptr;
  std::string path;
  bool deep = false;
};
/// The files in a folder.
[[nodiscard]] Result<std::vector<ListedFile>> list(const Folder& folder);
/// The files in each of the folders, which are listed at the same time.
[[nodiscard]] std::vector<Result<std::vector<ListedFile>>> list_all(std::span<const Folder> folders);

/// The bytes of a file. Fails with Code::data when it has more than `max_bytes`.
[[nodiscard]] Result<std::string> read_all(FileSystem& system, const std::string& path, std::int64_t max_bytes);

/// Asks the program what it has said by `ask_while_waiting`. Threads that wait do so about every 20 ms.
[[nodiscard]] bool goes_on();

}  // namespace forebay::stores
