// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "stores/http/library.h"

namespace forebay::stores::http {

/// An address of http or https, taken apart.
struct Address {
  std::string url;     ///< Without user, password and fragment. Bytes that a URL must not have are escaped.
  std::string origin;  ///< "https://host:443".
  std::string user, password;
  bool secure = false;     ///< https.
  bool loopback = false;   ///< This machine.
  bool metadata = false;   ///< A service that gives the credentials of this machine.
  bool is_signed = false;  ///< It was signed for GET alone.

  /// Fails with Code::config for a text that is none.
  [[nodiscard]] static Result<Address> of(const Library& library, const std::string& text);
};

/// The text without its user, password, query and fragment: what an error may show.
[[nodiscard]] std::string shown(const std::string& url);

}  // namespace forebay::stores::http
