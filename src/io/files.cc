// SPDX-License-Identifier: Apache-2.0
#include <forebay/files.h>

#include <algorithm>
#include <span>

#include "io/atomic_file.h"
#include "io/file.h"
#include "io/paths.h"

namespace forebay {

Result<std::string> read_file(const std::string& path, std::int64_t max_bytes) {
  FOREBAY_TRY(const io::File file, io::File::open(path));
  std::string out(static_cast<std::size_t>(std::clamp<std::int64_t>(file.size(), 0, max_bytes)), ' ');
  FOREBAY_TRY(const std::size_t size, file.read(std::as_writable_bytes(std::span{out}), 0));
  out.resize(size);
  return out;
}

Result<void> write_file(const std::string& path, std::string_view bytes) {
  FOREBAY_TRY(io::AtomicFile file, io::AtomicFile::create(path));
  FOREBAY_DO(file.write(std::as_bytes(std::span{bytes})));
  return file.commit();
}

Result<std::vector<std::string>> expand_files(const std::vector<std::string>& patterns, const std::string& folder) {
  return io::expand(patterns, folder);
}

}  // namespace forebay
