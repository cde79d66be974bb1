// SPDX-License-Identifier: Apache-2.0
#include <forebay/http_files.h>

#include <utility>

#include "stores/http/exits.h"
#include "stores/services/service_files.h"

namespace forebay {

namespace stores::http {

namespace {

/// Any server of http and https: paths are addresses.
class Web final : public Service {
 public:
  Web(const Library& library, std::vector<std::string> headers) : library_{library}, headers_{std::move(headers)} {}
  [[nodiscard]] Result<Address> address(const std::string& path) const override {
    return Address::of(library_, address_of(path));
  }
  void sign(Ask& ask, const std::string&) const override {
    ask.headers.insert(ask.headers.end(), headers_.begin(), headers_.end());
  }
  [[nodiscard]] Refusal refusal(const Came&, const std::string&) override { return {}; }
  void when_ready(std::function<void()> go, std::function<void(const Error&)>) override { go(); }

 private:
  const Library& library_;
  const std::vector<std::string> headers_;
};

Result<void> check_headers(const std::vector<std::string>& headers) {
  for (const std::string& header : headers) {
    const std::size_t colon = header.find(':');
    if (colon == 0 || colon == std::string::npos || header.find_first_of("\r\n") != std::string::npos ||
        header.find('\0') != std::string::npos)
      return Error{Code::config, Detail::invalid_argument,
                   "headers: each is a name, a colon and a value in one line, such as \"Authorization: Bearer …\""};
  }
  return {};
}

}  // namespace

}  // namespace stores::http

Result<std::shared_ptr<FileSystem>> http_files(const HttpOptions& options) {
  using namespace stores::http;
  if (const auto well = check_headers(options.headers); !well.ok()) return well.error();
  FOREBAY_TRY(const Library* const loaded, library(options.library));
  FOREBAY_TRY(Manners manners, manners_of(options, *loaded));
  return std::make_shared<ServiceFiles>(*loaded, std::make_shared<Web>(*loaded, options.headers), std::move(manners));
}

void stop_http() { stores::http::stop_all(); }

}  // namespace forebay
