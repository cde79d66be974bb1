// SPDX-License-Identifier: Apache-2.0
#include <forebay/files.h>
#include <forebay/state.h>

namespace forebay {

Result<Json> load_state(const std::string& path) {
  // One byte more than a state may have, so that a larger file is told from one that just fits.
  FOREBAY_TRY(const std::string text, read_file(path, max_state_bytes + 1));
  return parse_state(text).at(Place{.file = path});
}

Result<void> save_state(const std::string& path, const Json& state) { return write_file(path, state.pretty() + "\n"); }

}  // namespace forebay
