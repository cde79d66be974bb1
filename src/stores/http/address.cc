// SPDX-License-Identifier: Apache-2.0
#include "stores/http/address.h"

#include <memory>
#include <string_view>

#include <fmt/core.h>

#include "stores/registry.h"

namespace forebay::stores::http {

namespace {

/// Spaces, control characters and bytes that are not ASCII; all else is as the program has written it.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte <= 0x20 || byte >= 0x7f) {
      out += fmt::format("%{:02X}", byte);
    } else {
      out += letter;
    }
  }
  return out;
}

class Parts {
 public:
  Parts(const Library& library, const std::string& text) : library_{library}, url_{library.url()} {
    well_ = url_ != nullptr && library_.url_set(url_, CURLUPART_URL, escaped(text).c_str(), 0) == CURLUE_OK;
  }
  ~Parts() { library_.url_cleanup(url_); }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  [[nodiscard]] bool well() const { return well_; }
  [[nodiscard]] std::string get(CURLUPart part, unsigned flags = 0) const {
    char* text = nullptr;
    if (library_.url_get(url_, part, &text, flags) != CURLUE_OK || text == nullptr) return {};
    std::string out{text};
    library_.free(text);
    return out;
  }
  void drop(CURLUPart part) { static_cast<void>(library_.url_set(url_, part, nullptr, 0)); }

 private:
  const Library& library_;
  CURLU* const url_;
  bool well_ = false;
};

bool is_loopback(const std::string& host) {
  return host == "localhost" || host.ends_with(".localhost") || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos);
}

/// Link-local addresses, and those of AWS and Google.
bool is_metadata(const std::string& host) {
  return host.starts_with("169.254.") || host.starts_with("[fe80:") || host.starts_with("[fd00:ec2:") ||
         host == "metadata.google.internal";
}

}  // namespace

Result<Address> Address::of(const Library& library, const std::string& text) {
  Parts parts{library, text};
  const std::string scheme = parts.well() ? parts.get(CURLUPART_SCHEME) : std::string{};
  const std::string host = parts.well() ? parts.get(CURLUPART_HOST) : std::string{};
  if (host.empty() || (scheme != "http" && scheme != "https"))
    return Error{Code::config, Detail::invalid_argument,
                 fmt::format("'{}' is no address: https://, the name of a host, and a path", shown(text))};
  Address out;
  out.origin = fmt::format("{}://{}:{}", scheme, host, parts.get(CURLUPART_PORT, CURLU_DEFAULT_PORT));
  out.user = parts.get(CURLUPART_USER, CURLU_URLDECODE);
  out.password = parts.get(CURLUPART_PASSWORD, CURLU_URLDECODE);
  out.secure = scheme == "https";
  out.loopback = is_loopback(host);
  out.metadata = is_metadata(host);
  out.is_signed = public_name(text) != text;
  for (const CURLUPart part : {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_FRAGMENT}) parts.drop(part);
  out.url = parts.get(CURLUPART_URL);
  return out;
}

std::string shown(const std::string& url) {
  const std::string whole = url.substr(0, url.find_first_of("?#"));
  const std::size_t host = whole.find("://");
  if (host == std::string::npos) return whole;
  const std::size_t path = std::min(whole.find('/', host + 3), whole.size());
  const std::size_t user = whole.rfind('@', path);
  return user == std::string::npos || user < host ? whole : whole.substr(0, host + 3) + whole.substr(user + 1);
}

}  // namespace forebay::stores::http
