// SPDX-License-Identifier: Apache-2.0
#include "state_files.h"

#include <algorithm>

#include "io/atomic_file.h"
#include "io/file.h"
#include "plan/state.h"

namespace forebay::cli {

Result<Json> read_state_file(const std::string& path) {
  FOREBAY_TRY(const io::File file, io::File::open(path));
  // One byte more than a state may have, so that a larger file is told from one that just fits.
  std::string text(static_cast<std::size_t>(std::clamp<std::int64_t>(file.size(), 0, plan::max_state_bytes + 1)), ' ');
  FOREBAY_TRY(const std::size_t size, file.read(std::as_writable_bytes(std::span{text}), 0));
  text.resize(size);
  return plan::parse_state(text).at(Place{.file = path});
}

Result<void> write_state_file(const std::string& path, const Json& state) {
  FOREBAY_TRY(io::AtomicFile file, io::AtomicFile::create(path));
  const std::string text = state.pretty() + "\n";
  FOREBAY_DO(file.write(std::as_bytes(std::span{text})));
  return file.commit();
}

}  // namespace forebay::cli
