// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <forebay/file_system.h>

/// The file systems of files that are not local, by the scheme of their paths.
namespace forebay::stores {

/// The file system of a path; null for a local one, and for one of an unknown scheme. Costs no lock.
[[nodiscard]] FileSystem* file_system_of(const std::string& path);
/// As `file_system_of`, but asks the finder for that of an unknown scheme. Fails with Code::config when there is none.
[[nodiscard]] Result<FileSystem*> find_file_system(const std::string& path);
/// The path without user, password and the parameters of a signature in its query, such as `X-Amz-Signature`. Paths of
/// other schemes than http and https, and those without such secrets, are as they are.
[[nodiscard]] std::string public_name(const std::string& path);
/// The same; `address_of` gives back the last address of that name.
[[nodiscard]] std::string without_signature(const std::string& path);
/// The scheme of a URL such as "s3://bucket/key": a letter, then letters, digits, `+`, `.` or `-`. Empty: a local path.
[[nodiscard]] std::string scheme_of(const std::string& path);

}  // namespace forebay::stores
